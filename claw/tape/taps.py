"""RunTaps: taps on whatever comes into a run from outside: replies, calls, answers, words."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from itertools import count
from typing import Any

from claw.approval import Approver, Decision
from claw.cancel import CancelToken
from claw.engine.work import BoundedText
from claw.errors import Cancelled, ClawError, ProviderError, ToolError
from claw.events import Completed, Failed, Retrying, StreamEvent
from claw.messages import ToolCall
from claw.providers.base import ModelRequest, Provider, StreamingProvider
from claw.providers.tap import Sent
from claw.store.records import Record
from claw.tape.format import HEADERS
from claw.tape.writer import TapeWriter
from claw.tools.base import Arguments, RunFunction, Tool, ToolContext, ToolOutput


class RunTaps:
    """The taps of one run. over: it has ended, and what still comes isn't part of it."""

    def __init__(self, writer: TapeWriter, run: int) -> None:
        self.over = False
        self.writer = writer
        self._run = run
        self._steps = count(1)

    def record(self, kind: str, **more: Any) -> Record:
        """The beginning of every record: type, run, at."""
        return {"type": kind, "run": self._run, "at": round(self.writer.now(), 4), **more}

    def put(self, record: Record) -> None:
        if not self.over:
            self.writer.put(lambda: record)

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
            shown, began, call_id = BoundedText(), self.writer.now(), context.call.id
            self.put(self.record("call_started", id=call_id, name=context.call.name))

            def tell(**outcome: Any) -> None:
                seconds = round(self.writer.now() - began, 4)
                late, text = context.cancel.cancelled, shown.take()[0]
                ended = {"id": call_id, "seconds": seconds, "cancelled": late, "shown": text}
                self.put(self.record("call", **ended, **outcome))

            def output(text: str) -> None:
                shown.add(text)
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
        try:
            with closing(_events(self._provider, replace(request, tap=tap), cancel)) as events:
                for event in events:
                    if type(event) is Retrying:
                        tap.on_retrying(event)
                    elif not tap.used:
                        tap.on_reply_event(event)
                    yield event
        except Cancelled:
            raise
        except ClawError as error:
            tap.on_reply_event(Failed(error))
            raise
        except Exception as error:
            words = f"{type(self._provider).__name__} raised {type(error).__name__}: {error}"
            failure = ProviderError(f"{words} (a fault of the provider's code)")
            tap.on_reply_event(Failed(failure))
            raise failure from error


class WireTap:
    """A Tap that puts the exchanges of one request on the tape. used: there was one."""

    def __init__(self, taps: RunTaps, run: int, step: int) -> None:
        self.used = False
        self._taps = taps
        self._writer = taps.writer
        self._step = step
        self._body = run, step
        self._open = False

    def on_request(self, sent: Sent) -> None:
        self.used = self._open = True
        self._put(
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
        self._put("answer", status=status, headers=kept)

    def on_piece(self, data: bytes) -> None:
        if self._open:
            self._writer.put_wire((self._body, self._writer.now(), data))

    def on_end(self, error: ClawError | None) -> None:
        if self._open:
            self._open = False
            self._writer.put_wire((self._body, self._writer.now(), None))
            self._put("end", error=None if error is None else error.to_dict())

    def on_retrying(self, event: Retrying) -> None:
        self._put("retrying", **_without(event.to_dict(), "type"))

    def on_reply_event(self, event: StreamEvent) -> None:
        self._put("reply_event", event=event.to_dict())

    def _put(self, kind: str, **more: Any) -> None:
        record = self._taps.record(kind, step=self._step, **more)
        self._writer.put_wire(lambda: record)


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


def _without(data: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != name}
