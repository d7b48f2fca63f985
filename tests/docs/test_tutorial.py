"""The tutorial is what happens: typed in a fresh clone and a fresh shell, every command prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranger_cdap.net.listener import listen
from tests.docs.console_session import play
from tests.docs.fresh_clone import fresh_clone, fresh_environment
from tests.docs.markdown_pages import ROOT

PAGE = ROOT / "docs" / "tutorial" / "ten-minutes.md"


@pytest.mark.spark
@pytest.mark.slow
def test_the_session(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0, backlog=1, advice="") as free:
        port = free.getsockname()[1]
    home, clone = tmp_path / "home", tmp_path / "clone"
    home.mkdir()

    played = play(PAGE, fresh_clone(clone), fresh_environment(home), {"6080": str(port)})

    assert len(played) > 15
    assert [(str(step.block), step.command, said) for step, said in played] == [
        (str(step.block), step.command, step.shown) for step, _ in played
    ]
