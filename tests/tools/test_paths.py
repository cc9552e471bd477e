"""Where paths lead: never out of the workspace unasked, whatever is laid in their way, and when."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from claw import CancelToken, Decision, Engine, MemoryReporter, Session, ToolCall
from claw.errors import ToolError
from claw.providers import ScriptedProvider, text_turn, tool_turn
from claw.tools import coding_tools
from claw.tools.base import Tool, ToolContext
from claw.tools.content import content_at, save
from claw.tools.descent import kind_at, open_folder, open_regular
from claw.tools.path_calls import PathCalls
from claw.tools.undo import UndoLog
from claw.tools.walk import Walk
from claw.tools.workspace import Location, Workspace
from tests.support.faults import Faults
from tests.support.toolbox import Toolbox

# Each of these takes a while: fewer of them in a short run.
EXAMPLES = settings().max_examples if os.environ.get("CLAW_STRESS") else 60
SECRET = "TOP-SECRET"
NAMES = ["a", "b", "sub", "out", "ws", "secret", "é", "x" * 255]
parts = st.sampled_from([*NAMES, "..", ".", "~", "", "\u202e", "c\nd", "x" * 256, "A", "~root"])
paths = st.builds(
    lambda start, middle: start + "/".join(middle),
    st.sampled_from(["", "", "", "/", "$BASE/", "$BASE/ws/", "$BASE/out/", "~/"]),
    st.lists(parts, max_size=5),
)
targets = st.sampled_from(
    ["..", ".", "../out", "$BASE/out", "a", "b", "sub/..", "b/../..", "../ws", "~", "a/a", "secret"]
)
links = st.dictionaries(
    st.sampled_from(["a", "b", "sub/a", "sub/b", "sub/secret", "é"]), targets, max_size=4
)


@contextmanager
def world(links: dict[str, str]) -> Iterator[Path]:
    """A folder with `ws`, the workspace, `out`, where the secret is, and `home`."""
    with tempfile.TemporaryDirectory() as made, pytest.MonkeyPatch.context() as patch:
        base = Path(os.path.realpath(made))
        for folder in ("ws/sub", "out/sub", "home"):
            (base / folder).mkdir(parents=True)
        for file in ("out/secret", "out/a", "out/sub/a", "home/a", "secret"):
            (base / file).write_text(SECRET)
        (base / "ws/secret").write_text("public")
        for name, target in links.items():
            (base / "ws" / name).symlink_to(target.replace("$BASE", str(base)))
        patch.setenv("HOME", str(base / "home"))
        yield base


def outside(base: Path) -> dict[str, Any]:
    """All that isn't the workspace's."""
    found = {}
    for folder, folders, files in os.walk(base):
        if folder == str(base):
            folders.remove("ws")
        for name in files:
            path = os.path.join(folder, name)
            found[path] = Path(path).read_bytes()
        found[folder] = None if folder == str(base) else sorted(folders)
    return found


@settings(max_examples=EXAMPLES)
@given(paths, links)
@example("a/secret", {"a": "../out"})
@example("a/new", {"a": "../out"})
@example("a", {"a": "$BASE/out/new"})
@example("a/etc/none", {"a": "/"})
@example("a", {"a": "$BASE/out/secret"})
@example("a/../../out/secret", {"a": "sub/.."})
def test_nothing_leaves_the_workspace_unasked(path: str, links: dict[str, str]) -> None:
    with world(links) as base:
        box, path = Toolbox(base / "ws"), path.replace("$BASE", str(base))
        before = outside(base)
        for name, more in (
            ("read_file", {}),
            ("list_files", {}),
            ("write_file", {"content": "new"}),
            ("edit_file", {"edits": [{"old_text": SECRET, "new_text": "changed"}]}),
            ("write_file", {"content": "new"}),
        ):
            context, tool = box.context(name), box.tools.get(name)
            assert tool is not None
            assert tool.caution is not None
            arguments = {"path": path, **more}
            if tool.caution(arguments, context) is not None:
                continue  # somebody is asked
            try:
                said = str(tool.run(arguments, context))
            except ToolError as error:
                said = error.message
            assert SECRET not in said
        assert outside(base) == before
        box.close()


@settings(max_examples=EXAMPLES)
@given(paths, links)
def test_a_location_has_no_link_left_in_it(path: str, links: dict[str, str]) -> None:
    with world(links) as base:
        workspace = Workspace(base / "ws", add_dirs=[base / "out"])
        try:
            place = workspace.locate(path.replace("$BASE", str(base)))
        except ToolError:
            return
        assert place.real.is_absolute()
        assert place.inside == any(
            (base / root) in (place.real, *place.real.parents) for root in ("ws", "out")
        )
        assert place.real.is_relative_to(place.anchor)
        try:
            kind_at(place)
        except ToolError:
            return
        assert os.path.realpath(place.real) == str(place.real)


def test_an_added_folder_counts_as_inside(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "more").mkdir()
    (tmp_path / "link").symlink_to("more")
    workspace = Workspace(tmp_path / "ws", add_dirs=[tmp_path / "link"])
    place = workspace.locate("../more/new")
    assert place.inside
    assert place.anchor == tmp_path / "more"
    assert place.name == str(tmp_path / "more/new")
    assert not workspace.locate("../more2/new").inside


def test_a_folder_that_becomes_a_link_after_the_check_stops_every_use(tmp_path: Path) -> None:
    (tmp_path / "ws/d/e").mkdir(parents=True)
    (tmp_path / "ws/d/e/a").write_text("old")
    (tmp_path / "out/e").mkdir(parents=True)
    (tmp_path / "out/e/a").write_text(SECRET)
    place = Workspace(tmp_path / "ws").locate("d/e/a")
    folder = Workspace(tmp_path / "ws").locate("d/e")
    before = content_at(place)
    (tmp_path / "ws/d").rename(tmp_path / "ws/moved")
    (tmp_path / "ws/d").symlink_to(tmp_path / "out")
    log = UndoLog()
    for use in (
        lambda: content_at(place),
        lambda: save(place, b"new", before, log),
        lambda: save(place, b"new", None, log),
        lambda: open_regular(place),
        lambda: kind_at(place),
        lambda: open_folder(folder),
    ):
        with pytest.raises(
            ToolError, match=r"can't use d/e\S*: \S+/d is a link that leads nowhere"
        ):
            use()
    assert (tmp_path / "out/e/a").read_text() == SECRET
    assert os.listdir(tmp_path / "out/e") == ["a"]


def test_a_file_that_becomes_a_link_after_the_check_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/a").write_text("old")
    (tmp_path / "secret").write_text(SECRET)
    place = Workspace(tmp_path / "ws").locate("a")
    before = content_at(place)
    (tmp_path / "ws/a").unlink()
    (tmp_path / "ws/a").symlink_to(tmp_path / "secret")
    for content in (before, None):
        with pytest.raises(ToolError, match=r"link|changed by somebody else"):
            save(place, b"new", content, UndoLog())
    with pytest.raises(ToolError, match="is a link"):
        open_regular(place)
    assert (tmp_path / "secret").read_text() == SECRET
    assert (tmp_path / "ws/a").is_symlink()


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "list_files", "search"])
def test_what_was_judged_is_what_is_used(tmp_path: Path, name: str) -> None:
    """Between answer and call a folder becomes a link: nobody was asked about its target."""
    root, out = tmp_path / "ws", tmp_path / "out"
    for folder in (root / "d", out):
        folder.mkdir(parents=True)
        (folder / "a").write_text(SECRET if folder == out else "old")
    path = "d" if name in ("list_files", "search") else "d/a"
    more: dict[str, Any] = {
        "write_file": {"content": "new"},
        "edit_file": {"edits": [{"old_text": SECRET, "new_text": "changed"}]},
        "search": {"pattern": "."},
    }.get(name, {})

    def swap(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        assert tool.caution is not None
        assert tool.caution(call.arguments, None) is None  # type: ignore[arg-type]
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to(out)
        return Decision(True)

    reporter = MemoryReporter()
    provider = ScriptedProvider(tool_turn(name, path=path, **more), text_turn("done"))
    engine = Engine(provider, tools=coding_tools(root), approver=swap, cwd=root, reporter=reporter)
    with Session() as session:
        engine.run(session, "go")
        (result,) = [r for message in session.messages for r in message.tool_results]
    assert result.is_error
    assert "is a link" in result.content
    assert (out / "a").read_text() == SECRET
    assert os.listdir(out) == ["a"]


def test_what_could_not_be_judged_is_not_used_either(tmp_path: Path) -> None:
    """Nobody was asked, since nobody knew: when it runs the link can be read, but it's too late."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/d").symlink_to(tmp_path)
    workspace, path = Workspace(tmp_path / "ws"), {"path": "d/a"}
    paths = PathCalls(workspace)
    context = ToolContext(ToolCall("1", "read_file"), CancelToken(), workspace.root)
    faults = Faults()
    with faults.at_work():
        workspace.locate("d/a")
    with Faults(1 + faults.asked.index("readlink"), errno.EIO).at_work():
        assert paths.read_caution(path, context) is None
    with pytest.raises(ToolError, match="can't find out where d/a leads: Input/output error"):
        _ = paths.take(context, "d/a").place
    assert paths.take(context, "d/a").place.real == tmp_path / "a"


