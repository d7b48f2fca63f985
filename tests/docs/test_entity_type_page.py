"""Whoever does what `docs/how-to/add-an-entity-type.md` says has added an entity type, and nothing is missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, Block, blocks

PAGE = ROOT / "docs" / "how-to" / "add-an-entity-type.md"
COPIED = (".ci", "ranger_cdap", "servicedef", "spark_sync", "tests", "docs", "examples", "pyproject.toml", "setup.cfg")


def edit(file: Path, block: Block) -> None:
    """Do what the page says with the block: put it among the resources, or behind the tables."""
    text = file.read_text(encoding="utf-8")
    if block.language == "json":
        document = json.loads(text)
        document["resources"].append(json.loads(block.text))
        text = json.dumps(document, indent=2) + "\n"
    else:
        text += f"\n{block.text}"
    file.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_the_page_step_by_step(tmp_path: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.jar"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    edits = [block for block in blocks(PAGE) if block.file]
    for block in edits:
        edit(tmp_path / str(block.file), block)

    def run(line: str) -> str:
        ended = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env={
                "HOME": str(tmp_path),
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONPATH": str(tmp_path),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    tests, shown = next(block for block in blocks(PAGE, "sh") if "pytest" in block.text).text.splitlines()
    assert " passed" in run(f"{tests} -p no:cacheprovider")
    assert "dashboard.create" in run(shown)
    assert len(edits) == 5
    assert "dashboard" not in (ROOT / "ranger_cdap" / "cdap" / "entities.toml").read_text(encoding="utf-8")
