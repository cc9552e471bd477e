"""The core alone, installed into a fresh environment as a user would get it: how large it is.

The commands are timed there too: an editable installation makes every start of Python slower.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import distributions
from pathlib import Path

from tests.bench.report import Row

ROOT = Path(__file__).parents[2]
SOURCES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "claw")
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")
INSTALL_LIMIT_S = 180.0


@dataclass(frozen=True)
class Installation:
    """An environment's folder; `missing` says why there is none."""

    folder: Path
    missing: str = ""

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def claw(self) -> str:
        return str(self.folder / "bin" / "claw")


@contextmanager
def fresh_core() -> Iterator[Installation]:
    """Installs a copy of the sources, so that nothing is built in the checkout."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        source, environment = Path(name) / "source", Path(name) / "venv"
        _copy_sources(source)
        try:
            _call(sys.executable, "-m", "venv", str(environment))
            installation = Installation(environment)
            _call(installation.python, "-m", "pip", "--quiet", "install", str(source))
        except subprocess.CalledProcessError as error:
            last_line = (error.stderr.strip().splitlines() or ["no words"])[-1]
            installation = Installation(environment, f"pip install failed: {last_line}")
        yield installation


def sizes(installation: Installation) -> Iterator[Row]:
    packages = Row("installed core: packages", 18, "")
    size = Row("installed core: size of site-packages", 16, "MB")
    if installation.missing:
        yield from (replace(row, skipped=installation.missing) for row in (packages, size))
        return
    asked = _call(
        installation.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"
    )
    site = Path(asked.strip())
    names = {found.name for found in distributions(path=[str(site)])} - set(NOT_OURS)
    yield replace(packages, measured=float(len(names)))
    yield replace(size, measured=_bytes_in(site) / 1e6)


def _copy_sources(target: Path) -> None:
    target.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, target)


def _call(*command: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=INSTALL_LIMIT_S
    )
    return done.stdout


def _bytes_in(site: Path) -> int:
    """All files of the packages, compiled ones too."""
    ours = (entry for entry in site.iterdir() if not entry.name.startswith(NOT_OURS))
    files = (file for entry in ours for file in [entry, *entry.rglob("*")])
    return sum(file.stat().st_size for file in files if file.is_file())
