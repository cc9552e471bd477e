"""A run keeps to its budget: what reaches the server, how the run ends, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from claw import (
    Engine,
    MemoryReporter,
    Message,
    RunResult,
    RunStatus,
    Session,
    StopReason,
    Usage,
    allow_all,
    tool,
)
from claw.engine.budget import LEAST_REPLY, NO_USAGE, Spending
from claw.engine.context import estimated_tokens
from claw.engine.fitting import compact_now
from claw.engine.task import task_tool
from claw.errors import ConfigError, ContextLengthError, OverloadedError
from claw.events import Completed, Retrying, StreamEvent
from claw.pricing import Budget, Price, PriceList
from claw.providers import (
    AnthropicMessages,
    ModelRequest,
    OpenAIChat,
    ScriptedProvider,
    text_turn,
    tool_turn,
)
from tests.support.anthropic import STOP, body, head, tail, text
from tests.support.server import Server, serve, stream
from tests.support.wire import DONE, chunk

PRICE = Price(1, 10, cached=0.1)


@tool(read_only=True)
def look(place: str) -> str:
    """Looks there."""
    return f"nothing in {place}"


def counted(turn: list[StreamEvent], *counts: int, model: str = "") -> list[StreamEvent]:
    """The same turn, with the usage that the server tells."""
    last = turn[-1]
    assert isinstance(last, Completed)
    message = replace(last.message, usage=Usage(*counts), model=model)
    return [*turn[:-1], Completed(message)]


def run(*turns: Any, **options: Any) -> tuple[RunResult, MemoryReporter, ScriptedProvider]:
    provider, memory = ScriptedProvider(*turns), MemoryReporter()
    engine = Engine(
        provider, tools=[look, task_tool()], approver=allow_all, reporter=memory, **options
    )
    return engine.run(Session(), "go"), memory, provider


# --- the cap ------------------------------------------------------------------------------------


def chat_reply(words: str, finish: str, output: int) -> list[bytes]:
    usage = {"prompt_tokens": 500, "completion_tokens": output}
    return [chunk({"content": words}), chunk({}, finish, usage), DONE]


def messages_reply(words: str, finish: str, output: int) -> list[bytes]:
    reason = {"length": "max_tokens", "stop": "end_turn"}[finish]
    return [body(head(input_tokens=500), text(0, words), tail(reason, output_tokens=output), STOP)]


def openai(server: Server) -> OpenAIChat:
    return OpenAIChat("m", base_url=server.url, max_retries=0)


def anthropic(server: Server) -> AnthropicMessages:
    return AnthropicMessages("m", base_url=server.url, max_retries=0)


DIALECTS = pytest.mark.parametrize(
    ("provider_at", "reply"), [(openai, chat_reply), (anthropic, messages_reply)]
)


def asked_of(
    server: Server, provider_at: Callable[[Server], Any], **options: Any
) -> tuple[RunResult, int | None]:
    """(how the run ended, the max_tokens of its last request)"""
    provider = provider_at(server)
    result = Engine(provider, **options).run(Session(), "go")
    provider.close()
    return result, server.requests[-1].body.get("max_tokens")


@DIALECTS
def test_the_cap_reaches_the_server(provider_at: Any, reply: Any) -> None:
    with serve(stream(*reply("Hi", "stop", 3))) as server:
        result, limit = asked_of(server, provider_at, budget=Budget(tokens=5_000))
        _, own = asked_of(server, provider_at, budget=Budget(tokens=5_000), max_tokens=77)
    assert result.status is RunStatus.COMPLETED
    assert limit == 5_000 - estimated_tokens(ModelRequest([Message.user("go")]))
    assert own == 77


@DIALECTS
def test_a_budget_in_money_becomes_a_cap_in_tokens(provider_at: Any, reply: Any) -> None:
    with serve(stream(*reply("Hi", "stop", 3))) as server:
        _, limit = asked_of(server, provider_at, budget=Budget(usd=0.01), price=PRICE)
    prompt = estimated_tokens(ModelRequest([Message.user("go")]))
    assert limit == (10_000 - prompt) // 10


@DIALECTS
def test_a_reply_that_is_cut_by_the_cap_ends_the_run(provider_at: Any, reply: Any) -> None:
    cap = 2_000 - estimated_tokens(ModelRequest([Message.user("go")]))
    with serve(stream(*reply("Hi", "length", cap))) as server:
        result, limit = asked_of(server, provider_at, budget=Budget(tokens=2_000))
    assert limit == cap
    assert (result.status, result.text) == (RunStatus.BUDGET, "Hi")
    assert result.stop_reason is StopReason.MAX_TOKENS


@DIALECTS
def test_a_reply_that_the_server_cuts_by_itself_is_only_cut(provider_at: Any, reply: Any) -> None:
    with serve(stream(*reply("Hi", "length", 64))) as server:
        result, _ = asked_of(server, provider_at, budget=Budget(tokens=2_000))
    assert result.status is RunStatus.TRUNCATED


def test_no_absurd_limit_is_sent() -> None:
    result, _, provider = run(counted(text_turn("Hi"), 5, 1), budget=Budget(tokens=5_000_000))
    assert result.status is RunStatus.COMPLETED
    assert provider.requests[0].max_tokens is None


def test_no_limit_is_sent_that_the_window_has_no_room_for() -> None:
    options: dict[str, Any] = {"budget": Budget(tokens=50_000)}
    for window, sent in ((None, True), (200_000, True), (32_000, False), (10, False)):
        _, _, provider = run(counted(text_turn("Hi"), 5, 1), context_window=window, **options)
        assert (provider.requests[-1].max_tokens is not None) == sent


def test_a_server_without_room_for_the_limit_is_asked_without_it() -> None:
    """vLLM counts the limit of the reply into the prompt's length."""

    def refuse(request: ModelRequest) -> ContextLengthError:
        assert request.max_tokens is not None
        words = "the prompt is too long"
        return ContextLengthError(words, status=400, context_overflow=True, context_limit=32_000)

    answer = counted(text_turn("Hi"), 5, 1)
    result, memory, provider = run(refuse, answer, budget=Budget(tokens=50_000))
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Hi")
    assert [each.max_tokens is None for each in provider.requests] == [False, True]
    assert memory.notices == []


