"""The page on who can do what: its commands print what it shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.console_session import play
from tests.docs.markdown_pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "find-out-who-can-do-what.md"


@pytest.mark.slow
def test_the_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    played = play(PAGE, tmp_path, environ, {})
    assert len(played) == 5
    assert [said for _, said in played] == [step.shown for step, _ in played]
