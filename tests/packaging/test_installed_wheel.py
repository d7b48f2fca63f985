"""An installed wheel is whole: its demo runs in an empty folder, without a clone, Java or PySpark."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown_pages import ROOT, blocks
from tests.docs.test_first_commands import README, shows

PLUGIN = ROOT / "examples" / "plugin"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An environment with the wheel, the example plugin and the packages of this one, without the tree and PySpark."""
    environment, dist = tmp_path / "environment", tmp_path / "dist"
    subprocess.run([sys.executable, ROOT / ".ci" / "build_dist.py", dist], check=True)
    made = ["sh", ROOT / ".ci" / "wheel-environment", sys.executable, environment, dist, "examples/plugin"]
    subprocess.run(made, check=True)
    (paths,) = environment.rglob("beside-the-wheel.pth")
    packages, *_ = paths.read_text(encoding="utf-8").splitlines()
    paths.write_text(packages + "\n", encoding="utf-8")
    paths.with_name("no-pyspark.pth").write_text("import sys; sys.modules['pyspark'] = None\n", encoding="utf-8")
    return environment / "bin"


@pytest.mark.slow
def test_the_demo_of_an_installed_wheel_prints_what_the_readme_shows(installed: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    install, _playground, command = (
        line.partition("#")[0].strip() for line in blocks(README, "sh")[0].text.splitlines()
    )
    shown, *_ = blocks(README, "text")

    ended = subprocess.run(
        ["sh", "-c", command],
        cwd=home,
        env={"HOME": str(home), "PATH": f"{installed}:/nowhere"},
        executable="/bin/sh",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert install.startswith("pipx install ")
    assert command == "ranger-cdap demo"
    assert ended.returncode == 0, ended.stderr
    assert shows(shown.text, ended.stdout), ended.stdout
    assert [path.name for path in home.iterdir() if path.name != ".cache"] == []


@pytest.mark.slow
def test_the_example_plugin_is_tested_without_pyspark_as_its_readme_says(installed: Path, tmp_path: Path) -> None:
    (command,) = (block for block in blocks(PLUGIN / "README.md", "sh") if "pytest" in block.text)
    shutil.copytree(PLUGIN, tmp_path / "examples" / "plugin")

    ended = subprocess.run(
        ["sh", "-c", command.text],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": f"{installed}:/usr/bin:/bin", "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout
    assert "skipped" not in ended.stdout
