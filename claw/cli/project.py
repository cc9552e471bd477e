"""What a trusted folder may set for claw: a few settings, and never what is started."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from claw.cli.config import UserConfig, read_config

INSTRUCTIONS = "AGENTS.md"
INSTRUCTIONS_BYTES = 32_000
SETTINGS = ".claw/config.toml"
SKILLS = ".claw/skills"
# What a folder may set. Never the server, the key, approvals, the sandbox, or what is started.
MAY_SET = ("model", "effort", "max_steps", "timeout")


def with_project_settings(config: UserConfig, folder: Path) -> UserConfig:
    """The user's settings with those of a trusted folder over them, as far as it may set any;
    the rest of its file is ignored, and told so. ConfigError as in `read_config`."""
    file = folder / SETTINGS
    if not _is_own(file, folder):
        return config
    project = read_config(file)
    unset = UserConfig(file)
    chosen = {name: value for name in MAY_SET if (value := getattr(project, name))}
    ignored = [
        each.name
        for each in fields(project)
        if each.name not in (*MAY_SET, "file", "exists", "warnings")
        and getattr(project, each.name) != getattr(unset, each.name)
    ]
    warnings = [*config.warnings, *project.warnings]
    if ignored:
        only = "only your own config.toml can set them"
        warnings.append(f"{SETTINGS} of this folder: {', '.join(ignored)} ignored; {only}")
    return replace(config, **chosen, warnings=tuple(warnings))


def _is_own(file: Path, folder: Path) -> bool:
    """A link may lead anywhere; what it leads to is then not the project's own."""
    return file.resolve().is_relative_to(folder.resolve())
