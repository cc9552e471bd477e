"""RunTaps: taps on whatever comes into a run from outside: replies, calls, answers, words."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from itertools import count
from typing import Any

from claw.approval import Approver, Decision
from claw.cancel import CancelToken
from claw.engine.work import LiveOutput
from claw.errors import Cancelled, ClawError, ProviderError, ToolError
from claw.events import Completed, Failed, Retrying, StreamEvent
from claw.messages import ToolCall
from claw.providers.base import ModelRequest, Provider, StreamingProvider
from claw.providers.tap import Sent
from claw.store.records import Record
from claw.tape.format import HEADERS
from claw.tape.lanes import BodyEnd, Piece
from claw.tape.masking import Secrets
from claw.tape.writer import TapeWriter
from claw.tools.base import Arguments, RunFunction, Tool, ToolContext, ToolOutput

OUTCOMES = frozenset({Completed, Failed, Retrying})


class RunTaps:
    """The taps of one run."""

    def __init__(self, writer: TapeWriter, run: int, secrets: Secrets) -> None:
        self.writer = writer
        self.secrets = secrets
        self._over = False
        self._running: dict[str, LiveOutput] = {}
        self._run = run
        self._steps = count(1)

    def record(self, kind: str, **more: Any) -> Record:
        """The beginning of every record: type, run, at."""
        return {"type": kind, "run": self._run, "at": round(self.writer.now(), 4), **more}

    def put(self, record: Record) -> None:
        if not self._over:
            self.writer.put(lambda: record)

    def end(self) -> None:
        """The run is over: what calls that it left behind still do isn't part of it."""
        for call_id, shown in list(self._running.items()):
            self.put(self.record("call_left", id=call_id, shown=shown.so_far()))
        self._over = True

    def provider(self, provider: Provider | StreamingProvider) -> TappedProvider:
        return TappedProvider(provider, lambda: WireTap(self, self._run, next(self._steps)))

    def tool(self, tool: Tool) -> Tool:
        """The same tool; what becomes of its calls is recorded."""
        return replace(tool, run=self._recording(tool.run))

    def approver(self, approver: Approver, *, repeat: bool = False) -> Approver:
        def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
            asked = {"id": call.id, "repeat": repeat}
            try:
                decision = approver(call, tool, cancel)
            except ToolError as error:
                self.put(self.record("asked", **asked, refused=error.message))
                raise
            except Cancelled:
                self.put(self.record("asked", **asked, cancelled=True))
                raise
            if cancel.cancelled:
                self.put(self.record("asked", **asked, cancelled=True))
            else:
                self.put(self.record("asked", **asked, answer=_plain(decision)))
            return decision

        return ask

    def steering(self, steering: Callable[[], Sequence[str]]) -> Callable[[], Sequence[str]]:
        def lines() -> Sequence[str]:
            said = list(steering())
            self.put(self.record("steering", lines=said))
            return said

        return lines

    def _recording(self, run: RunFunction) -> RunFunction:
        def recorded(arguments: Arguments, context: ToolContext) -> str | ToolOutput:
            began, call_id = self.writer.now(), context.call.id
            shown = self._running[call_id] = LiveOutput()
            self.put(self.record("call_started", id=call_id, name=context.call.name))

            def tell(**outcome: Any) -> None:
                seconds = round(self.writer.now() - began, 4)
                late, text = context.cancel.cancelled, shown.so_far()
                ended = {"id": call_id, "seconds": seconds, "cancelled": late, "shown": text}
                self.put(self.record("call", **ended, **outcome))
                self._running.pop(call_id, None)

            def output(text: str) -> None:
                shown.write(text)
                context.output(text)

            try:
                result = run(arguments, replace(context, output=output))
            except ToolError as error:
                tell(failed=error.message)
                raise
            except Cancelled:
                tell()
                raise
            except (Exception, SystemExit) as error:
                tell(raised={"name": type(error).__name__, "words": str(error)})
                raise
            tell(output=_output(result))
            return result

        return recorded


