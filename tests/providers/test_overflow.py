"""How many tokens a server takes, in the words of its refusal."""

from __future__ import annotations

from typing import Any

import pytest

from claw.errors import ClawError, ContextLengthError
from claw.providers.endpoint import Clocks, Endpoint
from claw.providers.error_table import bad_status
from claw.providers.server_errors import read_error

NAMED = [
    (
        "This model's maximum context length is 8192 tokens. However, you requested 10061 tokens "
        "(9061 in the messages, 1000 in the completion).",
        8192,
    ),
    ("prompt has 9000 tokens, maximum context length is 8192", 8192),
    (
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        32768,
    ),
    ("This model's maximum prompt length is 131072 but the request has 537812 tokens.", 131072),
    ("The decoder prompt (length 17772) is longer than the maximum model length of 16384.", 16384),
    ("prompt is too long: 213462 tokens > 200000 maximum", 200000),
    ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 200000),
    (
        "request (6030 tokens) exceeds the available context size (2048 tokens), try increasing it",
        2048,
    ),
    ("Requested tokens (2285) exceed context window of 2048", 2048),
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens, exceeds the context length",
        4096,
    ),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 5000>= n_ctx: 4096)",
        4096,
    ),
    (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        1048576,
    ),
    ("Invalid request: Your request exceeded model token limit: 262144", 262144),
    ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 and 200", 4096),
    ("This model's maximum context length is 200,000 tokens, you sent 210,000", 200000),
]
UNNAMED = [
    "Input is too long for requested model.",
    "Please reduce the length of the messages or completion.",
    "the input length exceeds the context length",
    "Your input exceeds the context window of this model. Please adjust your input.",
    "the request exceeds the available context size. try increasing the context size",
]


@pytest.mark.parametrize(("words", "limit"), NAMED)
def test_a_limit_that_is_named_is_known(words: str, limit: int) -> None:
    fault = read_error({"error": {"message": words}})
    assert (fault.context_overflow, fault.context_limit) == (True, limit)
    assert fault.to_error().context_limit == limit


@pytest.mark.parametrize("words", UNNAMED)
def test_where_none_is_named_none_is_made_up(words: str) -> None:
    fault = read_error({"error": {"message": words}})
    assert (fault.context_overflow, fault.context_limit) == (True, None)


def test_llama_cpps_field_counts() -> None:
    error = {
        "code": 400,
        "message": "the request exceeds the available context size. try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 14429,
        "n_ctx": 8192,
    }
    assert read_error({"error": error}).context_limit == 8192


@pytest.mark.parametrize("n_ctx", [True, 12, "8192", None])
def test_a_field_that_is_no_limit_does_not(n_ctx: Any) -> None:
    error = {"message": "no", "type": "exceed_context_size_error", "n_ctx": n_ctx}
    assert read_error({"error": error}).context_limit is None


def test_other_errors_have_no_limit() -> None:
    words = "max_tokens is too large: this model supports at most 4096 completion tokens"
    assert read_error({"error": {"message": words}}).context_limit is None


def test_the_error_carries_it_and_round_trips() -> None:
    endpoint = Endpoint(
        url="http://127.0.0.1:1/v1",
        headers={},
        secrets=(),
        key=None,
        clocks=Clocks(1, 1, 1),
        verify=True,
        proxies=None,
    )
    body = '{"error": {"message": "prompt is too long: 213462 tokens > 200000 maximum"}}'
    error = bad_status(400, {}, body, endpoint)
    assert isinstance(error, ContextLengthError)
    assert error.context_limit == 200000
    assert ClawError.from_dict(error.to_dict()) == error
