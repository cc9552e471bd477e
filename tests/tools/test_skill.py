"""SKILL.md: its head is read strictly, its body on demand, and its folder's files with it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.cancel import CancelToken
from claw.errors import ToolError
from claw.messages import ToolCall
from claw.tools.base import ToolContext
from claw.tools.files import read_file_tool
from claw.tools.schema import problem_with
from claw.tools.skill import Skill, skill_tool
from claw.tools.skill_file import SkillText, parse_skill, read_skill
from claw.tools.workspace import Workspace

HEAD = "---\nname: pdf-forms\ndescription: Fills forms in PDF files.\n---\n"


def test_name_description_and_body() -> None:
    text = f"{HEAD}\nRead FORMS.md first.\n\n---\nThen go on.\n"
    body = "Read FORMS.md first.\n\n---\nThen go on."
    assert parse_skill(text) == SkillText("pdf-forms", "Fills forms in PDF files.", body)


@pytest.mark.parametrize(
    "head",
    [
        "description: Fills forms in PDF files.\nname: pdf-forms",
        "license: MIT\nname: pdf-forms\na:\n  name: x\ndescription: Fills forms in PDF files.",
        "# a comment\n\nname:   pdf-forms  \ndescription:\tFills forms in PDF files.",
        "name: 'pdf-forms'\ndescription: \"Fills forms \\u0069n PDF files.\"",
        "allowed-tools:\n- name: x\nname: pdf-forms\ndescription: Fills forms in PDF files.",
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_ways_to_write_the_same_head(head: str, ends: str) -> None:
    text = f"---\n{head}\n---\nBody\n".replace("\n", ends)
    for written in (text, f"\ufeff{text}"):
        assert parse_skill(written) == SkillText("pdf-forms", "Fills forms in PDF files.", "Body")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("Use: when asked, and # 2", "Use: when asked, and # 2"),
        ("'it''s'", "it's"),
        ('"two\\nlines"', "two lines"),
        ("say \"yes\" or 'no'", "say \"yes\" or 'no'"),
    ],
)
def test_what_a_description_may_be(value: str, read: str) -> None:
    assert parse_skill(f"---\nname: a\ndescription: {value}\n---\n").description == read


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begin with a line of ---"),
        ("# Title\n---\nname: a\n---\n", "begin with a line of ---"),
        ("---\nname: a\ndescription: b\n", "end with a line of ---"),
        ("---\ndescription: b\n---\n", "lowercase words"),
        ("---\nname: a\n---\n", "description of 1 to 1,024"),
        ("---\nname: a\ndescription:\n---\n", "description of 1 to 1,024"),
        (f"---\nname: a\ndescription: {'x' * 1025}\n---\n", "description of 1 to 1,024"),
        ("---\nname: A\ndescription: b\n---\n", "lowercase words"),
        ("---\nname: a--b\ndescription: b\n---\n", "lowercase words"),
        ("---\nname: -a\ndescription: b\n---\n", "lowercase words"),
        ("---\nname: ../a\ndescription: b\n---\n", "lowercase words"),
        (f"---\nname: {'a' * 65}\ndescription: b\n---\n", "lowercase words"),
        ("---\nname: a\nname: a\ndescription: b\n---\n", "two lines with its name"),
        ("---\nname: a\ndescription: b\n  and c\n---\n", "description must stand on one line"),
        ("---\nname: a\ndescription: >\n  b\n---\n", "plain words on one line"),
        ("---\nname: a\ndescription: [b]\n---\n", "plain words on one line"),
        ("---\nname: a\ndescription: 'b\n---\n", "plain words on one line"),
        ('---\nname: a\ndescription: "b\n---\n', "quotes of its description"),
        ("---\nname:a\ndescription: b\n---\n", "written as `name: words`"),
    ],
)
def test_a_head_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        parse_skill(text)


names = st.from_regex(r"[a-z0-9]{1,9}(-[a-z0-9]{1,9}){0,4}", fullmatch=True)
descriptions = st.text(min_size=1, max_size=1000).map(lambda t: " ".join(t.split())).filter(bool)
others = st.lists(st.sampled_from(["", "# x", "license: MIT", "version: '1'", "a:\n  name: b"]))


@given(names, descriptions, others, others, st.text())
def test_what_is_written_is_what_is_read(
    name: str, description: str, before: list[str], between: list[str], body: str
) -> None:
    quoted = json.dumps(description)
    lines = ["---", *before, f"name: {name}", *between, f"description: {quoted}", "---", body]
    skill = parse_skill("\n".join(lines))
    assert (skill.name, skill.description) == (name, description)
    assert skill.body == body.replace("\r\n", "\n").strip()


PIECES = ["---\n", "name: ", "description: ", *"-:'\"\\ \t\r\n|>#ab"]


@given(st.lists(st.sampled_from(PIECES)))
def test_any_text_is_a_skill_or_a_tool_error(pieces: list[str]) -> None:
    try:
        skill = parse_skill("---\n" + "".join(pieces))
    except ToolError:
        return
    assert skill.name
    assert skill.description
    assert "\n" not in skill.description


# --- the file -----------------------------------------------------------------------------------


def make_skill(parent: Path, name: str = "pdf-forms", text: str = f"{HEAD}Body\n") -> Path:
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    return folder


def test_the_folder_is_named_like_the_skill(tmp_path: Path) -> None:
    assert read_skill(make_skill(tmp_path), tmp_path).body == "Body"
    with pytest.raises(ToolError, match="folder must be named like that"):
        read_skill(make_skill(tmp_path, "other"), tmp_path)


def test_a_long_body_is_cut(tmp_path: Path) -> None:
    skill = read_skill(make_skill(tmp_path, text=HEAD + "x" * 100_000), tmp_path)
    assert skill.cut
    assert len(skill.body) < 64_000


def test_only_the_users_own_may_be_a_link(tmp_path: Path) -> None:
    folder, elsewhere = make_skill(tmp_path / "skills"), tmp_path / "elsewhere.md"
    (folder / "SKILL.md").rename(elsewhere)
    (folder / "SKILL.md").symlink_to(elsewhere)
    assert read_skill(folder, None).body == "Body"
    with pytest.raises(ToolError, match="leads through a link"):
        read_skill(folder, tmp_path / "skills")


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    folder = make_skill(tmp_path)
    (folder / "SKILL.md").unlink()
    with pytest.raises(ToolError, match="doesn't exist"):
        read_skill(folder, tmp_path)
    os.mkfifo(folder / "SKILL.md")
    with pytest.raises(ToolError, match="named pipe"):
        read_skill(folder, tmp_path)


# --- the tool -----------------------------------------------------------------------------------


def load(workspace: Workspace, folder: Path, anchor: Path | None = None) -> str:
    tool = skill_tool(workspace, [Skill("pdf-forms", "Fills forms.", folder, anchor)])
    context = ToolContext(ToolCall("1", "skill"), CancelToken(), workspace.root)
    result = tool.run({"name": "pdf-forms"}, context)
    assert isinstance(result, str)
    return result


def test_the_body_comes_with_the_folder_and_its_files_may_then_be_read(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "home", text=f"{HEAD}See FORMS.md.\n")
    (folder / "FORMS.md").write_text("fields")
    (folder.parent / "secret").write_text("secret")
    (folder / "link").symlink_to(folder.parent / "secret")
    (tmp_path / "work").mkdir()
    workspace = Workspace(tmp_path / "work")
    caution = read_file_tool(workspace).caution
    assert caution is not None

    def asked(path: Path) -> bool:
        arguments = {"path": str(path)}
        call = ToolCall("1", "read_file", arguments)
        return bool(caution(arguments, ToolContext(call, CancelToken(), workspace.root)))

    assert asked(folder / "FORMS.md")
    result = load(workspace, folder)
    assert "See FORMS.md." in result
    assert str(folder) in result
    assert "name:" not in result
    assert not asked(folder / "FORMS.md")
    assert asked(folder.parent / "secret")
    assert asked(folder / "link")


def test_the_body_is_as_it_is_now(tmp_path: Path) -> None:
    folder, workspace = make_skill(tmp_path), Workspace(tmp_path)
    assert "Body" in load(workspace, folder, tmp_path)
    (folder / "SKILL.md").write_text(f"{HEAD}Another\n")
    assert "Another" in load(workspace, folder, tmp_path)
    (folder / "SKILL.md").write_text("broken")
    with pytest.raises(ToolError, match="the skill pdf-forms can't be used: it must begin"):
        load(workspace, folder, tmp_path)


def test_only_what_is_offered_can_be_loaded(tmp_path: Path) -> None:
    tool = skill_tool(Workspace(tmp_path), [Skill("a", "x", tmp_path, None)])
    assert tool.read_only
    assert problem_with({"name": "a"}, tool.parameters) is None
    assert problem_with({"name": "../a"}, tool.parameters)
