"""Where a history is cut, and how its results get shorter: no call ever loses its result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claw.engine.context import messages_tokens
from claw.engine.summary import transcript, with_summary
from claw.engine.trimming import (
    DROPPED,
    shortened,
    start_of_last_turns,
    with_short_results,
    within,
    without_counts,
)
from claw.messages import Message, StopReason, TextBlock, ToolCall, ToolResult, Usage
from claw.session import Session, orphan_results, unanswered_calls


def step(name: str, *contents: str) -> list[Message]:
    """A message with calls, and the one that answers them."""
    calls = [ToolCall(f"{name}{n}", "look", {"n": n}) for n in range(len(contents))]
    results = [ToolResult(call.id, content) for call, content in zip(calls, contents, strict=True)]
    return [Message.assistant(*calls), Message.tool(*results)]


def turn(prompt: str, *steps: list[Message]) -> list[Message]:
    answer = Message.assistant(TextBlock("done"))
    return [Message.user(prompt), *(m for each in steps for m in each), answer]


def is_whole(messages: list[Message] | tuple[Message, ...]) -> bool:
    return not unanswered_calls(messages) and not orphan_results(messages)


def test_a_text_keeps_its_beginning_and_its_end() -> None:
    short = shortened("a" * 500 + "b" * 1000 + "c" * 500, 100)
    assert short.startswith("a" * 50)
    assert short.endswith("c" * 50)
    assert "1,900 characters left out" in short
    assert shortened("short", 100) == "short"


def test_whole_turns_stay_where_they_fit() -> None:
    messages = [*turn("one", step("a", "x")), *turn("two", step("b", "x")), *turn("three")]
    start = start_of_last_turns(messages, messages_tokens(messages[4:]))
    assert messages[start].text == "two"
    assert start_of_last_turns(messages, 100_000) == 0


def test_a_long_turn_is_cut_between_two_steps() -> None:
    messages = [Message.user("go"), *step("a", "x" * 4000), *step("b", "x" * 400)]
    assert start_of_last_turns(messages, 200) == 3


def test_the_last_step_stays_however_long_it_is() -> None:
    messages = [Message.user("go"), *step("a", "x"), *step("b", "x" * 40_000)]
    assert start_of_last_turns(messages, 10) == 3
    assert start_of_last_turns([], 10) == 0


def test_an_answer_that_was_paused_is_not_cut() -> None:
    paused = Message("assistant", (TextBlock("half"),), StopReason.PAUSE)
    messages = [Message.user("go"), *step("a", "x"), paused, Message.assistant(TextBlock("rest"))]
    assert start_of_last_turns(messages, 5) == 3


def test_short_results_leave_everything_else_the_same_object() -> None:
    messages = turn("one", step("a", "x" * 5000, "short"), step("b", "y"))
    short = with_short_results(messages, 1000)
    assert [a is b for a, b in zip(messages, short, strict=True)] == [
        index != 2 for index in range(len(messages))
    ]
    assert len(short[2].tool_results[0].content) < 1100
    assert short[2].tool_results[1].content == "short"


def test_the_oldest_results_are_dropped_first_and_the_last_ones_only_shortened() -> None:
    steps = [step(name, "word " * 800) for name in "abcd"]
    messages = [Message.user("go"), *(m for each in steps for m in each)]
    whole = messages_tokens(messages)
    contents = [
        m.tool_results[0].content for m in within(messages, whole - 800) if m.role == "tool"
    ]
    assert [content == DROPPED for content in contents] == [True, False, False, False]
    contents = [m.tool_results[0].content for m in within(messages, 400) if m.role == "tool"]
    assert [content == DROPPED for content in contents] == [True, True, True, False]
    assert contents[-1].startswith("word ")
    assert messages_tokens(within(messages, 400)) <= 400
    assert within(messages, whole) == tuple(messages)


def test_counts_are_taken_away() -> None:
    message = Message("assistant", (TextBlock("a"),), usage=Usage(100, 1))
    prompt = Message.user("q")
    assert without_counts([prompt, message]) == [prompt, Message.assistant(TextBlock("a"))]


def test_a_summary_in_the_middle_of_a_turn_keeps_the_request_in_its_words() -> None:
    messages = [*turn("one"), Message.user("mend it"), *step("a", "x"), *step("b", "y")]
    new = with_summary("all of it", messages[:5], messages[5:], 1000)
    assert [m.role for m in new] == ["user", "user", "assistant", "tool"]
    assert new[0].text.endswith("all of it")
    assert new[1].text == "mend it"
    new = with_summary("all of it", messages[:2], messages[2:], 1000)
    assert [m.text for m in new if m.role == "user"][1:] == ["mend it"]


def test_the_transcript_tells_everything_as_far_as_there_is_room() -> None:
    messages = turn("please", step("a", "begin" + "x" * 20_000 + "end"))
    told = transcript(messages, 100_000)
    assert "x" * 20_000 in told
    assert "[result of look]" in told
    told = transcript(messages, 1_000)
    assert "please" in told
    assert "begin" in told
    assert "end" in told
    assert len(told) < 4_000
    crowd = [Message.user(f"line {n} of many") for n in range(1000)]
    told = transcript(crowd, 500)
    assert told.startswith("[user]\nline 0")
    assert told.endswith("line 999 of many")
    assert len(told) < 4_000


HISTORIES = st.lists(
    st.lists(st.lists(st.integers(0, 3000), max_size=3), max_size=4), min_size=1, max_size=5
)


@given(HISTORIES, st.integers(0, 4000))
def test_no_cut_parts_a_call_from_its_result(sizes: list[list[list[int]]], budget: int) -> None:
    messages: list[Message] = []
    for number, steps in enumerate(sizes):
        made = [
            step(f"{number}-{n}-", *("x" * size for size in each)) for n, each in enumerate(steps)
        ]
        messages += turn(f"turn {number}", *(each for each in made if each[0].tool_calls))
    start = start_of_last_turns(messages, budget)
    assert is_whole(messages[start:])
    new = within(with_summary("s", messages[:start], messages[start:], 100), budget)
    session = Session(messages)
    session.compact(without_counts(new), kept=0)
    assert is_whole(session.messages)
    assert session.notices == []
