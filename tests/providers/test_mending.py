"""A refusal that names what the server doesn't take: mended once, told, and remembered."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest

from claw.errors import AuthError, ContextLengthError, HTTPStatusError
from claw.events import Completed, Failed, Retrying, StreamEvent
from claw.providers.manner import Manner
from claw.providers.mending import remedy_for
from claw.providers.openai_chat import OpenAIChat
from claw.providers.quirks import Quirks
from claw.tools.base import tool
from tests.support.asking import Asking, ask
from tests.support.peer import Peer, Request
from tests.support.server import Behaviour, reply, serve, status

ALL_SENT = Manner(
    Quirks(parallel_calls=False),
    {"temperature": 0.2, "reasoning_effort": "none", "thinking": {"budget_tokens": 9000}},
)


def refusal(body: Any, code: int = 400) -> HTTPStatusError:
    text = body if isinstance(body, str) else json.dumps({"error": body})
    return HTTPStatusError("the server said no", status=code, body=text)


def unsupported(name: str, words: str = "") -> dict[str, Any]:
    """As OpenAI says it."""
    said = f"Unsupported parameter: '{name}' is not supported with this model.{words}"
    return {"message": said, "param": name, "code": "unsupported_parameter"}


def extra(name: str, value: Any) -> list[dict[str, Any]]:
    """As servers that check with pydantic say it."""
    return [
        {
            "type": "extra_forbidden",
            "loc": ["body", name],
            "msg": "Extra inputs are not permitted",
            "input": value,
        }
    ]


REFUSALS = [
    (
        400,
        unsupported("max_tokens", " Use 'max_completion_tokens' instead."),
        "with max_completion_tokens in place of max_tokens",
    ),
    (400, "Unrecognized request argument supplied: stream_options", "without stream_options"),
    (422, extra("stream_options", {"include_usage": True}), "without stream_options"),
    (400, unsupported("parallel_tool_calls"), "without parallel_tool_calls"),
    (
        400,
        'Invalid JSON payload received. Unknown name "parallel_tool_calls": Cannot find field.',
        "without parallel_tool_calls",
    ),
    (400, "tool_choice.disable_parallel_tool_use is not permitted", "without parallel_tool_calls"),
    (400, "registry.test/library/gemma3:4b does not support tools", "without tools"),
    (404, "No endpoints found that support tool use.", "without tools"),
    (500, "tools param requires --jinja flag", "without tools"),
    (500, "Unsupported param: tools", "without tools"),
    (422, extra("tools", []), "without tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice to be set', "without tools"),
    (400, "function calling is not supported by this model", "without tools"),
    (
        400,
        "Unsupported value: 'temperature' does not support 0.2 with this model.",
        "without temperature",
    ),
    (400, "`temperature` is deprecated for this model.", "without temperature"),
    (
        400,
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model.",
        "without reasoning_effort",
    ),
    (
        400,
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "with the reasoning sent back",
    ),
    (
        400,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "with the reasoning sent back",
    ),
    (
        400,
        "Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
        "without thinking",
    ),
    (400, "Function call is missing a thought_signature in functionCall", "with the signatures"),
    (
        400,
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".',
        "with adaptive thinking",
    ),
]


@pytest.mark.parametrize(("code", "body", "words"), REFUSALS)
def test_what_helps_against_a_refusal(code: int, body: Any, words: str) -> None:
    remedy = remedy_for(refusal(body, code), ALL_SENT)
    assert remedy is not None
    assert remedy.words.startswith(words)
    assert remedy_for(refusal(body, code), ALL_SENT.mended(remedy)) != remedy


def test_reasoning_that_is_refused_is_sent_back_no_more() -> None:
    words = "'messages.1' : property 'reasoning_content' is unsupported"
    remedy = remedy_for(refusal(words), Manner(Quirks(echo_extras=True)))
    assert remedy is not None
    assert not Manner(Quirks(echo_extras=True)).mended(remedy).quirks.echo_extras
    assert remedy_for(refusal(words), Manner()) is None  # it wasn't sent


def test_the_adaptive_effort_is_the_nearest_to_the_budget() -> None:
    remedy = remedy_for(refusal('use "thinking.type.adaptive"'), ALL_SENT)
    assert remedy is not None
    assert ALL_SENT.mended(remedy).params["output_config"] == {"effort": "medium"}


@pytest.mark.parametrize(
    "error",
    [
        refusal("max_tokens is too large: 999999. This model supports at most 16384 tokens"),
        refusal("tools.0.custom.input_schema: Extra inputs are not permitted"),
        refusal("Invalid schema for function 'ls': 'default' is not permitted"),
        refusal("The model `gpt-9` does not exist", 404),
        refusal("Unsupported parameter: 'top_p' is not supported with this model."),  # not sent
        refusal(unsupported("temperature"), 429),
        AuthError("no", status=401, body="Unsupported parameter: temperature"),
        ContextLengthError(
            "no", status=400, body="Unsupported parameter: temperature", context_overflow=True
        ),
    ],
    ids=str,
)
def test_other_refusals_stand(error: HTTPStatusError) -> None:
    assert remedy_for(error, ALL_SENT) is None


def test_two_names_for_the_limit_are_each_tried_once() -> None:
    manner = Manner()
    for name in ("max_tokens", "max_completion_tokens"):
        assert manner.quirks.max_tokens_field == name
        remedy = remedy_for(refusal(unsupported(name)), manner)
        assert remedy is not None
        manner = manner.mended(remedy)
    assert remedy_for(refusal(unsupported("max_tokens")), manner) is None


# --- through a provider -------------------------------------------------------------------------


def refuses(*names: str, before: Callable[[], object] = lambda: None) -> Behaviour:
    """A server that takes none of these fields; it names one at a time."""

    def behave(peer: Peer, request: Request) -> None:
        before()
        for name in names:
            if name in request.body:
                peer.error(400, f"Unrecognized request argument supplied: {name}")
                return
        reply("Hello")(peer, request)

    return behave


def remedies(events: list[StreamEvent]) -> list[str]:
    return [event.remedy for event in events if isinstance(event, Retrying)]


def test_it_is_mended_told_and_remembered() -> None:
    with serve(refuses("stream_options", "temperature")) as server:
        provider = OpenAIChat("m", base_url=server.url, params={"temperature": 0.5, "seed": 1})
        first, second = ask(provider), ask(provider)
        copy = pickle.loads(pickle.dumps(provider))
        third = ask(copy)
        provider.close()
        copy.close()
    assert remedies(first) == ["without stream_options", "without temperature"]
    assert [e.wait_s for e in first if isinstance(e, Retrying)] == [0.0, 0.0]
    assert remedies(second) == remedies(third) == []
    assert all(isinstance(events[-1], Completed) for events in (first, second, third))
    assert len(server.requests) == 5
    assert server.requests[-1].body["seed"] == 1
    assert provider.quirks.stream_options is False


def test_a_mend_is_no_retry() -> None:
    """It is done even where nothing is ever tried again."""
    with serve(refuses("stream_options")) as server:
        provider = OpenAIChat("m", base_url=server.url, max_retries=0)
        assert isinstance(ask(provider)[-1], Completed)
        provider.close()


def test_a_server_that_refuses_what_is_not_sent_gets_its_way_once() -> None:
    with serve(status(400, "Unrecognized request argument supplied: stream_options")) as server:
        provider = OpenAIChat("m", base_url=server.url)
        events = ask(provider)
        provider.close()
    assert remedies(events) == ["without stream_options"]
    assert isinstance(events[-1], Failed)
    assert len(server.requests) == 2


def test_tools_are_left_out_where_the_model_takes_none() -> None:
    @tool
    def look() -> str:
        """Looks."""
        return "seen"

    def behave(peer: Peer, request: Request) -> None:
        if "tools" in request.body:
            peer.error(400, "m does not support tools")
        else:
            reply("Hello")(peer, request)

    with serve(behave) as server:
        provider = OpenAIChat("m", base_url=server.url)
        events = ask(provider, tools=[look])
        provider.close()
    assert remedies(events) == ["without tools: the model can only talk"]
    assert isinstance(events[-1], Completed)


def test_many_threads_learn_it_together() -> None:
    together = Barrier(8)
    waits = [True] * 8

    def meet() -> None:
        if waits:
            waits.pop()
            together.wait(5)

    with serve(refuses("stream_options", "temperature", before=meet)) as server:
        provider = OpenAIChat("m", base_url=server.url, params={"temperature": 0.5})
        asking = [Asking(provider) for _ in range(8)]
        for each in asking:
            each.wait_for_end()
        assert remedies(ask(provider)) == []
        provider.close()
    assert all(isinstance(each.events[-1], Completed) for each in asking)
    assert all(len(remedies(each.events)) <= 2 for each in asking)
    assert len(provider.manner.remedies) == 2
