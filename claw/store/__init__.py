"""Sessions on disk: each conversation is an append-only file of JSON lines."""

from __future__ import annotations

from claw.store.blobs import BlobFolder
from claw.store.header import Header, SessionInfo
from claw.store.store import SessionStore
from claw.store.stored import StoredSession

__all__ = ["BlobFolder", "Header", "SessionInfo", "SessionStore", "StoredSession"]
