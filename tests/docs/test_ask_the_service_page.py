"""The page about the clients: its programs run as they stand, against a service over policies that are known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, blocks
from tests.service.fixtures import READ_AND_WRITE, secret_of, serving

PAGE = ROOT / "docs" / "how-to" / "ask-the-decision-service.md"
PROGRAMS = [block.text for block in blocks(PAGE, "python")]
PRINTED = [
    "ready: True\nalice may read it\nmallory may not: {'en': 'mallory needs READ on dataset:ns1.kv'}\n",
    "[True, False]\n",
]


@pytest.mark.slow
def test_the_programs_of_the_page_print_the_decisions(tmp_path: Path) -> None:
    with serving(READ_AND_WRITE, tmp_path) as world:
        environ = os.environ | {"DECISIONS_URL": world.url, "DECISIONS_SECRET": secret_of("delegate")}
        done = [
            subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)
            for program in PROGRAMS
        ]
    assert [(each.stdout, each.stderr) for each in done] == [(printed, "") for printed in PRINTED]
