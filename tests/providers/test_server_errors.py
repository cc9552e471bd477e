"""What servers' errors say, in every shape and wording."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.providers.server_errors import ServerFault, is_error, read_error, read_error_text

TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 10061.",
    "prompt has 9000 tokens, maximum context length is 8192",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "Input is too long for requested model.",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "request (6030 tokens) exceeds the available context size (2048 tokens), try increasing it",
    "the request exceeds the available context size. try increasing the context size",
    "the input length exceeds the context length",
    "litellm.ContextWindowExceededError: litellm.BadRequestError: context window exceeded",
    "The number of tokens to keep is greater than the context length",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "Invalid request: Your request exceeded model token limit: 262144",
    "Please reduce the length of the messages or completion.",
]
NOT_TOO_LONG = [
    "Invalid value for 'temperature': must be at most 2.",
    "You exceeded your current quota, please check your plan and billing details.",
    "Rate limit reached: 10000 tokens per minute",
    "max_tokens is too large: this model supports at most 4096 completion tokens",
    "context deadline exceeded",
    "Loading model",
]


@pytest.mark.parametrize("words", TOO_LONG)
def test_a_prompt_that_is_too_long_is_recognised(words: str) -> None:
    for shape in (words, {"error": words}, {"error": {"message": words}}, {"detail": words}):
        fault = read_error(shape)
        assert (fault.context_overflow, fault.lasting, fault.words) == (True, True, words)


@pytest.mark.parametrize("words", NOT_TOO_LONG)
def test_other_errors_are_not_taken_for_it(words: str) -> None:
    assert not read_error({"error": {"message": words}}).context_overflow


@pytest.mark.parametrize("code", ["context_length_exceeded", "exceed_context_size_error"])
@pytest.mark.parametrize("key", ["code", "type"])
def test_the_name_alone_tells_it_too(code: str, key: str) -> None:
    assert read_error({"error": {"message": "no", key: code}}).context_overflow


@pytest.mark.parametrize(
    ("error", "lasting"),
    [
        ({"type": "invalid_request_error"}, True),
        ({"type": "authentication_error"}, True),
        ({"type": "permission_error"}, True),
        ({"type": "not_found_error"}, True),
        ({"error_type": "BadRequestError"}, True),
        ({"status": "INVALID_ARGUMENT"}, True),
        ({"type": "insufficient_quota"}, True),
        ({"code": "insufficient_quota", "type": "x"}, True),
        ({"code": 400}, True),
        ({"code": "404"}, True),
        ({"code": 402, "message": "Insufficient credits"}, True),
        ({"code": 408}, False),
        ({"code": 409}, False),
        ({"code": 429}, False),
        ({"code": "429", "type": "throttling_error"}, False),
        ({"code": 502, "metadata": {"error_type": "provider_unavailable"}}, False),
        ({"code": 502, "metadata": {"error_type": "invalid_request"}}, True),
        ({"type": "overloaded_error"}, False),
        ({"type": "server_error", "code": 500}, False),
        ({"code": 4000}, False),
        ({}, False),
    ],
)
def test_type_and_code_tell_whether_the_same_request_would_fail_again(
    error: dict[str, Any], lasting: bool
) -> None:
    fault = read_error({"error": error})
    assert fault.lasting is lasting
    assert fault.to_error().retryable is not lasting


def test_a_used_up_quota_is_told_from_a_rate_limit() -> None:
    assert read_error({"error": {"code": "insufficient_quota", "message": "x"}}).quota
    assert not read_error({"error": {"code": "rate_limit_exceeded", "message": "quota"}}).quota


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error":{"message":"boom"}}', "boom"),
        ('{"error":"boom"}', "boom"),
        ('[{"error":{"message":"boom"}}]', "boom"),
        ('{"detail":"boom"}', "boom"),
        ('{"detail":[{"msg":"boom"}]}', "boom"),
        ('{"message":"boom"}', "boom"),
        ('{"error":{"type":"boom"}}', "boom"),
        ('{"error":{"message":"Oh","metadata":{"raw":"boom"}}}', "Oh: boom"),
        ('{"error":{"message":"","code":"boom"}}', "boom"),
        ('{"error":{"odd":5}}', '{"odd": 5}'),
        ('{"error":{}}', ""),
        ("boom\n  twice", "boom twice"),
        ('"boom"', "boom"),
        ("", ""),
        ("<html><title>502 Bad\nGateway</title>" + "x" * 9000, "an HTML page: 502 Bad Gateway"),
        ("\ufeff<p>" + "x" * 9000, "an HTML page"),
        ("\x1b[31mboom\u202e", "\ufffd[31mboom\ufffd"),
        ("x" * 9000, "x" * 500 + "..."),
    ],
)  # fmt: skip
def test_the_words_are_found_and_made_fit_for_one_line(body: str, words: str) -> None:
    assert read_error_text(body).words == words


@pytest.mark.parametrize(
    ("payload", "wanted"),
    [
        ({"error": {}}, True),
        ({"error": "", "choices": []}, True),
        ({"error": {"code": 1}, "choices": [{}]}, True),
        *(({"error": empty, "choices": [{}]}, False) for empty in ("", {}, [], False, 0, None)),
        ({"error": False}, False),
        ({"error": "x"}, True),
        ({"object": "error"}, True),
        ({"type": "error"}, True),
        ({"error_message": "x"}, True),
        ({"error": None, "error_message": None, "object": "chat.completion.chunk"}, False),
        ({}, False),
    ],
)
def test_which_objects_are_errors(payload: dict[str, Any], wanted: bool) -> None:
    assert is_error(payload) is wanted


def test_the_error_names_the_server_as_the_one_at_fault_and_says_what_it_said() -> None:
    fault = ServerFault("worker crashed", type="server_error", code="500")
    assert fault.to_error().message == (
        "the server reported an error: worker crashed (server_error, 500)"
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "type", "code", "metadata", "raw", "detail", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(VALUES)
def test_any_json_can_be_read(value: Any) -> None:
    fault = read_error(value)
    assert len(fault.words) <= 503
    assert fault.words.isprintable()
    fault.words.encode()
    assert read_error_text(json.dumps(value)).lasting is fault.lasting


@pytest.mark.parametrize(
    "words",
    [
        "Your credit balance is too low to access the Anthropic API.",
        "Insufficient Balance",
        "You exceeded your current quota, please check your plan and billing details.",
    ],
)
def test_an_account_without_money_is_known_by_its_words_too(words: str) -> None:
    fault = read_error({"error": {"type": "invalid_request_error", "message": words}})
    assert fault.quota
    assert not fault.context_overflow
