"""BlobFolder: contents kept beside a session, by their hash: what /undo puts back."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from claw.store.journal import private_folder

KEY = re.compile(r"[0-9a-f]{64}")


class BlobFolder:
    """A folder of contents, each in a file (0600) named by its SHA-256. Made with the first one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Keeps `data` and returns its key; the same content is kept once. OSError: it is not
        kept, and nothing else is changed."""
        key = hashlib.sha256(data).hexdigest()
        target = self.folder / key
        if target.exists():
            return key
        private_folder(self.folder)
        draft = self.folder / f".{key}.{os.urandom(6).hex()}"
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
        return key

    def get(self, key: str) -> bytes:
        """The content of `key`. OSError where it isn't there, or is not what was put in."""
        if KEY.fullmatch(key) is None:
            raise FileNotFoundError(f"{key!r} is no key of a kept content")
        data = (self.folder / key).read_bytes()
        if hashlib.sha256(data).hexdigest() != key:
            raise OSError(f"{self.folder / key} is damaged")
        return data

    def remove(self) -> None:
        """Removes the folder and all that is in it. OSError where that fails."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)
