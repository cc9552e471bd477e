"""Who decides: reads pass, grants hold for what they cover, a caution is always asked about."""

from __future__ import annotations

from pathlib import Path

from claw import CancelToken, Decision, Rules, Tool, ToolCall, ToolContext, allow_all, deny_all
from claw.tools.base import Arguments

OUTSIDE = "/etc/passwd"


def caution(arguments: Arguments, context: ToolContext) -> str | None:
    return "outside the workspace" if arguments.get("path") == OUTSIDE else None


def tool(name: str, *, read_only: bool = False, command: str = "") -> Tool:
    return Tool(
        name,
        "",
        {},
        lambda arguments, context: "",
        read_only=read_only,
        caution=caution,
        command=command,
    )


READ, WRITE = tool("read_file", read_only=True), tool("write_file")
BASH = tool("bash", command="command")


class Asked:
    """Rules over an approver that says no and keeps what it was asked."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.rules = Rules(self._ask, cwd=Path.cwd())

    def _ask(self, call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        self.calls.append(call)
        return Decision(False, "no")

    def allowed(self, tool: Tool, **arguments: str) -> bool:
        return self.rules(ToolCall("1", tool.name, arguments), tool, CancelToken()).allowed

    def grant(self, tool: Tool, **arguments: str) -> None:
        self.rules.grant(ToolCall("1", tool.name, arguments), tool)


def test_reads_in_the_workspace_pass_unasked_and_others_are_asked() -> None:
    asked = Asked()
    assert asked.allowed(READ, path="a.txt")
    assert asked.calls == []
    assert not asked.allowed(READ, path=OUTSIDE)
    assert not asked.allowed(WRITE, path="a.txt")
    assert len(asked.calls) == 2


def test_a_grant_covers_the_tool_and_for_bash_the_identical_command() -> None:
    asked = Asked()
    asked.grant(WRITE, path="a.txt")
    asked.grant(BASH, command="make test")
    assert asked.allowed(WRITE, path="b.txt")
    assert asked.allowed(BASH, command="make test")
    assert not asked.allowed(BASH, command="make test; rm -rf /")
    assert not asked.allowed(BASH, command="make  test")


def test_a_grant_never_covers_what_a_tool_has_a_caution_about() -> None:
    asked = Asked()
    asked.grant(WRITE, path="a.txt")
    asked.grant(READ, path=OUTSIDE)
    assert not asked.allowed(WRITE, path=OUTSIDE)
    assert not asked.allowed(READ, path=OUTSIDE)


def test_a_grant_can_be_taken_back() -> None:
    asked = Asked()
    asked.grant(BASH, command="make test")
    (grant,) = asked.rules.settings.granted
    asked.rules.take_back(grant)
    assert not asked.allowed(BASH, command="make test")


def test_a_command_that_reads_through_a_link_out_of_the_workspace_is_asked_about(
    tmp_path: Path,
) -> None:
    asked = Asked()
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "inside").write_text("x")
    (workspace / "way_out").symlink_to(tmp_path)
    asked.rules = Rules(asked._ask, cwd=workspace)
    assert asked.allowed(BASH, command="cat inside")
    assert not asked.allowed(BASH, command="cat way_out/secret")
    assert not asked.allowed(BASH, command="cat inside > copy")


def test_the_simple_ones() -> None:
    call = ToolCall("1", "read_file")
    assert allow_all(call, READ, CancelToken()).allowed
    assert not deny_all(call, READ, CancelToken()).allowed
