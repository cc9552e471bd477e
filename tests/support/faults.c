/* Loaded before libc: the n-th call of a kind fails, as the test sets it. For tests/store. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE, SHORT_WRITE, FSYNC, OPEN, TRUNCATE, RENAME, KINDS };

int fault_at[KINDS];    /* the first call that fails, counted from 1; 0: none */
int fault_times[KINDS]; /* how many fail in a row */
int fault_seen[KINDS];
int fault_errno;

static int due(int kind) {
    int seen = ++fault_seen[kind];
    if (!fault_at[kind] || seen < fault_at[kind] || seen >= fault_at[kind] + fault_times[kind])
        return 0;
    errno = fault_errno;
    return 1;
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    if (due(WRITE)) return -1;
    if (due(SHORT_WRITE)) return real(fd, data, size / 2);
    return real(fd, data, size);
}

int fsync(int fd) {
    REAL(fsync);
    return due(FSYNC) ? -1 : real(fd);
}

static int opened(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
    return due(OPEN) ? -1 : real(path, flags, mode);
}

#define OPEN_LIKE(name)                                                                            \
    int name(const char *path, int flags, ...) {                                                   \
        REAL(name);                                                                                \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode_t mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                              \
        return opened(real, path, flags, mode);                                                    \
    }
OPEN_LIKE(open)
OPEN_LIKE(open64)

int ftruncate(int fd, off_t size) {
    REAL(ftruncate);
    return due(TRUNCATE) ? -1 : real(fd, size);
}

int ftruncate64(int fd, off64_t size) {
    REAL(ftruncate64);
    return due(TRUNCATE) ? -1 : real(fd, size);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return due(RENAME) ? -1 : real(from, to);
}