def test_what_was_judged_is_kept_however_many_calls_are_judged_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "ws/d").mkdir(parents=True)
    paths, state = PathCalls(Workspace(tmp_path / "ws")), {}
    calls = [ToolCall("the same id", "write_file", {"path": "d/a"}) for _ in range(1_000)]
    asked = [ToolContext(call, CancelToken(), tmp_path, state=state) for call in calls]
    for context in asked:
        assert paths.write_caution({"path": "d/a"}, context) is None
    (tmp_path / "ws/d").rmdir()
    (tmp_path / "ws/d").symlink_to(tmp_path)
    for context in asked:
        assert paths.take(context, "d/a").place.real == tmp_path / "ws/d/a"
    assert paths.write_caution({"path": "d/a"}, asked[0]) is not None  # it has run: judged anew


def test_calls_of_two_sessions_know_nothing_of_each_other(tmp_path: Path) -> None:
    (tmp_path / "ws/d").mkdir(parents=True)
    paths, call = PathCalls(Workspace(tmp_path / "ws")), ToolCall("1", "read_file")
    one, other = (ToolContext(call, CancelToken(), tmp_path, state={}) for _ in "12")
    assert paths.read_caution({"path": "d/a"}, one) is None
    (tmp_path / "ws/d").rmdir()
    (tmp_path / "ws/d").symlink_to(tmp_path)
    assert paths.read_caution({"path": "d/a"}, other) is not None


