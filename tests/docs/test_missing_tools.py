"""What skips tests is a missing tool that the reason names, and no test reads what stands beside the repository."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, tracked
from tests.missing_tools import names_a_missing_tool

FILES = [ROOT / name for name in sorted(tracked()) if name.endswith(".py") and (ROOT / name).is_file()]
# Ranger's own test files are Ranger's: they are run where somebody has them, and their rules stand in our corpus.
ALLOWED = {Path(__file__), ROOT / "tests" / "ranger_source.py"}
_PARENTS = re.compile(r"Path\(__file__\)(?:\.resolve\(\))?\.parents\[(\d+)\]")
# A path that leaves the repository: by one parent too many, or by the name of the folder that was once beside it.
_BESIDE = re.compile(r"ROOT\.parent\b(?!s)|[\"\']shared[\"\'] */|/shared/reference")


def beside(path: Path) -> list[str]:
    """What the file reads beside the repository."""
    text = path.read_text(encoding="utf-8")
    depth = len(path.relative_to(ROOT).parts) - 1
    parents = [found for found in _PARENTS.finditer(text) if int(found[1]) > depth]
    return [found[0] for found in (*parents, *_BESIDE.finditer(text))]


def test_nothing_is_read_beside_the_repository() -> None:
    assert {str(path): beside(path) for path in FILES if path not in ALLOWED and beside(path)} == {}


@pytest.mark.parametrize(
    ("reason", "named"),
    [
        ("needs Chromium (Debian: apt install chromium)", True),
        ("could not import 'pyspark': No module named 'pyspark'", True),
        ("needs root, to become another user", True),
        ("the recording is not on this machine", False),
        ("the documents as data are not here", False),
        ("a rooted tree", False),
        ("flaky", False),
    ],
)
def test_a_reason_names_a_tool(reason: str, named: bool) -> None:
    assert names_a_missing_tool(reason) is named


SKIPPING = """
import pytest

@pytest.mark.skipif(True, reason="the recording is not on this machine")
def test_without_a_tool(): ...

@pytest.mark.skipif(True, reason="needs bash")
def test_with_a_tool(): ...

def test_in_the_middle():
    pytest.skip("needs Maven")
"""


def test_a_skip_for_another_reason_fails(tmp_path: Path) -> None:
    """In a run of its own, with the configuration of this one."""
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
    ]
    ended = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "-c", "/dev/null", "test_skipping.py"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 skipped, 1 error" in ended.stdout, ended.stdout + ended.stderr
    assert "names nothing of tests/missing_tools.py: Skipped: the recording" in ended.stdout
