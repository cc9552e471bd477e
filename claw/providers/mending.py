"""A request that a server refuses for one field of it, mended: asked again in another manner.

What a server takes depends on the model, too, and no list of models is ever up to date. So claw
asks as the dialect says, and learns from a refusal that names the field. The table is data; to
decide (`remedies_for`) is a pure function; the provider remembers (http_provider.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from claw.errors import HTTPStatusError, ProviderError
from claw.providers.effort import STYLES
from claw.providers.manner import Manner, Remedy

# 404: OpenRouter, no endpoint with tools. 422: servers that check with pydantic. 500: llama.cpp.
STATUSES = frozenset({400, 404, 422, 500, 501})

REFUSED = (
    r"(?:unsupported|unrecogni[sz]ed|unknown|unexpected|extra_forbidden|deprecated"
    r"|cannot find field|(?:not|no longer) (?:supported|permitted|allowed|implemented|accepted)"
    r"|does(?: not|n't) support)"
)
PARALLEL = r"parallel.tool.(?:call|use)"  # with blanks, or as a field's name in either dialect
TOOLS_REFUSED = re.compile(
    r"""
    (?:not|n't)\ support\ (?:tools?|functions?)\b                   # Ollama
    | (?<!parallel\ )(?:tool\ (?:use|calls?|calling)|function\ call\w*|\btools)
      \ (?:is|are)\ not\ (?:\w+\ )?supported
    | no\ endpoints\ found\ that\ support\ tool\ use                # OpenRouter
    | tools\ param\ requires                                        # llama.cpp without --jinja
    | --enable-auto-tool-choice                                     # vLLM
    | un(?:supported|known|recogni[sz]ed)\ (?:\w+\ )*(?:param\w*|arguments?|fields?|name)
      (?:\ supplied)?:?\ ['"`]?tools\b(?!\.\w|\[)
    | extra_forbidden.{0,20}"loc":\ ?\["body",\ ?"tools"\]
    | "param":\ ?"tools",\ ?"code":\ ?"un(?:supported|known)_parameter"
    """,
    re.IGNORECASE | re.VERBOSE,
)


def _without(name: str, **quirks: Any) -> Remedy:
    return Remedy(f"without {name}", quirks, {name: None})


# What is refused or missed beside plain fields, the most particular first.
PARTICULAR: tuple[tuple[re.Pattern[str], Remedy], ...] = (
    (
        re.compile(
            r"missing `?reasoning_content|reasoning_content`?.{0,40}must be (?:passed|sent) back",
            re.IGNORECASE,
        ),
        Remedy(
            "with the reasoning sent back",  # DeepSeek
            {"echo_extras": True, "reasoning_field": "reasoning_content"},
        ),
    ),
    (
        re.compile(r"missing a `?thought_signature", re.IGNORECASE),
        Remedy("with the signatures sent back", {"echo_extras": True}),  # Gemini
    ),
    (
        re.compile(
            r"messages?\W.{0,120}\b(?:reasoning(?:_content|_details)?|extra_content)\b"
            rf".{{0,60}}{REFUSED}",
            re.IGNORECASE,
        ),
        Remedy("without the reasoning", {"echo_extras": False}),  # Groq
    ),
    (
        re.compile(r"expected `?thinking`? or `?redacted_thinking", re.IGNORECASE),
        _without("thinking"),  # Anthropic: it was turned on in the middle of a turn
    ),
    (
        re.compile(rf"{REFUSED}.{{0,80}}{PARALLEL}|{PARALLEL}.{{0,80}}{REFUSED}", re.IGNORECASE),
        _without("parallel_tool_calls", parallel_calls=True),
    ),
    (TOOLS_REFUSED, Remedy("without tools: the model can only talk", {"tools": False})),
)
# The limit of the reply is refused as too high, and the number that it may be is named.
LIMIT_TOO_HIGH = re.compile(
    r"""
    (?:max_(?:completion_|output_|new_)?tokens | maxOutputTokens | maximum\ tokens\ you\ requested)
    .{0,150}?
    (?:
        at\ most\ (?P<openai>\d+)
        | <=\ ?(?P<bound>\d+)
        | >\ (?P<anthropic>\d+),\ which\ is\ the\ maximum
        | less\ than\ or\ equal\ to\ [`'"]?(?P<groq>\d+)          # and servers with pydantic
        | \[\d+,\ ?(?P<deepseek>\d+)\]
        | the\ model\ limit\ of\ (?P<bedrock>\d+)
        | to\ (?P<gemini>\d+)\ \(exclusive\)
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
ADAPTIVE_WANTED = re.compile(r"thinking\.type.{0,80}adaptive", re.IGNORECASE)  # Claude since 4.7


def remedies_for(error: ProviderError, manner: Manner) -> Iterator[Remedy]:
    """What may help after a request in this manner was refused with `error`, the likeliest first.

    None comes twice, and each changes something, so a request is mended a few times at most. What
    it changes may not be in this request: then the next one is what helps.
    """
    if not isinstance(error, HTTPStatusError) or error.status not in STATUSES:
        return
    if error.context_overflow:
        return
    words = " ".join(f"{error.message} {error.body}".split())
    taken = {remedy.words for remedy in manner.remedies}
    for remedy in _remedies(words, manner):
        after = manner.mended(remedy)
        changed = (after.quirks, after.params) != (manner.quirks, manner.params)
        if changed and remedy.words not in taken:
            yield remedy


def _remedies(words: str, manner: Manner) -> Iterator[Remedy]:
    """Whatever the words may ask for; the most particular first."""
    for pattern, remedy in PARTICULAR:
        if pattern.search(words):
            yield remedy
    if ADAPTIVE_WANTED.search(words) and (budget := _budget(manner.params)):
        yield _adaptive(budget)
    if limit := _output_limit(words, manner.quirks.output_limit):
        yield Remedy(f"with at most {limit:,} tokens a reply", {"output_limit": limit})
    if _refuses(words, "stream_options"):
        yield _without("stream_options", stream_options=False)
    for one, other in (
        ("max_tokens", "max_completion_tokens"),
        ("max_completion_tokens", "max_tokens"),
    ):
        sent = manner.quirks.max_tokens_field == one or one in manner.params
        if sent and _refuses(words, one):
            yield _renamed(one, other, manner.params)
    for name in manner.params:
        if _refuses(words, name):
            yield _without(name)


def _renamed(one: str, other: str, params: Mapping[str, Any]) -> Remedy:
    """The limit of the reply under its other name, also where the user's params have it."""
    moved = {one: None, other: params[one]} if one in params else {}
    return Remedy(f"with {other} in place of {one}", {"max_tokens_field": other}, moved)


def _refuses(words: str, name: str) -> bool:
    """Whether a refusal stands next to this name of a field (and not "use 'name' instead")."""
    named = rf"(?<![\w-])(?<!use ['\"`]){re.escape(name)}(?![\w-])"
    return bool(
        re.search(rf"{REFUSED}.{{0,80}}?{named}|{named}.{{0,80}}?{REFUSED}", words, re.IGNORECASE)
    )


def _output_limit(words: str, known: int) -> int:
    """The limit that a server names for a reply; 0 where it names none, or one so near to what it
    named before (`known`) that it may go on like that for ever."""
    found = LIMIT_TOO_HIGH.search(words)
    if found is None:
        return 0
    limit = int(next(filter(None, found.groups()))) - (found["gemini"] is not None)
    return limit if limit > 0 and (not known or limit <= known // 2) else 0


def _budget(params: Mapping[str, Any]) -> int:
    thinking = params.get("thinking")
    return int(thinking.get("budget_tokens", 0)) if isinstance(thinking, Mapping) else 0


def _adaptive(budget: int) -> Remedy:
    """A budget in tokens as the nearest effort."""
    distances = {
        level: abs(fields["thinking"].get("budget_tokens", 0) - budget)
        for level, fields in STYLES["budget"].items()
        if level != "off"
    }
    nearest = min(distances, key=distances.__getitem__)
    return Remedy("with adaptive thinking", params=STYLES["adaptive"][nearest])
