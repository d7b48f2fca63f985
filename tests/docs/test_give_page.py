"""The page on giving what an operation needs: its commands print what it shows."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from ranger_cdap.tools.policies.needed_policies import PLAN_LABEL
from tests.cli.fixtures import download, item, policy
from tests.docs.console_session import play
from tests.docs.markdown_pages import ROOT, text_of

PAGE = ROOT / "docs" / "how-to" / "give-what-an-operation-needs.md"


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    held = (
        policy(1, {"namespace": "ns1"}, item("write", users=["alice"])),
        policy(2, {"namespace": "ns1", "artifact": "shop"}, item("read", users=["alice"])),
    )
    (tmp_path / "download.json").write_text(json.dumps(download(held)), encoding="utf-8")
    environ = {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    played = play(PAGE, tmp_path, environ, {})
    assert len(played) == 3
    assert [said for _, said in played] == [step.shown for step, _ in played]


def test_the_page_has_the_label_and_the_lines_of_the_command() -> None:
    text = text_of(PAGE)
    sources = ("tools/cli/needs_text.py", "cli/check_text.py")
    source = "".join((ROOT / "ranger_cdap" / name).read_text(encoding="utf-8") for name in sources)
    assert f"`{PLAN_LABEL}`" in text
    for line in re.findall(r"^\| `(CDAP [^`]+|not recorded)", text, re.MULTILINE):
        assert line.replace(" artifact or jar", "") in source, line
