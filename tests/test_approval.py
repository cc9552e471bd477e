"""Who decides: reads pass, grants hold for what they cover, a caution is always asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from claw import (
    CancelToken,
    Decision,
    Engine,
    PolicySettings,
    Rules,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    allow_all,
    deny_all,
)
from claw.policy import Verdict
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.tools import coding_tools
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

    def __init__(self, cwd: Path | str = ".", settings: PolicySettings | None = None) -> None:
        self.calls: list[ToolCall] = []
        self.rules = Rules(self._ask, cwd=cwd, settings=settings)

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


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a file and a link that leads out of it."""
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "inside").write_text("x")
    (tmp_path / "secret").write_text("secret")
    (folder / "way_out").symlink_to(tmp_path)
    return folder


@pytest.mark.parametrize("folders", [(), ("/elsewhere",)])
def test_a_command_that_reads_through_a_link_out_of_the_workspace_is_asked_about(
    workspace: Path, folders: tuple[str, ...]
) -> None:
    asked = Asked(workspace, PolicySettings(mode="edits", folders=folders))
    assert asked.allowed(BASH, command="cat inside")
    assert asked.allowed(BASH, command=f"cat {workspace}/inside")
    assert not asked.allowed(BASH, command="cat way_out/secret")
    assert not asked.allowed(BASH, command="cat inside > copy")
    assert len(asked.calls) == 2


def test_what_links_lead_to_is_free_in_a_folder_that_was_added(workspace: Path) -> None:
    settings = PolicySettings(folders=(str(workspace), str(workspace.parent)))
    assert Asked(workspace, settings).allowed(BASH, command="cat way_out/secret")


def test_where_nothing_is_asked_a_link_that_leads_out_is_refused(workspace: Path) -> None:
    asked = Asked(workspace, PolicySettings(mode="none"))
    assert asked.allowed(BASH, command="cat inside")
    assert not asked.allowed(BASH, command="cat way_out/secret")
    assert asked.calls == []


def test_links_are_looked_at_where_the_tools_work_and_not_where_the_process_is(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    (here / "way_out").mkdir(parents=True)
    monkeypatch.chdir(here)
    asked = Asked(workspace)
    provider = ScriptedProvider(tool_turn("bash", command="cat way_out/secret"), text_turn("end"))
    engine = Engine(provider, tools=coding_tools(workspace), approver=asked.rules)
    with Session() as session:
        engine.run(session, "go")
        assert session.messages[2].blocks[0].content == "denied: no"  # type: ignore[union-attr]
    assert len(asked.calls) == 1


def test_a_subclass_is_told_why_it_is_asked() -> None:
    class Why(Rules):
        def ask(
            self, call: ToolCall, tool: Tool, cancel: CancelToken, verdict: Verdict
        ) -> Decision:
            return Decision(verdict.grantable, f"{verdict.reason}; {verdict.remedy}")

    decision = Why(cwd="/")(ToolCall("1", "write_file"), WRITE, CancelToken())
    may_change = "write_file may change something"
    assert decision == Decision(True, f'{may_change}; allow = ["write_file"]')
    outside = ToolCall("1", "write_file", {"path": OUTSIDE})
    assert Why(cwd="/")(outside, WRITE, CancelToken()) == Decision(False, "outside the workspace; ")


def test_the_simple_ones() -> None:
    call = ToolCall("1", "read_file")
    assert allow_all(call, READ, CancelToken()).allowed
    assert not deny_all(call, READ, CancelToken()).allowed
