"""Secrets taken out of what a server sent, before it is shown or logged.

A server may send a secret as it is, or in the spelling of what it stands in: JSON writes `\\/` or
`\\u002f`, with more backslashes where it stands in JSON again; a URL writes `%2F`, a page `&#x2F;`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from claw.errors import ClawError, ProviderError

MASK = "[key]"
SHORTEST_SECRET = 8  # "none", "ollama" and the like are placeholders, and ordinary words
SHORTEST_PART = 12  # characters of a secret that are worth masking by themselves
SHORTEST_KEY = 3  # one or two characters stand in any text by chance, and tell nothing
SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie")
ESCAPES = "\\%&"  # what other spellings begin with
ENTITIES: Mapping[str, str] = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


def secrets_of(key: str | None, headers: Mapping[str, str]) -> tuple[str, ...]:
    """What must never be shown: the key, and what stands in headers that look like one."""
    values = [
        value.split()[-1]
        for name, value in headers.items()
        if value.strip() and any(part in name.lower() for part in SECRET_HEADERS)
    ]
    found = {value for value in [key or "", *values] if len(value) >= SHORTEST_SECRET}
    return tuple(sorted(found, key=len, reverse=True))


def without_secrets(text: str, secrets: tuple[str, ...]) -> str:
    """`text` with each secret masked, and its beginning where a limit has cut the rest off."""
    for secret in secrets:
        if secret[:SHORTEST_PART] not in text and not any(mark in text for mark in ESCAPES):
            continue  # as a rule; the pattern costs more than the look
        text = re.sub(_spellings(secret), MASK, text)
        begins = re.compile(_spellings(secret[:SHORTEST_PART]))
        at = 0
        while found := begins.search(text, at):
            end = _end_of(secret[SHORTEST_PART:], text, found.end())
            text = text[: found.start()] + MASK + text[end:]
            at = found.start() + len(MASK)
    return text


def hidden(text: str, key: str | None) -> str:
    """`text`, which a server sent, without the key, whatever its length.

    A short key may be an ordinary word ("none", "ollama"): it counts where it stands alone. Not
    for claw's own words: "n[key] came" would tell the key, not hide it.
    """
    if not key or len(key) < SHORTEST_KEY:
        return text
    if len(key) >= SHORTEST_SECRET:
        return without_secrets(text, (key,))
    return re.sub(rf"(?<![^\W_]){_spellings(key)}(?![^\W_])", MASK, text)


def redacted(text: str, secrets: tuple[str, ...], key: str | None) -> str:
    """`text`, which a server sent, with nothing of an endpoint's that must not be shown."""
    return hidden(without_secrets(text, secrets), key)


def masked(error: ProviderError, secrets: tuple[str, ...], key: str | None) -> ProviderError:
    """`error` without the secrets and the key, in whatever the server said."""
    data = error.to_dict()
    cleaned = {
        name: redacted(value, secrets, key) if isinstance(value, str) and name != "kind" else value
        for name, value in data.items()
    }
    if cleaned == data:
        return error
    replacement = ClawError.from_dict(cleaned)
    assert isinstance(replacement, ProviderError)
    return replacement


def _spellings(part: str) -> str:
    """A pattern for `part` in any spelling."""
    return "".join(map(_spelling, _letters(part)))


def _letters(part: str) -> list[str]:
    """The characters one by one, backslashes that stand together as one: how many there are
    depends on the spelling."""
    return re.findall(r"\\+|.", part)


def _spelling(letter: str) -> str:
    """A pattern for one of them. Of backslashes before it a few count: a text of many would else
    be looked through once for each."""
    char, number = letter[0], ord(letter[0])
    forms = [f"(?i:u{number:04x})", f"(?i:%{number:02x})"]
    forms += [f"(?i:&#x0*{number:x};)", f"&#0*{number};"]
    if char in ENTITIES:
        forms.append(f"&{ENTITIES[char]};")
    either = "|".join([*forms, re.escape(char)])
    return f"(?:{either})++" if char == "\\" else rf"(?:\\{{0,8}}(?:{either}))"


def _end_of(rest: str, text: str, at: int) -> int:
    """Where the secret ends whose `rest` goes on at `at`, be it cut off in the middle."""
    for letter in _letters(rest):
        found = re.compile(_spelling(letter)).match(text, at)
        if found is None:
            return at
        at = found.end()
    return at
