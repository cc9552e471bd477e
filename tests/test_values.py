"""Messages, events and errors are values: equal by content, picklable, and they round-trip."""

from __future__ import annotations

import json
import pickle
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, field, replace
from inspect import signature

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw import events as ev
from claw.errors import (
    AuthError,
    Cancelled,
    ClawError,
    ConfigError,
    ConnectionLost,
    HTTPStatusError,
    ProviderError,
    RateLimitError,
    ToolError,
)
from claw.events import CallSummary, RunResult, RunStatus, TextDelta, ToolProgress
from claw.messages import (
    Message,
    OpaqueBlock,
    ReasoningBlock,
    StopReason,
    TextBlock,
    ToolCall,
    ToolResult,
    Usage,
)
from claw.values import frozen

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=3)
blocks = st.one_of(
    st.builds(TextBlock, st.text()),
    st.builds(ReasoningBlock, st.text(), json_values),
    st.builds(ToolCall, st.text(), st.text(), json_objects, opaque=json_values),
    st.builds(ToolCall, st.text(), st.text(), error=st.text(), raw=st.text()),
    st.builds(ToolResult, st.text(), st.text(), st.booleans()),
    st.builds(OpaqueBlock, json_objects),
)
counts = st.integers(0, 2**40)
usages = st.builds(Usage, counts, counts, counts, counts)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(blocks, max_size=4).map(tuple),
    st.none() | st.sampled_from(StopReason),
    st.text(),
    st.none() | usages,
    st.text(),
)
errors = st.one_of(
    st.builds(ConfigError, st.text()),
    st.builds(Cancelled, st.text(), reason=st.text()),
    st.builds(ConnectionLost, st.text(), retryable=st.booleans(), retry_after=st.floats(0, 99)),
    st.builds(AuthError, st.text(), status=st.integers(400, 599), body=st.text()),
)


@given(messages)
def test_a_message_survives_json_and_pickle(message: Message) -> None:
    again = Message.from_dict(json.loads(json.dumps(message.to_dict())))
    assert again == message
    assert hash(again) == hash(message)
    message.encodings["a dialect"] = b"{}"
    assert pickle.loads(pickle.dumps(message)) == message
    assert pickle.loads(pickle.dumps(message)).encodings == {}


@given(errors)
def test_an_error_survives_json_and_pickle(error: ClawError) -> None:
    again = ClawError.from_dict(json.loads(json.dumps(error.to_dict())))
    assert again == error
    assert type(again) is type(error)
    assert hash(again) == hash(error)
    assert pickle.loads(pickle.dumps(error)) == error


@given(errors, messages, usages)
def test_a_result_survives_json_and_pickle(
    error: ClawError, message: Message, usage: Usage
) -> None:
    calls = tuple(CallSummary(c.id, c.name, c.arguments, True) for c in message.tool_calls)
    result = RunResult(
        RunStatus.ERROR,
        message.stop_reason,
        text=message.text,
        usage=usage,
        tool_calls=calls,
        error=error,
        duration_s=1.5,
    )
    assert RunResult.from_dict(json.loads(json.dumps(result.to_dict()))) == result
    assert pickle.loads(pickle.dumps(result)) == result


calls = st.builds(ToolCall, st.text(), st.text(), json_objects)
results = st.builds(ToolResult, st.text(), st.text(), st.booleans())
events = st.one_of(
    st.builds(ev.TextDelta, st.text()),
    st.builds(ev.ReasoningDelta, st.text()),
    st.builds(ev.ToolCallStart, counts, st.text(), st.text()),
    st.builds(ev.ToolCallDelta, counts, st.text()),
    st.builds(ev.Retrying, counts, st.floats(0, 99), errors),
    st.builds(ev.Completed, messages),
    st.builds(ev.Failed, errors),
    st.builds(ev.RunStarted, st.text()),
    st.builds(ev.TextComplete, st.text()),
    st.builds(ev.ToolStarted, calls),
    st.builds(ev.ToolProgress, calls, st.text(), counts),
    st.builds(ev.ToolFinished, calls, results, st.floats(0, 9), json_objects),
    st.builds(ev.Notice, st.text()),
    st.builds(ev.StepFinished, st.none() | usages),
    st.builds(lambda error: ev.RunFinished(RunResult(RunStatus.ERROR, error=error)), errors),
)


