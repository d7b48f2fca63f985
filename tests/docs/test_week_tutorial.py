"""The week of a security officer is what happens: typed in a fresh clone, every command prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.console_session import play
from tests.docs.fresh_clone import fresh_clone, fresh_environment
from tests.docs.markdown_pages import ROOT

PAGE = ROOT / "docs" / "tutorial" / "a-week-as-a-security-officer.md"


@pytest.mark.slow
def test_the_week(tmp_path: Path) -> None:
    home, clone = tmp_path / "home", tmp_path / "clone"
    home.mkdir()
    played = play(PAGE, fresh_clone(clone), fresh_environment(home), {})
    assert len(played) > 12
    assert [(step.command, said) for step, said in played] == [(step.command, step.shown) for step, _ in played]
