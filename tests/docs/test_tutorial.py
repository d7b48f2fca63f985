"""The tutorial is what happens: every command of it runs, and prints what the page shows."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from console_session import play
from markdown_pages import ROOT

from ranger_cdap.listener import listen

PAGE = ROOT / "docs" / "tutorial" / "ten-minutes.md"


@pytest.mark.spark
@pytest.mark.slow
def test_the_session(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0, backlog=1, advice="") as free:
        port = free.getsockname()[1]
    environ = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
        **{name: os.environ[name] for name in ("JAVA_HOME", "SPARK_HOME") if name in os.environ},
    }

    played = play(PAGE, tmp_path, environ, {"6080": str(port)})

    assert len(played) > 15
    assert [(str(step.block), step.command, said) for step, said in played] == [
        (str(step.block), step.command, step.shown) for step, _ in played
    ]