@given(events)
def test_an_event_survives_json_and_pickle(event: ev.Event) -> None:
    assert ev.Event.from_dict(json.loads(json.dumps(event.to_dict()))) == event
    assert pickle.loads(pickle.dumps(event)) == event


def test_a_subclass_of_the_users_does_not_take_the_place_of_claws_own() -> None:
    class MyToolError(ToolError):
        pass

    assert type(pickle.loads(pickle.dumps(ToolError("x")))) is ToolError
    assert pickle.loads(pickle.dumps(MyToolError("x"))) == ToolError("x")


def test_errors_of_different_kinds_or_words_differ() -> None:
    assert ConfigError("no model") != ConfigError("no key")
    assert ConfigError("no model") != ClawError("no model")
    assert HTTPStatusError("x", status=500) != HTTPStatusError("x", status=502)


def test_an_unknown_kind_of_error_is_still_an_error() -> None:
    assert ClawError.from_dict({"kind": "from the future", "message": "m"}) == ClawError("m")


@pytest.mark.parametrize(
    ("error", "retryable"),
    [(ProviderError("x"), False), (ConnectionLost("x"), True), (AuthError("x", status=401), False)],
)
def test_whether_the_same_request_may_succeed_later(error: ProviderError, retryable: bool) -> None:
    assert error.retryable is retryable


def test_what_a_rate_limit_tells_its_handler() -> None:
    error = RateLimitError("slow down", status=429, retryable=True, retry_after=7)
    assert (error.status, error.retry_after, error.context_overflow) == (429, 7, False)


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


def test_events_say_their_type() -> None:
    call = ToolCall("1", "bash", {"command": "ls"})
    assert TextDelta("hi").to_dict() == {"type": "text_delta", "text": "hi"}
    assert ToolProgress(call, "out", 3).to_dict() == {
        "type": "tool_progress",
        "call": call.to_dict(),
        "text": "out",
        "dropped": 3,
    }


@frozen
class Order:
    """An example that uses all that `@frozen` knows."""

    item: str
    wishes: list[str] = field(default_factory=list, hash=False)
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False, kw_only=True)


def test_a_frozen_value_cannot_be_changed() -> None:
    order = Order("tea")
    for name in ("item", "note", "secret"):
        with pytest.raises(FrozenInstanceError):
            setattr(order, name, "coffee")
        with pytest.raises(FrozenInstanceError):
            delattr(order, name)
    with pytest.raises(AttributeError):
        order.colour = "green"  # type: ignore[attr-defined]
    assert order == Order("tea")


def test_a_frozen_value_is_what_it_holds() -> None:
    order = Order("tea", ["milk"], secret="key")
    assert order == Order("tea", ["milk"], "a note", secret="key")
    assert order != Order("tea", ["milk"])
    assert order != Order("tea", ["sugar"], secret="key")
    assert order != ("tea", ["milk"], "", "key")
    assert hash(order) == hash(Order("tea", ["sugar"], secret="key"))
    assert hash(order) != hash(Order("coffee", ["milk"], secret="key"))
    assert repr(order) == "Order(item='tea', wishes=['milk'], note='')"


def test_a_frozen_value_can_be_copied_pickled_and_replaced() -> None:
    order = Order("tea", ["milk"], "a note", secret="key")
    for again in (copy(order), deepcopy(order), pickle.loads(pickle.dumps(order)), replace(order)):
        assert (again, again.note) == (order, "a note")
        with pytest.raises(FrozenInstanceError):
            again.item = "coffee"  # type: ignore[misc]
    assert replace(order, item="coffee") == Order("coffee", ["milk"], secret="key")


def test_a_frozen_value_is_made_as_its_fields_say() -> None:
    assert str(signature(Order)).startswith("(item: 'str', wishes: 'list[str]' = ")
    assert Order.__match_args__ == ("item", "wishes", "note")
    with pytest.raises(TypeError, match="item"):
        Order()  # type: ignore[call-arg]


def test_a_frozen_value_keeps_the_methods_it_defines() -> None:
    @frozen
    class Named:
        """Says its name."""

        name: str

        def __repr__(self) -> str:
            return self.name

    assert repr(Named("tea")) == "tea"
    assert Named("tea") == Named("tea")
