"""A refusal that names what the server doesn't take: mended once, told, and remembered."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest

from claw import Engine, Reporter, Session
from claw.errors import AuthError, ContextLengthError, HTTPStatusError
from claw.events import Completed, Failed, Retrying, StreamEvent
from claw.providers.manner import Manner, Remedy
from claw.providers.mending import remedies_for
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


def remedy_for(error: HTTPStatusError, manner: Manner) -> Remedy | None:
    """The likeliest."""
    return next(remedies_for(error, manner), None)


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


LIMITS = [
    "max_tokens is too large: 99999. This model supports at most 8192 completion tokens, whereas "
    "you provided 99999.",  # OpenAI, twice
    "Invalid 'max_completion_tokens': integer above maximum value. Expected a value <= 8192, but "
    "got 99999 instead.",
    "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for m",
    "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`",  # Groq
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",  # DeepSeek
    "Range of max_tokens should be [1, 8192]",  # Qwen
    "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum "
    "tokens value that is lower than 8192.",  # Bedrock
    "it has a maxOutputTokens value of 99999 but the supported range is from 1 (inclusive) to 8193 "
    "(exclusive)",  # Gemini
    [
        {
            "type": "less_than_equal",
            "loc": ["body", "max_tokens"],
            "input": 99999,
            "msg": "Input should be less than or equal to 8192",
        }
    ],
]


@pytest.mark.parametrize("body", LIMITS)
def test_the_limit_that_a_server_names_is_taken(body: Any) -> None:
    remedy = remedy_for(refusal(body), Manner())
    assert remedy is not None
    assert remedy.words == "with at most 8,192 tokens a reply"
    assert Manner().mended(remedy).quirks.output_limit == 8192


def test_a_server_that_names_ever_lower_limits_is_not_followed_for_ever() -> None:
    manner, asked = Manner(), 0
    for limit in range(8192, 0, -1):
        words = f"max_tokens is too large. This model supports at most {limit} tokens"
        if remedy := remedy_for(refusal(words), manner):
            manner, asked = manner.mended(remedy), asked + 1
    assert asked <= 14


@pytest.mark.parametrize(
    "error",
    [
        refusal("max_tokens is too large"),
        refusal("the supported range of max_tokens is from 1 (inclusive) to 1 (exclusive)"),
        refusal("max_tokens must be greater than thinking.budget_tokens"),
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


def test_a_limit_among_the_params_gets_its_other_name_too() -> None:
    manner = Manner(params={"max_tokens": 5})
    words = unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
    remedy = remedy_for(refusal(words), manner)
    assert remedy is not None
    assert manner.mended(remedy).params == {"max_completion_tokens": 5}


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


@pytest.mark.parametrize(
    ("params", "words", "name"),
    [
        (
            {"max_tokens": 5},
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'.",
            "max_tokens",
        ),
        ({"temperature": 0.2}, "unknown field 'tools'; temperature not supported", "temperature"),
    ],
)
def test_a_remedy_that_would_change_nothing_leaves_room_for_the_next(
    params: dict[str, Any], words: str, name: str
) -> None:
    def behave(peer: Peer, request: Request) -> None:
        if name in request.body:
            peer.error(400, words)
        else:
            reply("Hello")(peer, request)

    with serve(behave) as server:
        events = ask(OpenAIChat("m", base_url=server.url, params=params))
    assert isinstance(events[-1], Completed)
    assert len(remedies(events)) == 1


def test_a_server_that_refuses_either_name_of_the_limit_is_not_asked_for_ever() -> None:
    def refuse(peer: Peer, request: Request) -> None:
        name = "max_completion_tokens" if "max_completion_tokens" in request.body else "max_tokens"
        peer.error(400, f"Unsupported parameter: '{name}'")

    with serve(refuse) as server:
        provider = OpenAIChat("m", base_url=server.url, params={"max_tokens": 5}, max_retries=0)
        assert isinstance(ask(provider)[-1], Failed)
        assert len(server.requests) <= 5


def test_it_is_mended_told_and_remembered() -> None:
    with serve(refuses("stream_options", "temperature")) as server:
        provider = OpenAIChat("m", base_url=server.url, params={"temperature": 0.5, "seed": 1})
        first, second = ask(provider), ask(provider)
        copy = pickle.loads(pickle.dumps(provider))
        third = ask(copy)
        provider.close()
        copy.close()
    assert remedies(first) == [
        "without stream_options from now on",
        "without temperature from now on",
    ]
    assert [e.wait_s for e in first if isinstance(e, Retrying)] == [0.0, 0.0]
    assert remedies(second) == remedies(third) == []
    assert all(isinstance(events[-1], Completed) for events in (first, second, third))
    assert len(server.requests) == 5
    assert server.requests[-1].body["seed"] == 1
    assert provider.quirks.stream_options is False


class Notices(Reporter):
    def __init__(self) -> None:
        self.told: list[str] = []

    def on_notice(self, text: str) -> None:
        self.told.append(text)


def test_one_line_tells_what_was_refused_and_what_claw_does_about_it() -> None:
    notices = Notices()
    with serve(refuses("stream_options")) as server:
        provider = OpenAIChat("m", base_url=server.url)
        Engine(provider, reporter=notices).run(Session(), "go")
        provider.close()
    assert notices.told == [
        f"127.0.0.1:{server.port} answered 400: Unrecognized request argument supplied: "
        "stream_options; trying again without stream_options from now on"
    ]


def refuses_more_than(limit: int) -> Behaviour:
    def behave(peer: Peer, request: Request) -> None:
        asked = request.body.get("max_tokens", 0)
        if asked > limit:
            peer.error(400, f"max_tokens: {asked} > {limit}, which is the maximum allowed")
        else:
            reply("Hello")(peer, request)

    return behave


@pytest.mark.parametrize("params", [{}, {"max_tokens": 50_000}])
def test_the_limit_holds_for_all_that_is_asked_later(params: dict[str, Any]) -> None:
    asked = [90_000, 80_000, 100]
    with serve(refuses_more_than(4096)) as server:
        provider = OpenAIChat("m", base_url=server.url, params=params)
        events = [ask(provider, max_tokens=each) for each in asked]
        provider.close()
    assert all(isinstance(each[-1], Completed) for each in events)
    assert [remedies(each) for each in events[:2]] == [
        ["with at most 4,096 tokens a reply from now on"],
        [],
    ]
    limits = [request.body["max_tokens"] for request in server.requests]
    first = params.get("max_tokens", 90_000)
    assert limits == [first, 4096, 4096, 4096 if params else 100]


def test_a_limit_that_no_number_is_named_for_points_to_the_option() -> None:
    with serve(status(400, "max_tokens is too large for this model")) as server:
        provider = OpenAIChat("m", base_url=server.url)
        (failed,) = ask(provider, max_tokens=90_000)
        provider.close()
    assert isinstance(failed, Failed)
    assert failed.error.message.endswith("Ask for shorter replies: --max-output-tokens.")


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
    assert remedies(events) == ["without stream_options from now on"]
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
    assert remedies(events) == ["without tools: the model can only talk from now on"]
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