def test_the_calls_of_a_cut_reply_are_answered_and_not_run() -> None:
    turn = tool_turn("look", place="x")
    last = turn[-1]
    assert isinstance(last, Completed)
    cut = [Completed(replace(last.message, stop_reason=StopReason.MAX_TOKENS))]
    result, memory, _ = run(cut, budget=Budget(tokens=3_000))
    assert result.status is RunStatus.BUDGET
    assert [each.is_error for each in memory.tool_results] == [True]


# --- no room for a request ----------------------------------------------------------------------


def test_too_little_for_the_first_request_sends_nothing() -> None:
    result, memory, provider = run(text_turn("Hi"), budget=Budget(tokens=LEAST_REPLY))
    assert (result.status, result.steps, provider.requests) == (RunStatus.BUDGET, 0, [])
    assert result.usage == Usage()
    [notice] = memory.notices
    assert notice.startswith("the budget has no room for the next request: 0 of 256 tokens used")


def test_fewer_than_256_tokens_left_end_the_run_between_two_steps() -> None:
    call = counted(tool_turn("look", place="x"), 9_000, 400)
    result, memory, provider = run(call, budget=Budget(tokens=19_000))
    assert (result.status, result.steps, len(provider.requests)) == (RunStatus.BUDGET, 1, 1)
    assert "9,400 of 19,000 tokens used, and it would send about 9,4" in memory.notices[-1]
    assert [each.content for each in memory.tool_results] == ["nothing in x"]


def test_an_answer_stands_even_if_it_takes_the_last_token() -> None:
    result, _, _ = run(counted(text_turn("Hi"), 4_000, 900), budget=Budget(tokens=4_900))
    assert (result.status, result.text) == (RunStatus.COMPLETED, "Hi")


def test_each_run_has_the_whole_budget() -> None:
    turns = [counted(text_turn("Hi"), 3_000, 500)] * 2
    engine = Engine(ScriptedProvider(*turns), budget=Budget(tokens=5_000))
    for _ in turns:
        assert engine.run(Session(), "go").status is RunStatus.COMPLETED


def test_cached_tokens_count_as_tokens_and_cost_less() -> None:
    call = counted(tool_turn("look", place="x"), 9_000, 400, 8_900)
    in_tokens, _, _ = run(call, budget=Budget(tokens=15_000), price=PRICE)
    assert (in_tokens.status, in_tokens.cost) == (RunStatus.BUDGET, 0.00499)
    answer = counted(text_turn("Hi"), 9_500, 10, 9_400)
    in_money, _, provider = run(call, answer, budget=Budget(usd=0.02), price=PRICE)
    assert in_money.status is RunStatus.COMPLETED
    # 0.02 less 0.00499, less the next prompt as if it weren't cached: what is left for output.
    assert provider.requests[1].max_tokens == pytest.approx(550, abs=20)


def test_money_used_up_is_told_in_money() -> None:
    call = counted(tool_turn("look", place="x"), 9_000, 400)
    result, memory, _ = run(call, budget=Budget(usd=0.02), price=PRICE)
    assert (result.status, result.cost) == (RunStatus.BUDGET, 0.013)
    assert "$0.0130 of $0.02 used" in memory.notices[-1]


# --- what counts --------------------------------------------------------------------------------


def test_replies_that_came_to_nothing_count() -> None:
    def lost(request: ModelRequest) -> list[StreamEvent]:
        assert request.on_partial_usage is not None
        request.on_partial_usage(Usage(6_000, 10))
        failed = OverloadedError("busy", status=529)
        again = Retrying(1, 0.0, failed)
        return [again, *counted(tool_turn("look", place="x"), 6_000, 10)]

    result, memory, _ = run(lost, budget=Budget(tokens=18_200), price=PRICE)
    assert result.status is RunStatus.BUDGET
    assert (result.usage, result.cost) == (Usage(12_000, 20), 0.0122)
    assert "12,020 of 18,200 tokens used" in memory.notices[-1]


