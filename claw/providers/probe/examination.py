"""probe: a handful of questions to a server, and what its answers say about it.

The questions go out one after the other, as local servers answer one at a time. Where a request is
refused, it is sent again in the other ways that claw knows, and the first way that works goes into
the quirk record: it is tried out, not guessed from the words of the refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from claw.cancel import CancelToken, void
from claw.errors import Cancelled, HTTPStatusError
from claw.messages import Message
from claw.providers.probe import chat_wire, findings, looks
from claw.providers.probe.discovery import find_line
from claw.providers.probe.findings import Finding, Report
from claw.providers.probe.inquiry import Inquiry, Ways, is_refused
from claw.providers.probe.line import Line, Target
from claw.providers.probe.questions import (
    CALLS,
    LIMITED,
    PLAIN,
    TOOLS,
    after_a_user_message,
    after_calls,
    after_one_call,
)
from claw.providers.probe.recording import Answer
from claw.providers.text_calls import recognise

TOOLS_REFUSED = frozenset({400, 404, 422, 500, 501})  # 404: OpenRouter
RESULT_WAYS: Ways = (
    {"echo_extras": True},
    {"echo_extras": True, "reasoning_field": "reasoning_content"},
)
QUESTION_WAYS: Ways = ({"assistant_after_tools": True},)


def probe(
    target: Target, cancel: CancelToken, on_finding: Callable[[Finding], object] = void
) -> Report:
    """Finds out what the server of `target` speaks, and how. Blocks; prints nothing.

    At the token's deadline it ends in good order, with what it has by then. Raises ConnectError
    where nothing answers, ConfigError for what the user must mend, Cancelled.

    on_finding: gets each finding as soon as there is one. Contract: called on this thread; what
    it raises ends the probe.
    """
    inquiry = Inquiry(target, cancel, on_finding)
    try:
        with ExitStack() as cleanup:
            if found := find_line(inquiry, cleanup):
                _examine(inquiry, *found)
    except Cancelled as cancelled:
        if cancelled.reason != "deadline":
            raise
        inquiry.out_of_time()
    return inquiry.conclude()


def _examine(inquiry: Inquiry, line: Line, plain: Answer) -> None:
    _look_at_talk(inquiry, line, plain)
    if not (plain.works or is_refused(plain)):
        return  # what is wrong has been said, and has nothing to do with the question
    reply = _look_at_calls(inquiry, line)
    if not inquiry.usable:
        return
    if inquiry.quirks.tools:
        _look_at_results(inquiry, line, reply)
    if plain.works:
        limited = inquiry.ask(line, LIMITED)
        inquiry.add(looks.limit(limited, inquiry.quirks.max_tokens_field))
        if line.dialect == "anthropic":  # the other one needs no limit, so a run sends none
            _look_at_longest(inquiry, line)
    if not inquiry.quirks.think_tags:
        inquiry.add(looks.thinking(inquiry.answers, line.dialect))
    inquiry.add(looks.error_shape(inquiry.provoke(line), line.dialect))


def _look_at_talk(inquiry: Inquiry, line: Line, plain: Answer) -> None:
    if plain.arrivals:
        inquiry.add(looks.first_byte(plain))
        inquiry.add(looks.streaming(plain))
    inquiry.add(looks.ending(plain, line.dialect), vital=not is_refused(plain))
    if plain.message is not None:
        inquiry.add(looks.usage(plain, line.dialect))
        _look_for_think_tags(inquiry, plain.message)


def _look_for_think_tags(inquiry: Inquiry, message: Message) -> None:
    if chat_wire.THINK_END not in message.text:
        return
    opened = not message.text.lstrip().startswith(chat_wire.THINK_START)
    inquiry.take("thinking", replace(inquiry.quirks, think_tags=True, think_tag_opened=opened))


def _look_at_calls(inquiry: Inquiry, line: Line) -> Message | None:
    """Asks for two calls; returns the message with them, however they were written."""
    answer = inquiry.ask(line, CALLS)
    if inquiry.usable and _tools_refused(answer):
        inquiry.take(findings.CALLS, replace(inquiry.quirks, tools=False))
        return None
    if _mixed_up(answer):
        answer = _asked_for_one(inquiry, line) or answer
    message = answer.message
    if message and (read := recognise(message, TOOLS)) is not message:
        inquiry.take(findings.CALLS, replace(inquiry.quirks, calls_in_text=True))
        return read
    # Arguments that can't be used are the model's fault, and it is told.
    inquiry.add(looks.calls(answer, line.dialect), vital=message is None)
    if chat_wire.has_extras(answer.payloads):
        inquiry.take(findings.CALLS, replace(inquiry.quirks, echo_extras=True))
    return message


def _tools_refused(answer: Answer) -> bool:
    error = answer.error
    return (
        isinstance(error, HTTPStatusError)
        and error.status in TOOLS_REFUSED
        and not error.context_overflow
    )


def _mixed_up(answer: Answer) -> bool:
    calls = answer.message.tool_calls if answer.message else ()
    return len(calls) > 1 and any(call.error for call in calls)


def _asked_for_one(inquiry: Inquiry, line: Line) -> Answer | None:
    """What comes when one call at a time is asked for; None where that doesn't help."""
    quirks = replace(inquiry.quirks, parallel_calls=False)
    answer = inquiry.ask(line, CALLS, quirks)
    if answer.message is None or any(call.error for call in answer.message.tool_calls):
        return None
    inquiry.take(findings.CALLS, quirks)
    return answer


def _look_at_results(inquiry: Inquiry, line: Line, reply: Message | None) -> None:
    """Sends results back, then a question right after results, as a cancelled turn leaves it."""
    answered = after_calls(reply)
    answer = inquiry.ask_in_ways(line, "tool results", answered, _ways(line, RESULT_WAYS))
    if is_refused(answer):
        answered = after_one_call()
        quirks = replace(inquiry.quirks, parallel_calls=False)
        single = inquiry.ask(line, answered, quirks)
        if single.message is not None:
            inquiry.take("tool results", quirks)
            answer = single
    inquiry.add(looks.taken("tool results", answer), vital=True)
    if answer.message is not None:
        asked = after_a_user_message(answered)
        answer = inquiry.ask_in_ways(line, "question after", asked, _ways(line, QUESTION_WAYS))
        inquiry.add(looks.taken("question after", answer))


def _look_at_longest(inquiry: Inquiry, line: Line) -> None:
    """Asks for as long a reply as a run does; a limit that the server names then is a quirk."""
    answer = inquiry.ask(line, replace(PLAIN, max_tokens=None))
    if is_refused(answer):
        inquiry.add(looks.taken("longest reply", answer))


def _ways(line: Line, ways: Ways) -> Ways:
    """These quirks are of Chat Completions."""
    return ways if line.dialect == "openai" else ()
