"""Finding the server: the base URL that works, its models, the dialect it speaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import TypeAlias

from claw.errors import AuthError, ConnectError, ProviderError, ReadTimeout
from claw.providers.masking import masked
from claw.providers.model_list import ModelList, list_models
from claw.providers.presets import Dialect
from claw.providers.probe.findings import Verdict
from claw.providers.probe.inquiry import Inquiry, Ways
from claw.providers.probe.line import NAMES, NO_MODEL, NOTHING, REFUSED, Line, base_urls
from claw.providers.probe.questions import PLAIN
from claw.providers.probe.recording import Answer
from claw.providers.probe.trouble import in_short, is_busy, is_redirect, trouble
from claw.providers.server_errors import one_line

LIST_S = 5.0
NAME_ONE = "name one with --model"
MODELS_SHOWN = 3
NAME_SHOWN = 80  # characters of it
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
    places, unlisted = _find_models(inquiry)
    if not inquiry.model:
        if unlisted:
            _tell_nameless(inquiry, places, unlisted)
        return None
    found: tuple[Line, Answer] | None = None
    best = NOTHING
    failures: list[ProviderError] = []
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
    if found is None or (best == REFUSED and any(map(is_busy, failures))):
        _tell_trouble(inquiry, failures, places)
        return None
    inquiry.line, _ = found
    inquiry.locate(inquiry.line.base_url)
    if unlisted:
        inquiry.tell("models", f"no list: {in_short(unlisted[0])}", Verdict.COPES)
    _tell_dialect(inquiry, inquiry.line, best)
    inquiry.tell("model", _shown(inquiry, inquiry.model))
    return found


def _find_models(inquiry: Inquiry) -> tuple[list[Place], list[ProviderError]]:
    """Looks for the list of models wherever it may be: where to ask questions, and why there is no
    list, a reason for each place."""
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
            failures.append(masked(error, (), target.api_key))
            if isinstance(error, ReadTimeout):
                break  # the next one would be as silent
            continue
        _take_models(inquiry, base_url, models)
        others = [other for other in target.dialects if other != dialect]
        return [(dialect, base_url), *((other, base_url) for other in others)], []
    return places, failures


def _take_models(inquiry: Inquiry, base_url: str, models: ModelList) -> None:
    inquiry.locate(base_url)
    inquiry.models = names = models.names
    talking = [name for name in names if not NOT_FOR_TALKING.search(name)]
    inquiry.model = inquiry.model or next(iter(talking or names), "")
    first = [_shown(inquiry, name) for name in names[:MODELS_SHOWN]]
    words = f"{len(names)}: {', '.join(first)}" + (", ..." if len(names) > MODELS_SHOWN else "")
    if not inquiry.model:
        inquiry.tell("models", f"the list is empty: {NAME_ONE}", Verdict.FAULT)
    elif inquiry.model not in names:
        words = f"{_shown(inquiry, inquiry.model)} isn't among its {len(names)}"
        inquiry.tell("models", words, Verdict.UNKNOWN)
    elif models.left_out:
        inquiry.tell("models", f"{words}; {models.left_out} without a name", Verdict.COPES)
    else:
        inquiry.tell("models", words)


def _tell_nameless(
    inquiry: Inquiry, places: Sequence[Place], unlisted: Sequence[ProviderError]
) -> None:
    """There is no list of models and no name of one: is there a server at all?"""
    hopeless = any(
        isinstance(error, AuthError | ReadTimeout) or is_busy(error) or is_redirect(error)
        for error in unlisted
    )
    for dialect, base_url in () if hopeless else places:
        if _is_spoken(inquiry, dialect, base_url):
            inquiry.locate(base_url)
            words = f"no list ({in_short(unlisted[0])}): {NAME_ONE}"
            inquiry.tell("models", words, Verdict.FAULT)
            return
    _tell_trouble(inquiry, unlisted, places)


def _tell_trouble(
    inquiry: Inquiry, failures: Sequence[ProviderError], places: Sequence[Place]
) -> None:
    inquiry.add(trouble(failures, [base_url for _, base_url in places]), vital=True)


def _shown(inquiry: Inquiry, name: str) -> str:
    return one_line(inquiry.target.hide(name), NAME_SHOWN)


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
        if dialect != line.dialect and _is_spoken(inquiry, dialect, line.base_url):
            return dialect
    return None


def _is_spoken(inquiry: Inquiry, dialect: Dialect, base_url: str) -> bool:
    with closing(Line(inquiry.target, dialect, base_url, inquiry.model or NO_MODEL)) as line:
        return line.rank(inquiry.provoke(line)) != NOTHING
