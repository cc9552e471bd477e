"""Finding the server: the base URL that works, its models, the dialect it speaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import TypeAlias

from claw.errors import AuthError, ConnectError, ProviderError, ReadTimeout
from claw.providers.model_list import list_models
from claw.providers.presets import Dialect
from claw.providers.probe.findings import KEY, Verdict
from claw.providers.probe.inquiry import Inquiry, Ways
from claw.providers.probe.line import NAMES, NOTHING, REFUSED, Line, base_urls
from claw.providers.probe.questions import PLAIN, broken_body
from claw.providers.probe.recording import Answer

LIST_S = 5.0
NAME_ONE = "name one with --model"
MODELS_SHOWN = 3
NOT_FOR_TALKING = re.compile(
    "embed|whisper|tts|dall-e|moderation|rerank|davinci|babbage|image|audio|realtime|sora",
    re.IGNORECASE,
)
PLAIN_WAYS: Ways = (
    {"stream_options": False},
    {"max_tokens_field": "max_completion_tokens"},
    {"stream_options": False, "max_tokens_field": "max_completion_tokens"},
)

Place: TypeAlias = tuple[Dialect, str]


def find_line(inquiry: Inquiry, cleanup: ExitStack) -> tuple[Line, Answer] | None:
    """The line on which the server answers, and its answer to PLAIN; None where it doesn't.

    Tells the base URL, the models, the dialect; or what is wrong. `cleanup` gets the lines.
    """
    places = _find_models(inquiry)
    if not inquiry.model:
        return None
    found: tuple[Line, Answer] | None = None
    best, failures = NOTHING, []
    for dialect, base_url in places:
        line = Line(inquiry.target, dialect, base_url, inquiry.model)
        cleanup.callback(line.close)
        ways = PLAIN_WAYS if dialect == "openai" else ()
        answer = inquiry.ask_in_ways(line, "requests", PLAIN, ways)
        rank = line.rank(answer)
        if rank > best:
            found, best = (line, answer), rank
        if answer.error is None:
            break
        failures.append(answer.error)
    if found is None:
        _tell_failure(inquiry, failures)
        return None
    inquiry.line, _ = found
    inquiry.locate(inquiry.line.base_url)
    _tell_dialect(inquiry, inquiry.line, best)
    inquiry.tell("model", inquiry.model)
    return found


def _find_models(inquiry: Inquiry) -> list[Place]:
    """Looks for the list of models wherever it may be; returns where to ask questions."""
    target = inquiry.target
    given = base_urls(target.base_url)
    # The Messages dialect puts its /v1 in by itself.
    places = [
        (dialect, base_url)
        for dialect in target.dialects
        for base_url in (given if dialect == "openai" else given[:1])
    ]
    failures = []
    for dialect, base_url in places:
        provider = target.provider(dialect, base_url)
        try:
            models = list_models(provider, inquiry.cancel, timeout=LIST_S)
        except ConnectError:
            raise  # nobody there: the next URL is the same address
        except ProviderError as error:
            failures.append(error)
            if isinstance(error, ReadTimeout):
                break  # the next one would be as silent
            continue
        _take_models(inquiry, base_url, models)
        others = [other for other in target.dialects if other != dialect]
        return [(dialect, base_url), *((other, base_url) for other in others)]
    _tell_no_models(inquiry, failures)
    return places


def _take_models(inquiry: Inquiry, base_url: str, models: tuple[str, ...]) -> None:
    inquiry.locate(base_url)
    inquiry.models = models
    talking = [name for name in models if not NOT_FOR_TALKING.search(name)]
    inquiry.model = inquiry.model or next(iter(talking or models), "")
    shown = ", ".join(models[:MODELS_SHOWN]) + (", ..." if len(models) > MODELS_SHOWN else "")
    if not inquiry.model:
        inquiry.tell("models", f"the list is empty: {NAME_ONE}", Verdict.FAULT)
    elif inquiry.model in models:
        inquiry.tell("models", f"{len(models)}: {shown}")
    else:
        inquiry.tell("models", f"{inquiry.model} isn't among its {len(models)}", Verdict.UNKNOWN)


def _tell_no_models(inquiry: Inquiry, failures: Sequence[ProviderError]) -> None:
    refused = [error for error in failures if isinstance(error, AuthError)]
    words = (refused or failures)[0].message
    if refused and not inquiry.model:
        inquiry.tell(KEY, words, Verdict.FAULT)
    elif not inquiry.model:
        inquiry.tell("models", f"{NAME_ONE}: {words}", Verdict.FAULT)
    else:
        inquiry.tell("models", f"not listed: {words}", Verdict.COPES)


def _tell_failure(inquiry: Inquiry, failures: Sequence[ProviderError]) -> None:
    refused = [error for error in failures if isinstance(error, AuthError)]
    if refused:
        inquiry.tell(KEY, refused[0].message, Verdict.FAULT)
    else:
        inquiry.tell("dialect", f"none that claw speaks: {failures[0].message}", Verdict.FAULT)


def _tell_dialect(inquiry: Inquiry, line: Line, rank: int) -> None:
    name = NAMES[line.dialect]
    if rank == REFUSED:
        inquiry.tell("dialect", f"{name}, it seems: it only refuses", Verdict.UNKNOWN)
        return
    other = _other_dialect(inquiry, line)
    inquiry.tell("dialect", f"{name}; {NAMES[other]} too" if other else name)


def _other_dialect(inquiry: Inquiry, line: Line) -> Dialect | None:
    """The dialect that is spoken as well, by the way a request that is none is refused there."""
    for dialect in inquiry.target.dialects:
        if dialect != line.dialect:
            with closing(Line(inquiry.target, dialect, line.base_url, line.model)) as other:
                answer = other.post(broken_body(line.model), inquiry.cancel)
                if other.rank(answer) != NOTHING:
                    return dialect
    return None
