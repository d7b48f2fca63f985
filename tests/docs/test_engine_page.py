"""The page on other services is what happens: its program runs, and prints what the page shows."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.docs.console_session import play
from tests.docs.markdown_pages import ROOT

PAGE = ROOT / "docs" / "how-to" / "decide-for-another-service.md"


def test_the_program_prints_what_the_page_shows(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    ((step, said),) = play(PAGE, tmp_path, environ, {})
    assert said == step.shown