class TappedProvider:
    """A StreamingProvider that asks another one, under a tap. All else is the other one's."""

    def __init__(
        self, provider: Provider | StreamingProvider, new_tap: Callable[[], WireTap]
    ) -> None:
        self._provider = provider
        self._new_tap = new_tap

    def __getattr__(self, name: str) -> Any:
        return getattr(self._provider, name)

    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        """The other one's events; its retries, and replies that came over no wire, are recorded."""
        tap = self._new_tap()
        put_down = tap.told.append
        try:
            with closing(_events(self._provider, replace(request, tap=tap), cancel)) as events:
                for event in events:
                    put_down(event)
                    if type(event) in OUTCOMES:
                        tap.settle()
                    yield event
        except Cancelled:
            raise
        except ClawError as error:
            tap.told.append(Failed(error))
            raise
        except Exception as error:
            words = f"{type(self._provider).__name__} raised {type(error).__name__}: {error}"
            failure = ProviderError(f"{words} (a fault of the provider's code)")
            tap.told.append(Failed(failure))
            raise failure from error
        finally:
            tap.settle()


class WireTap:
    """A Tap that puts the exchanges of one request on the tape, each once it is known whether its
    reply spells a key: then its events, masked, stand in the place of its bytes.

    told: what the provider said since the last exchange, over a wire or not.
    """

    def __init__(self, taps: RunTaps, run: int, step: int) -> None:
        self._taps = taps
        self._put = taps.writer.put_wire
        self._step = step
        self._body = run, step
        self._sent = False
        self._open = False
        self._end: Record | None = None
        self.told: list[StreamEvent] = []

    def on_request(self, sent: Sent) -> None:
        self._sent = self._open = True
        self._record(
            "request",
            dialect=sent.dialect,
            model=sent.model,
            url=sent.url,
            quirks={
                each.name: getattr(sent.quirks, each.name)
                for each in fields(sent.quirks)
                if getattr(sent.quirks, each.name) != each.default
            },
            max_reply_bytes=sent.max_reply_bytes,
            body=sent.body.decode("utf-8", "replace"),
        )

    def on_answer(self, status: int, headers: Mapping[str, str]) -> None:
        kept = {name: headers[name] for name in HEADERS if name in headers}
        self._record("answer", status=status, headers=kept)

    def on_piece(self, data: bytes) -> None:
        if self._open:
            self._put(Piece(self._body, self._taps.writer.now(), data))

    def on_end(self, error: ClawError | None) -> None:
        if self._open:
            self._open = False
            told = None if error is None else error.to_dict()
            self._end = self._taps.record("end", step=self._step, error=told)

    def settle(self) -> None:
        """An exchange is over, in whatever way, or there was none."""
        told = list(self.told)
        self.told.clear()
        end, self._end = self._end, None
        over_wire, self._sent, self._open = self._sent, False, False
        withheld = over_wire and self._taps.secrets.spelled_by(told)
        if over_wire:
            self._put(BodyEnd(self._body, withheld))
        if end is not None:
            self._put(lambda: end)
        if withheld or not over_wire:
            told = self._taps.secrets.out_of(told)
        else:  # a failure without an end isn't one of the connection
            told = [e for e in told if type(e) is Retrying or (type(e) is Failed and end is None)]
        for event in told:
            self._reply_event(event)

    def _reply_event(self, event: StreamEvent) -> None:
        data = event.to_dict()
        if isinstance(event, Retrying):
            del data["type"]
            self._record("retrying", **data)
        else:
            self._record("reply_event", event=data)

    def _record(self, kind: str, **more: Any) -> None:
        record = self._taps.record(kind, step=self._step, **more)
        self._put(lambda: record)


def _events(
    provider: Provider | StreamingProvider, request: ModelRequest, cancel: CancelToken
) -> Generator[StreamEvent, None, None]:
    """A generator in any case, so that it can be closed."""
    if isinstance(provider, StreamingProvider):
        yield from provider.stream(request, cancel)
    else:
        yield Completed(provider.generate(request, cancel))


def _plain(decision: Decision) -> dict[str, Any]:
    end = decision.end
    reason = {"allowed": decision.allowed, "reason": decision.reason}
    return reason if end is None else {**reason, "end": end.value}


def _output(result: str | ToolOutput) -> dict[str, Any]:
    if not isinstance(result, ToolOutput):
        return {"content": str(result), "is_error": False}
    return {"content": result.content, "is_error": result.is_error, "details": result.details}