def test_a_denied_call_leaves_nothing_that_a_later_one_of_its_id_could_meet(tmp_path: Path) -> None:
    """Servers give ids twice: what the first was about says nothing of the second."""
    (tmp_path / "a").write_text("one")
    answers = [Decision(False, "no"), Decision(True)]

    def ask(call: ToolCall, tool: Tool, cancel: CancelToken) -> Decision:
        assert tool.preview is not None
        tool.preview(call.arguments, None)  # type: ignore[arg-type]
        if len(answers) == 2:
            (tmp_path / "a").write_text("two")
        return answers.pop(0)

    turns = [tool_turn("write_file", path="a", content=text) for text in ("first", "second")]
    provider = ScriptedProvider(*turns, text_turn("done"))
    engine = Engine(provider, tools=coding_tools(tmp_path), approver=ask, cwd=tmp_path)
    with Session() as session:
        engine.run(session, "go")
        calls = [call for message in session.messages for call in message.tool_calls]
    assert (tmp_path / "a").read_text() == "second"
    assert len(calls) == 2


def test_a_folder_that_becomes_a_link_is_not_walked(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/secret").touch()
    for name in ("ws/a/x", "ws/b/y", "ws/c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    workspace = Workspace(tmp_path / "ws")
    folder = workspace.locate("b")
    files = Walk(workspace.locate("."), (), CancelToken()).files()
    assert next(files) == "a/x"
    (tmp_path / "ws/b").rename(tmp_path / "moved")
    (tmp_path / "ws/b").symlink_to(tmp_path / "out")
    assert list(files) == ["c"]
    with pytest.raises(ToolError, match="is a link"):
        open_folder(folder)


@pytest.mark.parametrize("rounds", [200, pytest.param(20_000, marks=pytest.mark.stress)])
def test_writing_while_a_folder_flips_into_a_link_and_back(tmp_path: Path, rounds: int) -> None:
    root, out = tmp_path / "ws", tmp_path / "out"
    (root / "d").mkdir(parents=True)
    out.mkdir()
    over = threading.Event()

    def flip() -> None:
        while not over.is_set():
            shutil.rmtree(root / "d", ignore_errors=True)
            with suppress(OSError):  # whoever writes makes the folder anew now and then
                os.symlink(out, root / "d")
            with suppress(OSError):
                os.unlink(root / "d")
            with suppress(OSError):
                os.mkdir(root / "d")

    flipping = threading.Thread(target=flip)
    flipping.start()
    workspace, log = Workspace(root), UndoLog()
    try:
        for _ in range(rounds):
            with suppress(ToolError):
                place = workspace.locate("d/a")
                if place.inside:  # else somebody would be asked
                    save(place, b"new", content_at(place), log)
    finally:
        over.set()
        flipping.join()
    assert os.listdir(out) == []
    save(workspace.locate("d/a"), b"new", content_at(workspace.locate("d/a")), log)


def test_a_folder_on_the_way_needs_to_let_us_pass_and_no_more(tmp_path: Path) -> None:
    """As /home on many systems. macOS has no way of opening a folder for that alone."""
    (tmp_path / "pass/ws").mkdir(parents=True)
    for folder, mode in ((tmp_path, 0o711), (tmp_path / "pass/ws", 0o777)):
        folder.chmod(mode)
    (tmp_path / "pass").chmod(0o311)
    child = os.fork()
    if child == 0:
        try:
            os.chdir(tmp_path)
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            place = Location(Path("pass/ws/a"), Path(), "a", inside=True, readable=True)
            save(place, b"new", None, UndoLog())
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    (tmp_path / "pass").chmod(0o755)
    assert (status == 0) == hasattr(os, "O_PATH")
    assert (tmp_path / "pass/ws/a").exists() == hasattr(os, "O_PATH")
