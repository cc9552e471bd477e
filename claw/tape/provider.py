"""TapeProvider: a model server's part, played from a tape through the real decoder."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from itertools import count
from pathlib import Path

from claw.cancel import CancelToken
from claw.errors import ProviderError
from claw.events import Completed, Failed, Retrying, StreamEvent
from claw.providers.advice import without_advice
from claw.providers.anthropic import AnthropicMessages
from claw.providers.base import ModelRequest
from claw.providers.endpoint import Endpoint
from claw.providers.http_provider import HTTPProvider
from claw.providers.openai_chat import OpenAIChat
from claw.providers.reply import ReplyReader
from claw.providers.retry import RetryPolicy, with_reason
from claw.providers.text_calls import with_text_calls
from claw.tape.reader import read_tape
from claw.tape.tape import Exchange, Step, Tape, TapedRun

PATIENCE_S = 0.2  # for the engine to take what was told before a cancel
NOWHERE = "http://tape.invalid/v1"
DIALECTS: Mapping[str, type[HTTPProvider]] = {
    "openai": OpenAIChat,
    "anthropic": AnthropicMessages,
}


class TapeProvider:
    """A StreamingProvider that answers each request with the next reply of a tape, or of the file
    at a path, whatever it is asked. A request after the last one fails.

    run: only the replies of the run with that number. original_timing: with the pauses that the
    server made. dialects: those of one's own, by the names they have on tapes. Where the recorded
    run was cancelled, the token is cancelled with the same reason.
    """

    secrets: tuple[str, ...] = ()

    def __init__(
        self,
        tape: Tape | Path,
        *,
        run: int | None = None,
        original_timing: bool = False,
        dialects: Mapping[str, type[HTTPProvider]] = DIALECTS,
    ) -> None:
        tape = tape if isinstance(tape, Tape) else read_tape(tape)
        runs = [each for each in tape.runs.values() if run in (None, each.number)]
        self._steps = [(each, each.steps[number]) for each in runs for number in sorted(each.steps)]
        self._next = count()
        self._timed = original_timing
        self._dialects = dialects

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        """The next reply's events; called on the producer's thread."""
        index = next(self._next)
        if index >= len(self._steps):
            raise ProviderError(f"the tape has {len(self._steps)} replies, and this is one more")
        run, step = self._steps[index]
        events = self._events(step, request, cancel)
        return self._cut(run, step, events, cancel) if step.cut else events

    def close(self) -> None:
        """There is nothing to close."""

    def _cut(
        self, run: TapedRun, step: Step, events: Iterator[StreamEvent], cancel: CancelToken
    ) -> Iterator[StreamEvent]:
        """As much as had been told, then the cancel. The rest is read, for what it cost."""
        for number, event in enumerate(events):
            if isinstance(event, Completed | Failed):
                break
            if step.told is None or number < step.told:
                yield event
        cancel.wait(PATIENCE_S)
        cancel.cancel(run.cancel_reason)

    def _events(
        self, step: Step, request: ModelRequest, cancel: CancelToken
    ) -> Iterator[StreamEvent]:
        failure = None
        for part in step.parts:
            if isinstance(part, Exchange):
                events: Iterator[StreamEvent] = self._exchange(part, request, cancel)
                if part.quirks.calls_in_text and request.tools:
                    events = with_text_calls(events, request.tools)
                try:
                    for event in events:
                        yield event
                        if isinstance(event, Completed):
                            return
                except ProviderError as error:
                    failure = with_reason(error.with_traceback(None), RetryPolicy())
            elif isinstance(part, Retrying):
                told = part.error if failure is None else without_advice(failure)
                yield Retrying(part.attempt, part.wait_s, told, part.remedy)
                self._pause(part.wait_s, cancel)
            else:
                yield part
                failure = None
        if failure is not None:
            yield Failed(failure)

    def _exchange(
        self, exchange: Exchange, request: ModelRequest, cancel: CancelToken
    ) -> Generator[StreamEvent, None, None]:
        """The deltas and Completed, or neither where the exchange has no end. Raises what it
        failed with."""
        self._check_answered(exchange)
        reader, at = self._reader(exchange), exchange.at
        message = None
        try:
            for arrived, data in exchange.pieces:
                self._pause(arrived - at, cancel)
                at = arrived
                if not reader.ended:
                    yield from reader.feed(data)
            if not exchange.ended:
                return
            broken = exchange.error
            message = reader.finish(broken if isinstance(broken, ProviderError) else None)
        finally:
            if message is None and request.on_partial_usage and reader.usage:
                request.on_partial_usage(reader.usage)
        yield Completed(message)

    def _check_answered(self, exchange: Exchange) -> None:
        """Raises what the exchange failed with before a reply could begin."""
        if not exchange.ended or 200 <= exchange.status < 300:
            return
        if exchange.error is not None and not exchange.status:
            raise exchange.error
        from claw.providers.error_table import bad_status  # requests costs 90 ms

        text = b"".join(data for _, data in exchange.pieces).decode("utf-8", "replace")
        headers = {"Location": exchange.headers.get("Location", "nowhere")}
        seconds = getattr(exchange.error, "retry_after", None)
        if seconds is not None:  # a date to try again at is over by now
            headers["Retry-After"] = repr(seconds)
        endpoint = Endpoint(exchange.url, headers={})
        raise bad_status(exchange.status, headers, text, endpoint)

    def _reader(self, exchange: Exchange) -> ReplyReader:
        dialect = self._dialects.get(exchange.dialect)
        if dialect is None:
            raise ProviderError(f'nobody here speaks the dialect of the tape: "{exchange.dialect}"')
        provider = dialect(exchange.model or "m", base_url=NOWHERE, quirks=exchange.quirks)
        return ReplyReader(provider.new_assembler(), max_reply_bytes=exchange.max_reply_bytes)

    def _pause(self, seconds: float, cancel: CancelToken) -> None:
        if self._timed and seconds > 0:
            cancel.wait(seconds)
