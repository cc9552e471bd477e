"""Long conversations and a model with a real window: every next request fits, both invariants
hold, what matters reaches the summary, and a cancel leaves the history as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claw import CancelToken, Engine, MemoryReporter, Message, RunStatus, Session, ToolCall, tool
from claw.approval import allow_all
from claw.engine import compact_now
from claw.engine.context import text_tokens
from claw.engine.summary import INTRODUCTION, SYSTEM
from claw.engine.trimming import DROPPED
from claw.errors import ConnectionLost, ContextLengthError, ProviderError
from claw.events import StepFinished, TextDelta, ToolFinished
from claw.messages import StopReason, TextBlock, ToolResult, Usage
from claw.providers import OpenAIChat
from claw.providers.chat_request import encode_request
from claw.providers.quirks import NO_QUIRKS
from claw.providers.scripted import ScriptedProvider, text_turn
from claw.reporter import Reporter
from claw.session import orphan_results, unanswered_calls
from claw.store import SessionStore
from tests.support.server import Peer, Request, serve, stream
from tests.support.windowed import WindowedModel, only_grows, summary_inputs
from tests.support.wire import text_reply, tool_reply

WINDOW = 8_000
SUMMARY = "## Goal\nthe release\n## Decisions\nnone\n## Files\nnone\n## State\nhalf\n## Next\ngo on"


def chars(divisor: float) -> Callable[[str], int]:
    """A tokenizer of that many characters a token."""
    return lambda text: round(len(text) / divisor)


def looking(steps: int, answer: str = "done") -> Callable[[int], Message]:
    """Looks at a part in each answer, and answers in words after so many."""

    def script(number: int) -> Message:
        if number % (steps + 1) == steps:
            return Message.assistant(TextBlock(answer), stop_reason=StopReason.END_TURN)
        return Message.assistant(ToolCall(f"c{number}", "look", {"part": number}))

    return script


def engine_for(model: WindowedModel, content: Callable[[int], str], **options: Any) -> Engine:
    @tool
    def look(part: int) -> str:
        """Looks at one part."""
        return content(part)

    return Engine(model, tools=[look], approver=allow_all, system="You look at parts.", **options)


def is_whole(session: Session) -> bool:
    return not unanswered_calls(session.messages) and not orphan_results(session.messages)


def history(turns: int, *, result: int = 50, answer: int = 420) -> Session:
    """Turns with one call each; how many words the result and the answer have."""
    session = Session()
    for number in range(turns):
        session.append(Message.user(f"question {number}"))
        session.append(Message.assistant(ToolCall(f"h{number}", "look", {"part": number})))
        session.append(
            Message.tool(ToolResult(f"h{number}", f"fact-{number} " + "stone " * result))
        )
        session.append(Message.assistant(TextBlock(f"answer {number} " + "stone " * answer)))
    return session


# --- three long conversations -------------------------------------------------------------------


def english(part: int) -> str:
    return f"part {part}: port-{part * 7919} is open. " + "The rest of this part is plain. " * 30


def chinese(part: int) -> str:
    return (
        f"第{part}部分：端口-{part * 7919} 已打开。"
        + "其余内容没有特别之处，只是普通的说明文字。" * 25
    )


def huge(part: int) -> str:
    return f"head of part {part}: port-{part * 7919}\n" + "line of a long listing 0x7f\n" * 1100


LONG = {
    "many steps": (english, chars(4), "Find every open port and tell me: the code word is HERON."),
    "chinese": (chinese, chars(0.9), "请找出所有开放的端口并告诉我：暗号是苍鹭 HERON。"),
    "huge results": (huge, chars(3.2), "Find every open port; the code word is HERON."),
}


@pytest.mark.parametrize("counts", [True, False], ids=["counted", "estimated"])
@pytest.mark.parametrize("known", [True, False], ids=["window known", "window learned"])
@pytest.mark.parametrize("name", LONG)
def test_a_long_conversation_goes_on_and_on(name: str, known: bool, counts: bool) -> None:
    content, tokens, prompt = LONG[name]
    model = WindowedModel(16_000, looking(40), tokens=tokens, counts=counts, summary=SUMMARY)
    engine = engine_for(model, content, context_window=16_000 if known else None)
    session, memory = Session(), MemoryReporter()
    for number in range(3):
        said = f"{prompt} Round {number}."
        result = engine.run(session, said, reporter=memory)
        assert (result.status, result.steps) == (RunStatus.COMPLETED, 41)
        assert is_whole(session)
    assert len(model.asked) == 3 * 41  # each was let in: a longer one is refused
    assert engine.context_window == 16_000
    assert model.refused <= (0 if known and counts else 5)
    assert model.summaries
    first = model.summaries[0].messages[0].text
    assert "HERON" in first
    assert "-7919" in first
    assert memory.text == ""  # nothing of a summary is shown as an answer
    assert any(line.endswith("messages into a summary") for line in memory.notices)


def test_what_an_earlier_summary_says_is_in_the_next_one() -> None:
    summary = f"{SUMMARY}\nthe code word is HERON"
    model = WindowedModel(WINDOW, looking(60), tokens=chars(4), summary=summary)
    engine = engine_for(model, english, context_window=WINDOW, max_steps=100)
    engine.run(Session(), "Look at everything.")
    assert len(model.summaries) > 1
    for request in model.summaries[1:]:
        assert "the code word is HERON" in request.messages[0].text
        assert "Look at everything." in request.messages[0].text


def test_the_request_that_is_worked_on_stays_in_the_users_words() -> None:
    model = WindowedModel(WINDOW, looking(60), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=WINDOW, max_steps=100)
    engine.run(Session(), "Look at everything, and count the herons.")
    for request in model.asked:
        users = [message.text for message in request.messages if message.role == "user"]
        assert users[-1] == "Look at everything, and count the herons."
        assert len(users) <= 2  # a summary of a summary takes its place


# --- what stays the same ------------------------------------------------------------------------


def test_between_compactions_the_requests_only_grow() -> None:
    model = WindowedModel(WINDOW, looking(60), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=WINDOW, max_steps=100)
    memory = MemoryReporter()
    engine.run(Session(), "Look at everything.", reporter=memory)
    changes = only_grows(model.asked).count(False)
    done = [line for line in memory.notices if "tokens became" in line]
    assert changes == len(done) > 1
    bodies = [encode_request(request, "m", {}, NO_QUIRKS) for request in model.asked]
    fronts = {body.partition(b'{"role":"user"')[0] for body in bodies}
    assert len(fronts) == 1  # system and tools, byte by byte


def test_a_short_conversation_is_left_alone() -> None:
    model = WindowedModel(WINDOW, looking(3), tokens=chars(4))
    session, memory = Session(), MemoryReporter()
    engine_for(model, english, context_window=WINDOW).run(session, "go", reporter=memory)
    assert memory.notices == []
    assert not model.summaries
    assert all(only_grows(model.asked))


def test_the_last_turns_stay_as_they_are() -> None:
    session = history(12)
    last = session.messages[-4:]
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4), summary=SUMMARY)
    engine_for(model, english, context_window=WINDOW).run(session, "and now?")
    assert session.messages[-6:-2] == last
    assert session.messages[0].text.startswith(INTRODUCTION)
    assert [message.text for message in session.messages[-2:]] == ["and now?", "done"]


def test_where_shorter_results_are_enough_no_summary_is_asked_for() -> None:
    session = history(4, result=1_250, answer=1)  # its results are nearly all of it
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4))
    memory = MemoryReporter()
    engine = engine_for(model, english, context_window=WINDOW)
    engine.run(session, "and now?", reporter=memory)
    assert not model.summaries
    assert memory.notices[0].startswith("old tool results were shortened: about ")
    first = session.messages[2].tool_results[0].content
    assert first.startswith("fact-0 ")
    assert "characters left out to save room" in first
    assert [m.text for m in session.messages if m.role == "user"][:2] == [
        "question 0",
        "question 1",
    ]


def test_counts_of_the_longer_prompt_are_forgotten() -> None:
    """Else the next step would take the conversation for as long as it was."""
    session = history(12)
    session.rewind(47)
    session.append(Message("assistant", (TextBlock("answer"),), usage=Usage(7_900, 10)))
    model = WindowedModel(WINDOW, looking(2), tokens=chars(4), counts=False, summary=SUMMARY)
    engine_for(model, english, context_window=WINDOW).run(session, "go on")
    assert len(model.summaries) == 1
    assert all(message.usage is None for message in session.messages)


def test_a_compacted_session_is_the_same_when_it_is_opened_again(tmp_path: Path) -> None:
    model = WindowedModel(WINDOW, looking(60), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=WINDOW, max_steps=100)
    store = SessionStore(tmp_path)
    with store.new(tmp_path, "m") as session:
        engine.run(session, "Look at everything.")
        messages = session.messages
    written = len(model.summaries)
    assert written > 1
    with store.open(session.id or "") as session:
        assert session.messages == messages
        model.script = lambda number: Message.assistant(TextBlock("yes"))
        assert engine.run(session, "Is it all there?").text == "yes"
        assert len(model.summaries) == written


# --- the summary request ------------------------------------------------------------------------


def test_the_summary_request_and_its_cost() -> None:
    session, memory = history(12), MemoryReporter()
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=WINDOW)
    result = engine.run(session, "and now?", reporter=memory)
    (asked,) = model.summaries
    assert (asked.system, asked.tools, len(asked.messages)) == (SYSTEM, (), 1)
    assert asked.max_tokens is not None
    assert 256 < asked.max_tokens <= WINDOW // 8
    for heading in ("Goal", "Decisions", "Files", "State", "Next"):
        assert f"## {heading}" in asked.system
    sizes = [model.size_of(request) for request in (asked, *model.asked)]
    assert result.usage.input_tokens == sum(sizes)
    assert result.steps == 1
    assert len([e for e in memory.events if isinstance(e, StepFinished)]) == 1
    why, done = memory.notices
    assert why.startswith("the conversation fills ")
    assert "of the model's 8,000 tokens: compacting 40 messages into a summary" in why
    assert done.startswith("compacted: about ")


def test_a_cap_on_replies_holds_for_summaries() -> None:
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4), summary=SUMMARY)
    engine_for(model, english, context_window=WINDOW, max_tokens=300).run(history(12), "and now?")
    assert model.summaries[0].max_tokens == 300


@pytest.mark.parametrize(
    ("summary", "reason"),
    [
        (ConnectionLost("the connection broke: ask again"), "the connection broke"),
        ("   \n", "the model wrote nothing"),
    ],
)
def test_without_a_summary_the_oldest_results_are_dropped(
    summary: str | ProviderError, reason: str
) -> None:
    session, memory = history(24, result=100, answer=1), MemoryReporter()
    words = [m.text for m in session.messages]
    model = WindowedModel(4_500, looking(0), tokens=chars(3), summary=summary)
    engine = engine_for(model, english, context_window=4_500)
    result = engine.run(session, "and now?", reporter=memory)
    assert result.status is RunStatus.COMPLETED
    assert is_whole(session)
    assert reason in memory.notices[1]
    assert "tool results are dropped instead" in memory.notices[1]
    assert memory.notices[2].startswith("the oldest tool results were dropped")
    assert [m.text for m in session.messages][: len(words)] == words
    contents = [m.tool_results[0].content for m in session.messages if m.tool_results]
    assert contents[0] == DROPPED
    assert contents[-1].startswith("fact-23 ")


def test_a_summary_that_is_refused_as_too_long_is_asked_for_with_less() -> None:
    """The window is smaller than anybody knew."""
    session = history(40, result=100, answer=100)
    model = WindowedModel(3_000, looking(0), tokens=chars(4), names_limit=False, summary=SUMMARY)
    result = engine_for(model, english, context_window=None).run(session, "and now?")
    assert result.status is RunStatus.COMPLETED
    assert model.refused > 1
    assert len(model.summaries) == 1


# --- refused as too long ------------------------------------------------------------------------


@pytest.mark.parametrize("names_limit", [True, False])
def test_a_refused_request_is_compacted_and_sent_once_more(names_limit: bool) -> None:
    session, memory = history(12), MemoryReporter()
    model = WindowedModel(
        WINDOW, looking(0), tokens=chars(4), names_limit=names_limit, summary=SUMMARY
    )
    engine = engine_for(model, english)
    result = engine.run(session, "and now?", reporter=memory)
    assert (result.status, result.steps, result.text) == (RunStatus.COMPLETED, 1, "done")
    assert model.refused == 1
    assert is_whole(session)
    assert engine.context_window == (WINDOW if names_limit else None)
    assert memory.notices[0].startswith("the conversation is too long for the model: compacting")


def test_a_window_that_is_said_to_be_longer_than_it_is_is_corrected() -> None:
    model = WindowedModel(WINDOW, looking(60), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=1_000_000, max_steps=100)
    assert engine.run(Session(), "Look at everything.").status is RunStatus.COMPLETED
    assert engine.context_window == WINDOW
    assert model.refused == 1


def test_a_prompt_that_is_too_long_by_itself_is_an_error_in_the_servers_words() -> None:
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4))
    session = Session()
    with pytest.raises(ContextLengthError, match="tokens are too many"):
        engine_for(model, english).run(session, "word " * 20_000)
    assert model.refused == 1  # the same is not sent twice
    assert len(session.messages) == 1


def test_what_is_too_long_after_all_is_an_error_that_says_so() -> None:
    model = WindowedModel(600, looking(0), tokens=chars(1), summary=SUMMARY)
    session = history(6)
    session.append(Message.user("word " * 400))
    with pytest.raises(ContextLengthError, match="was compacted and still is too long") as caught:
        engine_for(model, english).run(session, "and now?")
    assert caught.value.status == 400
    assert is_whole(session)


def test_results_of_the_last_step_are_shortened_where_they_alone_are_too_much() -> None:
    model = WindowedModel(WINDOW, looking(1), tokens=chars(4), summary=SUMMARY)
    session, memory = Session(), MemoryReporter()
    engine = engine_for(model, lambda part: "begin " + "w " * 50_000, context_window=WINDOW)
    result = engine.run(session, "look", reporter=memory)
    assert result.status is RunStatus.COMPLETED
    (content,) = [m.tool_results[0].content for m in session.messages if m.tool_results]
    assert content.startswith("begin w w")
    assert len(content) > 4_000
    assert "characters left out to save room" in content
    told = [event.result.content for event in memory.events if isinstance(event, ToolFinished)]
    assert len(told[0]) > 100_000


def test_other_errors_are_passed_on() -> None:
    provider = ScriptedProvider(ProviderError("no"), text_turn("yes"))
    with pytest.raises(ProviderError, match="no"):
        Engine(provider).run(history(12), "go")
    assert len(provider.requests) == 1


def test_an_overflow_in_the_middle_of_an_answer_is_not_asked_again() -> None:
    overflow = ProviderError("too long", context_overflow=True)

    class Breaking:
        asked = 0

        def stream(self, request: object, cancel: CancelToken) -> Any:
            self.asked += 1
            yield TextDelta("half an ans")
            raise overflow

    provider, session = Breaking(), history(12)
    before = session.messages
    with pytest.raises(ProviderError, match="too long"):
        Engine(provider).run(session, "go")
    assert provider.asked == 1
    assert session.messages[:-1] == before


def test_over_http_a_servers_own_words_teach_the_window() -> None:
    steps = iter(range(100))

    def small_server(peer: Peer, request: Request) -> None:
        if len(request.raw) > 12_000:
            words = (
                f"This model's maximum context length is 3000 tokens. You sent {len(request.raw)}"
            )
            peer.error(400, words)
        elif "You write the summary" in request.messages[0]["content"]:
            stream(*text_reply(SUMMARY))(peer, request)
        elif (number := next(steps)) < 25:
            stream(*tool_reply((f"c{number}", "look", {"part": number})))(peer, request)
        else:
            stream(*text_reply("all seen"))(peer, request)

    with serve(small_server) as server:
        provider = OpenAIChat("m", base_url=server.url)
        engine = engine_for(provider, english)  # type: ignore[arg-type]
        session, memory = Session(), MemoryReporter()
        result = engine.run(session, "Look at everything.", reporter=memory)
        provider.close()
        assert (result.status, result.text) == (RunStatus.COMPLETED, "all seen")
        assert engine.context_window == 3000
        assert any(line.startswith("compacted: ") for line in memory.notices)
        assert is_whole(session)


# --- cancel -------------------------------------------------------------------------------------


class CancelsAtNotice(Reporter):
    """Cancels as soon as it is told that a summary is being written."""

    def __init__(self, token: CancelToken) -> None:
        self.token = token

    def on_notice(self, text: str) -> None:
        if "into a summary" in text:
            self.token.cancel("interrupt")


def test_a_cancel_in_the_summary_request_leaves_the_history_as_it_was() -> None:
    session, token = history(12), CancelToken()
    before = session.messages
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4), summary=SUMMARY)
    model.hold_summary = True
    engine = engine_for(model, english, context_window=WINDOW)

    def cancel() -> None:
        assert model.summing_up.wait(30)
        token.cancel("interrupt")

    thread = threading.Thread(target=cancel)
    thread.start()
    result = engine.run(session, "and now?", cancel=token)
    thread.join()
    assert (result.status, result.partial_text) == (RunStatus.CANCELLED, "")
    assert session.messages == (*before, Message.user("and now?"))
    model.hold_summary = False
    assert engine.run(session, "again").status is RunStatus.COMPLETED
    assert model.summaries


def test_a_cancel_before_the_summary_request_too() -> None:
    session, token = history(12), CancelToken()
    before = session.messages
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=WINDOW)
    result = engine.run(session, "and now?", cancel=token, reporter=CancelsAtNotice(token))
    assert result.status is RunStatus.CANCELLED
    assert session.messages[:-1] == before


class CancelsAt(Reporter):
    """Cancels at the n-th event."""

    def __init__(self, token: CancelToken, number: int) -> None:
        self.token, self.left = token, number

    def on_event(self, event: object) -> None:
        self.left -= 1
        if self.left == 0:
            self.token.cancel("interrupt")


@pytest.mark.parametrize("number", range(1, 9))
def test_a_cancel_at_any_event_leaves_the_old_history_or_the_new_one(number: int) -> None:
    session, token = history(12), CancelToken()
    before = (*session.messages, Message.user("look"))
    model = WindowedModel(WINDOW, looking(1), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=WINDOW)
    engine.run(session, "look", cancel=token, reporter=CancelsAt(token, number))
    compacted = session.messages[0].text.startswith(INTRODUCTION)
    assert compacted or session.messages == before
    assert is_whole(session)
    assert engine.run(session, "again").status is RunStatus.COMPLETED


# --- by hand ------------------------------------------------------------------------------------


def test_by_hand_a_short_conversation_is_compacted_too() -> None:
    session, memory = history(5), MemoryReporter()
    last = session.messages[-1]
    model = WindowedModel(WINDOW, looking(0), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english, context_window=WINDOW)
    result = compact_now(engine, session, "the ports above all", reporter=memory)
    assert result.status is RunStatus.COMPLETED
    assert result.usage.input_tokens == model.size_of(model.summaries[0])
    assert (result.steps, result.text) == (0, "")
    assert "the ports above all" in summary_inputs(model)
    assert "fact-0" in summary_inputs(model)
    assert session.messages[0].text.startswith(INTRODUCTION)
    assert session.messages[0].text.endswith(SUMMARY)
    assert session.messages[-1] == last
    assert is_whole(session)
    assert len(memory.notices) == 2
    assert engine.run(session, "and now?").text == "done"


@pytest.mark.parametrize("window", [None, 100_000])
def test_by_hand_all_of_it_is_summed_up_where_there_is_room(window: int | None) -> None:
    session = history(8, result=3_000)
    model = WindowedModel(100_000, looking(0), tokens=chars(4), summary=SUMMARY)
    compact_now(engine_for(model, english, context_window=window), session)
    assert f"fact-3 {'stone ' * 3_000}" in summary_inputs(model)


def test_by_hand_with_nothing_to_do() -> None:
    memory, model = MemoryReporter(), WindowedModel(WINDOW, looking(0), tokens=chars(4))
    session = Session()
    result = compact_now(engine_for(model, english), session, reporter=memory)
    assert result.status is RunStatus.COMPLETED
    assert memory.notices == ["there is nothing to compact yet"]


def test_by_hand_a_failure_is_raised_and_changes_nothing() -> None:
    session = history(5)
    before = session.messages
    model = WindowedModel(90_000, looking(0), tokens=chars(4), summary=ConnectionLost("it broke"))
    with pytest.raises(ConnectionLost):
        compact_now(engine_for(model, english), session)
    assert session.messages == before


def test_by_hand_a_cancel_is_a_status_and_changes_nothing() -> None:
    session, token = history(5), CancelToken()
    before = session.messages
    model = WindowedModel(90_000, looking(0), tokens=chars(4), summary=SUMMARY)
    engine = engine_for(model, english)
    result = compact_now(engine, session, cancel=token, reporter=CancelsAtNotice(token))
    assert (result.status, result.cancel_reason) == (RunStatus.CANCELLED, "interrupt")
    assert session.messages == before


def test_the_estimate_alone_would_do() -> None:
    """The tests' tokenizers differ from the estimate, as those of real models do."""
    for content, tokens, _ in LONG.values():
        text = content(7)
        assert 0.5 < text_tokens(text) / tokens(text) < 2