def test_a_sub_agent_spends_the_outer_budget() -> None:
    turns = [
        counted(tool_turn("task", description="d", prompt="p"), 1_000, 10),
        counted(tool_turn("look", place="x"), 3_000, 10),
        counted(text_turn("found"), 3_100, 20),
        counted(text_turn("done"), 1_100, 5),
    ]
    result, _, _ = run(*turns, budget=Budget(tokens=50_000), price=PRICE)
    assert (result.status, result.text) == (RunStatus.COMPLETED, "done")
    assert (result.usage, result.cost) == (Usage(8_200, 45), 0.00865)
    result, _, provider = run(*turns, budget=Budget(tokens=7_000))
    assert (result.status, len(provider.requests)) == (RunStatus.BUDGET, 2)
    assert result.usage == Usage(4_000, 20)


def test_a_summary_counts() -> None:
    session = Session([Message.user("first"), Message.assistant(), Message.user("more " * 500)])
    summary = counted(text_turn("## Goal\nnone"), 700, 30)
    engine = Engine(ScriptedProvider(summary), price=PRICE)
    result = compact_now(engine, session)
    assert (result.usage, result.cost) == (Usage(700, 30), 0.001)
    assert session.totals.cost == 0.001


def test_an_account_may_hold_for_several_runs() -> None:
    account = Spending(Budget(tokens=9_000), PRICE)
    turns = [counted(text_turn("Hi"), 4_000, 500), counted(text_turn("Hi"), 4_000, 400)]
    engine = Engine(ScriptedProvider(*turns), charge_to=account, price=PRICE)
    ends = [engine.run(Session(), "go").status for _ in range(3)]
    assert ends == [RunStatus.COMPLETED, RunStatus.COMPLETED, RunStatus.BUDGET]
    assert (account.usage, account.cost) == (Usage(8_000, 900), 0.017)


# --- servers that tell no counts ----------------------------------------------------------------


@pytest.mark.parametrize("silent", [lambda turn: turn, lambda turn: counted(turn, 0, 0)])
def test_without_counts_an_estimate_is_kept_to_and_said_once(silent: Any) -> None:
    calls = [silent(tool_turn("look", place=f"{n} {'word ' * 1_000}")) for n in range(9)]
    result, memory, provider = run(*calls, budget=Budget(tokens=12_000), price=PRICE)
    assert result.status is RunStatus.BUDGET
    assert 2 <= len(provider.requests) <= 4
    assert memory.notices.count(NO_USAGE) == 1
    assert (result.usage, result.cost) == (Usage(), None)


def test_without_a_budget_nobody_is_told_of_estimates() -> None:
    result, memory, _ = run(text_turn("Hi"), price=PRICE)
    assert (result.status, memory.notices, result.cost) == (RunStatus.COMPLETED, [], None)


# --- the cost -----------------------------------------------------------------------------------


def test_the_cost_stands_in_the_envelope_without_dust() -> None:
    call = counted(tool_turn("look", place="x"), 1_000, 0)
    price = Price(0.1, 0.2)
    result, _, _ = run(call, counted(text_turn("Hi"), 2_000, 0), price=price)
    assert json.dumps(result.to_dict()["cost"]) == "0.0003"
    assert RunResult.from_dict(result.to_dict()) == result


def test_of_fallbacks_the_one_that_answered_is_paid() -> None:
    prices = PriceList((("cheap", PRICE), ("dear", Price(100, 1_000)), ("secret", None)))

    def cost_of(model: str) -> float | None:
        return run(counted(text_turn("Hi"), 1_000, 0, model=model), price=prices)[0].cost

    assert [cost_of(name) for name in ("cheap-2026-01-01", "dear", "secret", "?")] == [
        0.001,
        0.1,
        None,
        None,
    ]


def test_an_unknown_price_is_no_cost() -> None:
    for price in (None, PriceList((("m", None),))):
        assert run(counted(text_turn("Hi"), 1_000, 10), price=price)[0].cost is None


@pytest.mark.parametrize("price", [None, PriceList((("m", None),)), PriceList()])
def test_a_budget_in_money_needs_a_price(price: PriceList | None) -> None:
    with pytest.raises(ConfigError, match=r"needs the price of .*prices\.MODEL"):
        Engine(ScriptedProvider(), budget=Budget(usd=1), price=price)


def test_a_budget_in_money_needs_the_price_of_every_fallback() -> None:
    prices = PriceList((("m", PRICE), ("n", None)))
    with pytest.raises(ConfigError, match='the price of "n"'):
        Engine(ScriptedProvider(), budget=Budget(usd=1), price=prices)


def test_a_free_model_never_uses_up_money() -> None:
    result, _, _ = run(
        counted(text_turn("Hi"), 10**9, 10**6), price=Price(0, 0), budget=Budget(usd=0.01)
    )
    assert (result.status, result.cost) == (RunStatus.COMPLETED, 0.0)
