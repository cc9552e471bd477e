"""Token counts: what was put into a server's cache is told apart where the server tells it."""

from __future__ import annotations

from typing import Any

import pytest

from claw.messages import Usage
from claw.providers.usage import chat_usage, messages_usage


@pytest.mark.parametrize(
    ("details", "written"),
    [
        ({"cached_tokens": 60, "cache_write_tokens": 30}, 30),
        ({"cached_tokens": 60}, 0),
        ({"cached_tokens": 60, "cache_write_tokens": None}, 0),
        ({"cached_tokens": 60, "cache_write_tokens": -1}, 0),
    ],
)
def test_what_a_chat_server_wrote_into_its_cache(details: dict[str, Any], written: int) -> None:
    counts = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": details}
    assert chat_usage(counts) == Usage(100, 7, 60, cache_write_tokens=written)


def test_messages_counts_the_three_parts_of_a_prompt_apart() -> None:
    counts = {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}
    assert messages_usage(counts) == Usage(100, 0, 60, cache_write_tokens=30)


def test_written_tokens_are_told_only_where_there_are_some() -> None:
    plain, writing = Usage(100, 7, 60, 3), Usage(100, 7, 60, 3, 30)
    assert "cache_write_tokens" not in plain.to_dict()
    assert writing.to_dict()["cache_write_tokens"] == 30
    for usage in (plain, writing):
        assert Usage.from_dict(usage.to_dict()) == usage
    assert plain + writing == Usage(200, 14, 120, 6, 30)
