"""Which skills are offered: the user's own and a trusted project's; a bad one is a notice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claw.cli.skills import find_skills


def make_skill(source: Path, name: str, description: str = "Does it.") -> Path:
    folder = source / name
    folder.mkdir(parents=True)
    head = f"---\nname: {name}\ndescription: {description}\n---\n"
    (folder / "SKILL.md").write_text(f"{head}Body of {name}\n")
    return folder


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_there_may_be_none(config: Path, project: Path) -> None:
    skills = find_skills(config, project)
    assert (skills.offered, skills.notices, skills.section()) == ((), (), "")


def test_the_users_and_the_projects_by_name(config: Path, project: Path) -> None:
    make_skill(config / "skills", "release", "Makes a release.")
    make_skill(project / ".claw/skills", "deploy", "Deploys.")
    skills = find_skills(config, project)
    assert skills.notices == ()
    assert skills.section().endswith("- deploy: Deploys.\n- release: Makes a release.")
    assert [s.name for s in find_skills(config, None).offered] == ["release"]


def test_the_section_is_the_same_in_whatever_order_they_were_made(tmp_path: Path) -> None:
    sections = []
    for order in (["a", "b", "c"], ["c", "a", "b"]):
        config = tmp_path / "".join(order)
        for name in order:
            make_skill(config / "skills", name)
        sections.append(find_skills(config, None).section())
    assert sections[0] == sections[1]


def test_a_project_does_not_replace_the_users_own(config: Path, project: Path) -> None:
    mine = make_skill(config / "skills", "release", "Mine.")
    make_skill(project / ".claw/skills", "release", "Theirs.")
    skills = find_skills(config, project)
    assert [(s.description, s.folder) for s in skills.offered] == [("Mine.", mine)]
    (line,) = skills.notices
    assert "you have one of that name" in line


def test_a_bad_skill_is_a_notice_and_the_others_are_offered(config: Path) -> None:
    make_skill(config / "skills", "good")
    bad = make_skill(config / "skills", "bad")
    (bad / "SKILL.md").write_text("no head")
    hangs = make_skill(config / "skills", "hangs")
    (hangs / "SKILL.md").unlink()
    os.mkfifo(hangs / "SKILL.md")
    (config / "skills" / "empty").mkdir()
    (config / "skills" / "README.md").touch()
    skills = find_skills(config, None)
    assert [s.name for s in skills.offered] == ["good"]
    assert [line.split(" is not ")[0] for line in skills.notices] == [
        f"the skill in {bad}",
        f"the skill in {hangs}",
    ]


def test_a_projects_skill_does_not_lead_out_of_it(config: Path, project: Path) -> None:
    outside = make_skill(project.parent / "outside", "evil")
    source = project / ".claw/skills"
    source.mkdir(parents=True)
    (source / "evil").symlink_to(outside)
    (source / "file").mkdir()
    (source / "file" / "SKILL.md").symlink_to(outside / "SKILL.md")
    skills = find_skills(config, project)
    assert skills.offered == ()
    assert all("leads through a link" in line for line in skills.notices)
    assert len(skills.notices) == 2


def test_a_project_behind_a_link_has_its_skills(config: Path, project: Path) -> None:
    make_skill(project / ".claw/skills", "deploy")
    link = project.parent / "link"
    link.symlink_to(project)
    assert [s.name for s in find_skills(config, link).offered] == ["deploy"]


def test_the_users_own_may_be_links(config: Path, project: Path) -> None:
    (config / "skills").mkdir(parents=True)
    (config / "skills" / "mine").symlink_to(make_skill(project, "mine"))
    assert [s.name for s in find_skills(config, None).offered] == ["mine"]


def test_the_list_is_bounded_and_it_is_said(config: Path) -> None:
    for n in range(30):
        make_skill(config / "skills", f"skill-{n:02}", "x" * 1000)
    skills = find_skills(config, None)
    assert len(skills.offered) == 15
    assert len(skills.section()) < 16_500
    (line,) = skills.notices
    assert line.startswith("these skills are not offered, the list is too long: skill-15, ")
