"""Where claw's log goes: warnings to standard error, everything to `--log-file`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from logging import FileHandler, Formatter, LogRecord, StreamHandler

from claw.cli.visible import shown
from claw.errors import ConfigError
from claw.providers.masking import MASK


class _Masking(Formatter):
    """Formats a record without any key, and without a traceback unless it is wanted.

    safe: makes the text fit for where it goes.
    """

    def __init__(
        self, form: str, *, secrets: Sequence[str], traces: bool, safe: Callable[[str], str] = str
    ) -> None:
        super().__init__(form)
        self._secrets = secrets
        self._traces = traces
        self._safe = safe

    def format(self, record: LogRecord) -> str:
        text = super().format(record) if self._traces else self._form_line(record)
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return self._safe(text)

    def _form_line(self, record: LogRecord) -> str:
        record.message = record.getMessage()
        return self.formatMessage(record)


def set_up_logs(*, secrets: Sequence[str], verbose: bool, log_file: str) -> None:
    """For the process of the command. `secrets`: the keys; they are never written."""
    log = logging.getLogger("claw")
    log.propagate = False
    stderr = StreamHandler(sys.stderr)
    stderr.setLevel(logging.WARNING)
    stderr.setFormatter(_Masking("claw: %(message)s", secrets=secrets, traces=verbose, safe=shown))
    log.addHandler(stderr)
    if log_file:
        log.setLevel(logging.DEBUG)
        log.addHandler(_file_handler(log_file, secrets))


def _file_handler(log_file: str, secrets: Sequence[str]) -> FileHandler:
    try:
        # Without O_NONBLOCK, opening a FIFO would wait for a reader for ever.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK
        os.close(os.open(log_file, flags, 0o600))
        handler = FileHandler(log_file, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--log-file {log_file} can't be written: {error.strerror}") from error
    form = "%(asctime)s %(levelname)s %(threadName)s %(message)s"
    handler.setFormatter(_Masking(form, secrets=secrets, traces=True))
    return handler
