"""What one answer shows, each side of it as a Finding. Nothing here asks the server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw.errors import HTTPStatusError, ReadTimeout, ServerReported
from claw.messages import Message, StopReason
from claw.providers.presets import Dialect
from claw.providers.probe import chat_wire, messages_wire
from claw.providers.probe.findings import CALLS, Finding, Verdict
from claw.providers.probe.questions import LIMIT, LONGEST_LIMITED
from claw.providers.probe.recording import Answer
from claw.providers.probe.trouble import is_busy

OK, COPES, FAULT, UNKNOWN = Verdict.OK, Verdict.COPES, Verdict.FAULT, Verdict.UNKNOWN

BUFFERED_SHARE = 0.05  # of the time, in which all of a held back reply comes
BUFFERED_AFTER_S = 1.0
FEW_PIECES = 4

ODDITIES: Mapping[Dialect, Callable[[Sequence[Any], Message], list[str]]] = {
    "openai": chat_wire.call_oddities,
    "anthropic": messages_wire.call_oddities,
}
THINKING: Mapping[Dialect, Callable[[Sequence[Any]], list[str]]] = {
    "openai": chat_wire.reasoning_fields,
    "anthropic": messages_wire.reasoning_fields,
}


def first_byte(answer: Answer) -> Finding:
    return Finding(
        "first byte", f"{_time(answer.arrivals[0])}; the whole answer {_time(answer.seconds)}"
    )


def streaming(answer: Answer) -> Finding:
    """Whether a reply comes as it is written."""
    if answer.in_one_piece:
        return Finding("streaming", "no: one JSON answer", COPES)
    spread = answer.arrivals[-1] - answer.arrivals[0]
    count = f"{len(answer.payloads)} events"
    if (
        len(answer.payloads) >= FEW_PIECES
        and answer.seconds > BUFFERED_AFTER_S
        and spread < answer.seconds * BUFFERED_SHARE
    ):
        return Finding("streaming", f"held back: {count}, all at the end", COPES)
    return Finding("streaming", f"yes: {count}")


def ending(answer: Answer, dialect: Dialect) -> Finding:
    """The finish reason, and the end mark."""
    if answer.message is None:
        # The address is known to be right, so a 404 is about the model.
        no_model = isinstance(answer.error, HTTPStatusError) and answer.error.status == 404
        return _missing("model" if no_model else "reply", answer)
    word = answer.quoted(answer.message.stop_word)
    if dialect == "anthropic" or answer.in_one_piece or answer.end_mark:
        return Finding("end of a reply", word)
    return Finding("end of a reply", f"{word}, but no [DONE]: up to 2 s are waited for it", COPES)


def usage(answer: Answer, dialect: Dialect) -> Finding:
    counts = answer.message.usage if answer.message else None
    if counts is None:
        return Finding("usage", "none: claw can't count tokens", COPES)
    words = f"{counts.input_tokens} tokens in, {counts.output_tokens} out"
    if dialect == "openai" and (name := chat_wire.usage_field(answer.payloads)) != "usage":
        return Finding("usage", f"{words}, in {name}", COPES)
    if not counts.input_tokens or not counts.output_tokens:
        return Finding("usage", f"{words}: incomplete", COPES)
    return Finding("usage", words)


def thinking(answers: Sequence[Answer], dialect: Dialect) -> Finding:
    """Where the model's thinking comes, if any came."""
    fields = [name for each in answers for name in THINKING[dialect](each.payloads)]
    if fields:
        names = ", ".join(dict.fromkeys(fields))
        return Finding("thinking", f"in {answers[0].quoted(names)}")
    return Finding("thinking", "none came", UNKNOWN)


def calls(answer: Answer, dialect: Dialect) -> Finding:
    """How tool calls come: index, ids, names, arguments, finish reason."""
    message = answer.message
    if message is None:
        return _missing(CALLS, answer)
    if not message.tool_calls:
        return Finding(CALLS, f"none made; it said: {answer.quoted(message.text)}", UNKNOWN)
    odd = ODDITIES[dialect](answer.payloads, message)
    if message.stop_word.lower() not in ("tool_calls", "tool_use"):
        odd.append(f"finish reason {answer.quoted(message.stop_word)}")
    broken = [call.error for call in message.tool_calls if call.error]
    odd += [f"arguments that can't be used ({answer.quoted(error, 100)})" for error in broken]
    count = len(message.tool_calls)
    made = f"{count} at once" if count > 1 else "one"
    found = "; ".join([made, *(odd or ["index, ids, finish reason as they should be"])])
    return Finding(CALLS, found, FAULT if broken else COPES if odd else OK)


def taken(what: str, answer: Answer) -> Finding:
    """Whether a request of this kind was answered."""
    if answer.message is None:
        return _missing(what, answer)
    return Finding(what, "taken")


def limit(answer: Answer, field: str) -> Finding:
    """Whether a reply keeps to the limit that it was asked for under the name `field`."""
    message = answer.message
    if message is None:
        return _missing("output limit", answer)
    tokens = message.usage.output_tokens if message.usage else 0
    word = answer.quoted(message.stop_word)
    if message.stop_reason is StopReason.MAX_TOKENS:
        if len(message.text) > LONGEST_LIMITED or tokens > 2 * LIMIT:
            return Finding("output limit", f"{field} {LIMIT} gave {tokens} tokens", COPES)
        return Finding("output limit", f"{field} is kept, and said: {word}")
    if len(message.text) > LONGEST_LIMITED or tokens > 2 * LIMIT:
        return Finding("output limit", f"{field} is ignored", FAULT)
    if tokens == LIMIT:
        words = f"{field} is kept, but not said: {word}"
        return Finding("output limit", words, FAULT)
    return Finding("output limit", "the answer was too short to tell", UNKNOWN)


def error_shape(answer: Answer, dialect: Dialect) -> Finding:
    """How an error looks, from the answer to a request that is none."""
    error = answer.error
    if isinstance(error, HTTPStatusError):
        shape = _shape(error.body) or f"JSON of its own: {answer.quoted(error.body)}"
        usual = "Anthropic's" if dialect == "anthropic" else "OpenAI's"
        verdict = OK if shape == f"{usual} object" and error.status < 500 else COPES
        return Finding("errors", f"status {error.status}, {shape}", verdict)
    if isinstance(error, ServerReported):
        return Finding("errors", "status 200 with the error inside", COPES)
    if error is not None:
        return Finding("errors", error.message, COPES)
    return Finding("errors", "it answers a request that is none", COPES)


def _shape(body: str) -> str:
    """What kind of body an error has; "" for a kind that only its text can show."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return (
            "an HTML page" if body.lstrip().startswith("<") else "plain text" if body else "empty"
        )
    if isinstance(value, list):
        return "a list"
    inner = value.get("error") if isinstance(value, dict) else None
    if isinstance(inner, dict) and "message" in inner:
        return "Anthropic's object" if value.get("type") == "error" else "OpenAI's object"
    return ""


def _missing(what: str, answer: Answer) -> Finding:
    """There was no whole reply to look at. A slow model or a limit on requests is no fault."""
    error = answer.error
    assert error is not None
    passing = isinstance(error, ReadTimeout) or is_busy(error)
    return Finding(what, error.message, UNKNOWN if passing else FAULT)


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
