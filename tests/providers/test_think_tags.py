"""Think tags: split off only where they are known to be tags, wherever the pieces are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.events import ReasoningDelta, TextDelta
from claw.messages import Message, ReasoningBlock, TextBlock, ToolCall
from claw.providers.chat_assembler import ChatAssembler
from claw.providers.reply import ReplyReader
from claw.providers.think_tags import ThinkTags
from tests.support.chat import DONE, STOP, body, call, chunk, message_of, text


def split(*pieces: str, opened: bool = False) -> tuple[str, str]:
    """(thinking, answer) of a whole reply that comes in these pieces."""
    tags = ThinkTags(opened=opened)
    parts = [*map(tags.feed, pieces), tags.flush()]
    return "".join(thinking for thinking, _ in parts), "".join(answer for _, answer in parts)


@pytest.mark.parametrize(
    ("reply", "thinking", "answer"),
    [
        ("<think>\nWell.\n</think>\n\nYes.", "Well.\n", "Yes."),
        (" \n<think>Well.</think>Yes.", "Well.", "Yes."),
        ("<think>\n\n</think>\n\nYes.", "", "Yes."),
        ("<think>a < b </ think></think> <b>", "a < b </ think>", "<b>"),
        ("<think>never ended </thin", "never ended </thin", ""),
        ("No thinking. <think>x</think>", "", "No thinking. <think>x</think>"),
        ("\n  An answer", "", "\n  An answer"),
        ("<thinker>", "", "<thinker>"),
        ("<thin", "", "<thin"),
        ("  ", "", "  "),
        ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ("", "", ""),
    ],
)
def test_the_first_pair_at_the_beginning_counts(reply: str, thinking: str, answer: str) -> None:
    assert split(reply) == (thinking, answer)
    assert split(*reply) == (thinking, answer)


@pytest.mark.parametrize("reply", ["Well.</think>\nYes.", "<think>\nWell.</think>\nYes."])
def test_a_reply_that_begins_within_the_tag(reply: str) -> None:
    assert split(*reply, opened=True) == split(reply, opened=True) == ("Well.", "Yes.")
    assert split("<th", opened=True) == ("<th", "")


PIECE = st.sampled_from(
    ["<think>", "</think>", "<", "</", "th", "ink>", ">", " ", "\n", "a", "ä", "\ud83d"]
)


@given(st.lists(PIECE, max_size=12), st.data(), st.booleans())
def test_cuts_make_no_difference(pieces: list[str], data: st.DataObject, opened: bool) -> None:
    reply = "".join(pieces)
    places = data.draw(st.lists(st.integers(0, len(reply)), max_size=8).map(sorted))
    cut = [reply[a:b] for a, b in zip([0, *places], [*places, len(reply)], strict=True)]
    assert split(*cut, opened=opened) == split(reply, opened=opened)


@given(st.text(alphabet="<think>/ \nab", max_size=40))
def test_nothing_of_a_reply_is_lost_but_tags_and_blanks(reply: str) -> None:
    opened = reply.replace("<think>", "", 1)
    possible = [reply, opened, opened.replace("</think>", "", 1)]
    assert without_blanks("".join(split(*reply))) in map(without_blanks, possible)


def without_blanks(words: str) -> str:
    return "".join(words.split())


def folded(*payloads: object, tags: ThinkTags | None) -> tuple[Message, str, str]:
    """(message, the text shown, the thinking shown) of a stream of Chat Completions."""
    reader = ReplyReader(ChatAssembler(tags))
    deltas = reader.feed(body(*payloads, DONE))
    shown = "".join(d.text for d in deltas if isinstance(d, TextDelta))
    thought = "".join(d.text for d in deltas if isinstance(d, ReasoningDelta))
    return reader.finish(), shown, thought


def test_in_a_stream_thinking_and_answer_are_told_apart() -> None:
    pieces = ["<th", "ink>So ", "it is.", "</th", "ink>\n", "\nYes", ", it ", "is."]
    message, shown, thought = folded(*map(text, pieces), STOP, tags=ThinkTags())
    assert message.blocks == (ReasoningBlock("So it is."), TextBlock("Yes, it is."))
    assert (shown, thought) == ("Yes, it is.", "So it is.")


def test_what_waited_is_shown_with_the_finish_reason() -> None:
    message, shown, _ = folded(text(" <th"), STOP, tags=ThinkTags())
    assert message.text == shown == " <th"


def test_a_call_may_follow_the_thinking() -> None:
    asked = call(index=0, id="c1", name="ls", arguments="{}")
    message, shown, thought = folded(
        text("<think>List it."), text("</think>"), asked, chunk({}, "tool_calls"), tags=ThinkTags()
    )
    assert message.blocks == (ReasoningBlock("List it."), ToolCall("c1", "ls"))
    assert (shown, thought) == ("", "List it.")


def test_without_the_quirk_tags_are_text() -> None:
    assert message_of(text("<think>x</think>y"), STOP).text == "<think>x</think>y"
