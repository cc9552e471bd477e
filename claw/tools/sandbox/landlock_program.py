"""The program in front of a command under Landlock: gives rights up for good, then becomes it.

    python -I -S -c <this file> net|no-net TMPDIR [WRITABLE ...] -- [COMMAND [ARGUMENT ...]]

Without a command it tells the ABI of the kernel's Landlock, and whether sockets are "closed".

Apart, because a fork of claw with its threads is no place for Python code, and handed over as text,
because the file may lie in the workspace, where a command could have changed it.

Landlock (<linux/landlock.h>) takes write access from all but the writable paths; it hides other
processes from ptrace and /proc/PID/environ, and keeps signals inside (ABI 6). It knows TCP (ABI 4)
but neither UDP nor socket files, so a seccomp filter refuses sockets: all without the network,
with it those for socket files. io_uring makes sockets too, unseen by seccomp, and is refused.
Filters look at the machine's own system calls; those of its other dialects are refused as a whole.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
# LANDLOCK_ACCESS_FS_*, by bit; reading and executing are left alone.
WRITE_FILE, REMOVE_DIR, REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK = 1 << 6, 1 << 7, 1 << 8, 1 << 9
MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = 1 << 10, 1 << 11, 1 << 12
REFER, TRUNCATE = 1 << 13, 1 << 14
DEVICES = MAKE_CHAR | MAKE_BLOCK  # granted nowhere
OF_FOLDERS = REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM
BIND_TCP, CONNECT_TCP = 1 << 0, 1 << 1
SCOPE_ABSTRACT_SOCKETS, SCOPE_SIGNALS = 1 << 0, 1 << 1
# What programs write to without changing anything. Not the terminals, where the user would see
# what a command makes up, nor /dev/shm, where other programs' memory lies.
NAMES = ("null", "zero", "full", "random", "urandom")
DEVICE_FILES = tuple(f"/dev/{name}" for name in NAMES)

PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 24, 38
SECCOMP_MODE_FILTER = 2
# CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID: what root's own files need.
KEPT_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7}
LAST_CAPABILITY = 63

AF_UNIX = 1
IO_URING_SETUP = 425
# AUDIT_ARCH_* and the number of `socket`, by machine (<linux/audit.h>, <asm/unistd.h>).
MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
X32_BIT = 0x40000000
LOAD, EQUALS, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # of classic BPF
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little-endian
ALLOW, REFUSE, UNKNOWN_CALL = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38  # EPERM, ENOSYS

SIGPIPE, SIGXFSZ, SIG_DFL = 13, 25, 0
libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    net, temp = sys.argv[1] == "net", sys.argv[2]
    end = sys.argv.index("--")
    writable, command = sys.argv[3:end], sys.argv[end + 1 :]
    try:
        checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        for capability in range(LAST_CAPABILITY + 1):
            if capability not in KEPT_CAPABILITIES:
                libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # nobody but root may or must
        abi = restrict_files([temp, *writable], net=net)
        closed = restrict_sockets(net=net)
    except OSError as error:
        sys.exit(f"Landlock: {error.strerror}: {error.filename}")
    if not command:
        sys.stdout.write(f"{abi} {'closed' if closed else 'open'}\n")
        return
    # Python has set these two aside, and a new program would inherit that.
    libc.signal(SIGPIPE, SIG_DFL)
    libc.signal(SIGXFSZ, SIG_DFL)
    try:
        os.execvpe(command[0], command, {**environment(), b"TMPDIR": os.fsencode(temp)})
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


def restrict_files(writable: list[str], *, net: bool) -> int:
    """Applies the ruleset to this process; the ABI of the kernel's Landlock."""
    abi = checked(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1), "not in this kernel")
    rights = WRITE_FILE | OF_FOLDERS
    rights |= REFER if abi >= 2 else 0
    rights |= TRUNCATE if abi >= 3 else 0
    fields = [rights | DEVICES]
    if abi >= 4:
        fields.append(0 if net else BIND_TCP | CONNECT_TCP)
    if abi >= 6:
        fields.append(SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = checked(
        libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "ruleset"
    )
    for path in (*writable, *DEVICE_FILES):
        allow_writes(ruleset, path, rights)
    checked(libc.syscall(RESTRICT_SELF, ruleset, 0), "restrict_self")
    os.close(ruleset)
    return abi


def allow_writes(ruleset: int, path: str, rights: int) -> None:
    """A rule for a path and all beneath; none for one that isn't there."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= WRITE_FILE | TRUNCATE
    rule = struct.pack("=Qi", rights, descriptor)
    checked(libc.syscall(ADD_RULE, ruleset, 1, rule, 0), path)
    os.close(descriptor)


def restrict_sockets(*, net: bool) -> bool:
    """Refuses sockets by a seccomp filter; False where we don't know the machine's numbers."""
    known = MACHINES.get(os.uname().machine)
    if known is None or sys.maxsize < 1 << 32:
        return False
    program = socket_filter(*known, net=net)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    # struct sock_fprog: the count, and the address of the instructions.
    buffer = ctypes.create_string_buffer(code, len(code))
    fprog = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    checked(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog, 0, 0), "seccomp")
    return True


def socket_filter(architecture: int, socket: int, *, net: bool) -> list[tuple[int, int, int, int]]:
    """The instructions: code, how many to skip if true, how many if not, operand."""
    unless_for_files = [
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUALS, 1, 0, AF_UNIX),
        (RETURN, 0, 0, ALLOW),
    ]
    return [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUALS, 1, 0, architecture),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32_BIT),
        (RETURN, 0, 0, REFUSE),
        (EQUALS, 0, 1, IO_URING_SETUP),
        (RETURN, 0, 0, UNKNOWN_CALL),
        (EQUALS, 1, 0, socket),
        (RETURN, 0, 0, ALLOW),
        *(unless_for_files if net else ()),
        (RETURN, 0, 0, REFUSE),
    ]


def environment() -> dict[bytes, bytes]:
    """The environment as it was given: Python may have put a locale of its own into it."""
    with open("/proc/self/environ", "rb") as stream:
        entries = (entry.partition(b"=") for entry in stream.read().split(b"\0") if entry)
        return {name: value for name, _, value in entries}


def checked(result: int, what: str) -> int:
    """What a call gave, or OSError where that is -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


if __name__ == "__main__":
    main()
