"""The first commands of the README, typed in a fresh clone and a fresh shell."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.fresh_clone import fresh_clone, fresh_environment
from tests.docs.markdown_pages import ROOT, blocks

README = ROOT / "README.md"
ACTIVATE = ". .venv/bin/activate"
LEFT_OUT = "[…]"


def typed(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    home = directory / "home"
    home.mkdir(parents=True)
    return subprocess.run(
        ["sh", "-c", command],
        cwd=fresh_clone(directory / "clone"),
        env=fresh_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def without_ids(transcript: str) -> list[str]:
    """The lines without what the page says may differ: ids of policies, and so the policy version."""
    lines = (re.sub(r"(?<=policy )\d+|(?<=version is still )\d+|\d+$", "N", line) for line in transcript.splitlines())
    return [line.rstrip() for line in lines]


def shows(transcript: str, output: str) -> bool:
    """Whether the output is the transcript, with any lines where that says that some are left out."""
    pattern = "\n".join(".+" if line == LEFT_OUT else re.escape(line) for line in without_ids(transcript))
    return re.fullmatch(pattern, "\n".join(without_ids(output)), re.DOTALL) is not None


def test_a_transcript_shows_its_lines_and_nothing_else() -> None:
    assert shows("a\n[…]\npolicy 3", "a\nb\nc\npolicy 4")
    assert not shows("a\n[…]\nd", "a\nb\nc")
    assert not shows("a\nc", "a\nb\nc")


@pytest.mark.slow
def test_what_the_readme_activates_puts_our_command_on_the_path(tmp_path: Path) -> None:
    assert f"`{ACTIVATE}`" in README.read_text(encoding="utf-8")

    assert typed("ranger-cdap --version", tmp_path / "before").returncode == 127
    after = typed(f"make --silent setup && {ACTIVATE} && ranger-cdap --version", tmp_path / "after")
    assert (after.returncode, after.stdout.startswith("ranger-cdap, version ")) == (0, True), after.stderr


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows(tmp_path: Path) -> None:
    assert "In a clone, `make demo` installs the demo and runs it." in README.read_text(encoding="utf-8")
    shown, *_ = blocks(README, "text")

    ended = typed("make demo", tmp_path)

    assert ended.returncode == 0, ended.stderr
    _set_up, begin, rest = ended.stdout.partition(shown.text.splitlines()[0])
    assert shows(shown.text, begin + rest), begin + rest
    assert [path.name for path in (tmp_path / "home").iterdir() if path.name != ".cache"] == []
