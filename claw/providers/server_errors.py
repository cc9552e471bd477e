"""What a server's own error says: its words, and what they mean for claw.

One reader for every shape and place: an HTTP error body, a JSON body with status 200, an event in
the middle of a stream. Servers agree on nothing here: the error may be an object, a string or a
list, the code a number or a name, and "the prompt is too long" has a dozen wordings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from claw.errors import ServerReported
from claw.providers.overflow import OVERFLOW_WORDS, OVERFLOWING, named_limit
from claw.values import frozen

MAX_WORDS = 500
MAX_DEPTH = 6

# Statuses after which the same request may succeed.
PASSING_STATUSES = frozenset({408, 409, 429})

# In a type or code, lower case and letters only: the same request would fail again.
LASTING = (
    *("invalidrequest", "invalidargument", "badrequest", "unprocessable", "notfound"),
    *("invalidapikey", "authentication", "unauthenticated", "unauthorized"),
    *("permission", "forbidden"),
)
USED_UP = ("quota", "insufficientbalance", "insufficientcredit", "billing")
# Patterns as texts: compiled when there is an error, not at every start.
USED_UP_WORDS = (
    r"(?i)credit balance is too low|insufficient (balance|credits?|funds)"
    r"|exceeded your current quota"
)
TITLE = r"(?i)<title[^>]*>([^<]{1,100})"


@frozen
class ServerFault:
    """An error as the server told it.

    words: one line for a person, at most 500 characters; "" where the server had none.
    type, code: the server's own names for it, "" where it gave none ("429" for a number).
    context_overflow: the prompt is too long for the model. context_limit: how many tokens it may
        have, where that is named.
    quota: a quota or a balance is used up, so waiting doesn't help.
    lasting: by type or code, the same request would fail again.
    is_page: it came as an HTML page: what answers is a web site, or a proxy.
    """

    words: str = ""
    type: str = ""
    code: str = ""
    context_overflow: bool = False
    context_limit: int | None = None
    quota: bool = False
    lasting: bool = False
    is_page: bool = False

    def to_error(self) -> ServerReported:
        """The error that ends a stream in which the server told this."""
        names = ", ".join(name for name in (self.type, self.code) if name and name != self.words)
        words = self.words or "no reason given"
        return ServerReported(
            f"the server reported an error: {words}" + (f" ({names})" if names else ""),
            retryable=not self.lasting,
            context_overflow=self.context_overflow,
            context_limit=self.context_limit,
        )


def is_error(payload: dict[str, Any]) -> bool:
    """Whether a decoded JSON object, from a stream or a body with status 200, reports an error.

    Beside choices an empty `error` is none: some gateways fill in every field of their own.
    """
    error = payload.get("error")
    return bool(
        error
        or not (error is None or error is False or payload.get("choices"))
        or payload.get("object") == "error"  # vLLM
        or payload.get("type") == "error"  # the Messages dialect
        or payload.get("error_message")
    )


def read_error_text(text: str) -> ServerFault:
    """Reads a body (or an event's data) as received: JSON, plain text, or an HTML page.

    A page is never poured out: of it only the title is told.
    """
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith("<"):
        title = re.search(TITLE, stripped)
        words = "an HTML page" + (f": {one_line(title[1])}" if title else "")
        return ServerFault(words, is_page=True)
    try:
        return read_error(json.loads(stripped))
    except (ValueError, RecursionError):
        return read_error(stripped)


def read_error(body: Any) -> ServerFault:
    """Reads a decoded error: the whole body of an HTTP error, or what `is_error` said yes to."""
    layers = list(_layers(body))
    type_ = _first_name(layers, ("type", "error_type", "status"))
    code = _first_name(layers, ("code", "status_code"))
    words = one_line(_words(layers))
    names = [_letters(name) for layer in layers for name in _names(layer)]
    overflow = _any_in(names, OVERFLOWING) or re.search(OVERFLOW_WORDS, words) is not None
    quota = _any_in(names, USED_UP) or bool(re.search(USED_UP_WORDS, words))
    return ServerFault(
        words=words,
        type="" if type_ in ("error", "None") else type_,
        code=code,
        context_overflow=overflow,
        context_limit=named_limit(words, layers) if overflow else None,
        quota=quota,
        lasting=overflow
        or quota
        or _any_in(names, LASTING)
        or _lasting_status(type_)
        or _lasting_status(code),
    )


def _layers(body: Any, depth: int = 0) -> Iterator[Any]:
    """The error itself first, then what it was wrapped in."""
    if depth == MAX_DEPTH:
        return
    if isinstance(body, list):
        for item in body[:1]:  # Gemini puts the object into a list
            yield from _layers(item, depth + 1)
        return
    if isinstance(body, dict):
        for key in ("error", "errors", "detail"):
            if body.get(key) is not None:
                yield from _layers(body[key], depth + 1)
    yield body


def _words(layers: list[Any]) -> str:
    for layer in layers:
        if isinstance(layer, str) and layer.strip():
            return layer
        if isinstance(layer, dict):
            for key in ("message", "error_message", "msg", "detail"):
                words = layer.get(key)
                if isinstance(words, str) and words.strip():
                    return words + _upstream(layer)
    names = _first_name(layers, ("type", "error_type", "code"))
    told = names or (json.dumps(layers[0], default=str) if layers and layers[0] else "")
    return "" if told == "error" else told


def _upstream(error: dict[str, Any]) -> str:
    """OpenRouter's own words are "Provider returned error"; the reason stands in `raw`."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f": {raw}" if isinstance(raw, str) and raw.strip() else ""


def _names(layer: Any) -> Iterator[str]:
    if isinstance(layer, dict):
        metadata = layer.get("metadata")
        for source in (layer, metadata if isinstance(metadata, dict) else {}):
            for key in ("type", "error_type", "code", "status"):
                if isinstance(source.get(key), str):
                    yield source[key]


def _first_name(layers: list[Any], keys: tuple[str, ...]) -> str:
    for layer in layers:
        for key in keys if isinstance(layer, dict) else ():
            value = layer.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                return one_line(str(value))
    return ""


def _lasting_status(code: str) -> bool:
    return (
        len(code) == 3 and code.isdecimal() and code[0] == "4" and int(code) not in PASSING_STATUSES
    )


def _any_in(names: list[str], parts: tuple[str, ...]) -> bool:
    return any(part in name for name in names for part in parts)


def _letters(name: str) -> str:
    return "".join(filter(str.isalpha, name)).lower()


def one_line(text: str, limit: int = MAX_WORDS) -> str:
    """Foreign text made fit for a message: one printable line, cut at `limit` characters."""
    words = " ".join(text[: 4 * limit].split())
    line = "".join(c if c.isprintable() else "\ufffd" for c in words)
    return line if len(line) <= limit else line[:limit] + "..."
