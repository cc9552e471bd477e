"""Only ever type-checked: what a user's script may rely on, as a user would write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claw import (
    CancelToken,
    Decision,
    Engine,
    MemoryReporter,
    Message,
    PolicySettings,
    Reporter,
    Rules,
    RunResult,
    RunStatus,
    Session,
    Tee,
    Tool,
    ToolCall,
    ToolContext,
    ToolOutput,
    ToolRegistry,
    allow_all,
    deny_all,
    tool,
)
from claw.approval import Approver
from claw.events import RunEvent, StreamEvent, TextDelta
from claw.policy import Answer, Kind, Request, Verdict, judge, rule_of
from claw.providers import (
    AnthropicMessages,
    Choice,
    FallbackProvider,
    ModelRequest,
    OpenAIChat,
    Provider,
    Quirks,
    ScriptedProvider,
    StreamingProvider,
    text_turn,
    tool_turn,
)
from claw.tools import coding_tools


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@tool(read_only=True)
def look(path: str, context: ToolContext) -> ToolOutput:
    """Looks."""
    context.output(f"looking at {path}")
    return ToolOutput(str(context.cwd), details={"path": path})


made: Tool = Tool("x", "does x", {"type": "object"}, lambda arguments, context: "done")
registry = ToolRegistry([add, look, made, *coding_tools(".")])


def careful(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
    return Decision(tool.read_only, reason="reading only")


policy = PolicySettings.of("edits", allow=["git diff"], deny=["git push"])
same = PolicySettings(mode="edits", allow=(rule_of("git diff"),), deny=(("git", "push"),))
answer: Answer = judge(Request("bash", {}, Kind.COMMAND, "ls"), policy).answer


class Refusing(Rules):
    def ask(self, call: ToolCall, tool: Tool, cancel: CancelToken, verdict: Verdict) -> Decision:
        return Decision(False, verdict.reason)


approvers: Sequence[Approver] = [
    allow_all,
    deny_all,
    careful,
    Rules(careful, cwd=".", settings=policy),
    Refusing(cwd="."),
]


class Quiet(Reporter):
    def on_text_delta(self, text: str) -> None:
        return None


class Plain:
    def generate(self, request: ModelRequest, cancel: CancelToken) -> Message:
        return Message.assistant()


class Streaming:
    def stream(self, request: ModelRequest, cancel: CancelToken) -> Iterator[StreamEvent]:
        yield TextDelta("x")


one: Provider = Plain()
two: StreamingProvider = Streaming()
three: StreamingProvider = ScriptedProvider(text_turn("a"), tool_turn("add", a=1, b=2))
four: StreamingProvider = OpenAIChat("model", base_url="http://127.0.0.1:1/v1", api_key=None)
five: StreamingProvider = AnthropicMessages("model", base_url="http://127.0.0.1:1", params={})
six: StreamingProvider = FallbackProvider(Choice("first", two), Choice("then", three))
seven = OpenAIChat("model", base_url="http://127.0.0.1:1/v1", quirks=Quirks(think_tags=True))

for provider in (one, two, three, four, five, six, seven):
    engine = Engine(provider, tools=registry, approver=careful, reporter=Tee(Quiet()))
    result: RunResult = engine.run(Session(), "go", cancel=CancelToken(timeout=3))
    status: RunStatus = result.status
    with engine.events(Session(), "go") as stream:
        events: list[RunEvent] = list(stream)
    finished: RunResult | None = stream.result
memory_text: str = MemoryReporter().text
