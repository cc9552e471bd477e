"""The project has the bug that the script says it has."""

import subprocess
import sys

from claw.demo.project import BUG, FIX, MODULE, changes, write_project
from claw.demo.script import FAILURE


def run_tests(folder):
    return subprocess.run(
        [sys.executable, "-B", "-m", "unittest"], cwd=folder, capture_output=True, text=True
    )


def test_the_tests_fail_as_the_script_expects(tmp_path):
    write_project(tmp_path)
    done = run_tests(tmp_path)
    assert done.returncode == 1
    assert FAILURE in done.stderr
    assert "FAILED (failures=1)" in done.stderr
    assert changes(tmp_path) == ""


def test_the_fix_fixes_it_and_shows_as_a_diff(tmp_path):
    write_project(tmp_path)
    module = tmp_path / MODULE
    module.write_text(module.read_text().replace(BUG, FIX))
    assert run_tests(tmp_path).returncode == 0
    assert f"\n-{BUG}\n+{FIX}\n" in changes(tmp_path)
