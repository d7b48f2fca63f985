"""The tests run on what they are said to run on: the tree, or, in `make test-wheel`, the wheel as it was installed."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import pytest

import ranger_cdap
import servicedef
import spark_sync

ROOT = Path(__file__).parents[2]
WHEEL = os.environ.get("RANGER_CDAP_TESTED_WHEEL")
PACKAGES = (ranger_cdap, servicedef, spark_sync)

of_the_wheel = pytest.mark.skipif(WHEEL is None, reason="needs RANGER_CDAP_TESTED_WHEEL, which `make test-wheel` sets")


def place(package: ModuleType) -> Path:
    return Path(package.__file__ or "").parents[1]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_package_is_imported_from_where_it_was_announced(package: ModuleType) -> None:
    if WHEEL is None:
        assert place(package) == ROOT
    else:
        assert place(package).is_relative_to(WHEEL)
        assert place(package).name == "site-packages"


def test_make_test_runs_the_quick_tests_once_and_on_the_wheel() -> None:
    def planned(target: str) -> list[str]:
        command = ["make", "--dry-run", "--no-print-directory", target]
        ours = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # not what made this
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=ours)
        return [line for line in done.stdout.splitlines() if "pytest" in line and '-m "not (' in line]

    assert [line.split()[0] for line in planned("test")] == [".venv/wheel/bin/python"]
    assert [line.split()[0] for line in planned("check")] == [".venv/bin/pytest"]


@pytest.mark.parametrize(
    ("marker", "folder"), [("cdap", "tests/cdap_master"), ("alone", "tests/service"), ("helm", "tests/docker")]
)
def test_a_marker_is_used_only_where_make_looks_for_it(marker: str, folder: str) -> None:
    used = f"mark.{marker}"
    files = (ROOT / "tests").rglob("*.py")
    elsewhere = [str(path) for path in files if used in path.read_text() and not path.is_relative_to(ROOT / folder)]
    assert [path for path in elsewhere if path != __file__] == []
    assert f"-m {marker} {folder}\n" in (ROOT / "Makefile").read_text()


def test_what_make_mutate_changes_and_runs_exists() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    assert [pattern for pattern in config["only_mutate"] if not any(ROOT.glob(pattern))] == []
    tests = [path.removeprefix("--deselect=") for path in config["pytest_add_cli_args_test_selection"]]
    assert [path for path in tests if not (ROOT / path).exists()] == []


@of_the_wheel
def test_every_file_is_the_one_of_the_wheel() -> None:
    installed = distribution("ranger-cdap")
    assert installed.read_text("direct_url.json") is None or "editable" not in installed.read_text("direct_url.json")  # type: ignore[operator]
    hashed = [file for file in installed.files or () if file.hash is not None]
    changed = []
    for file in hashed:
        assert file.hash is not None
        digest = hashlib.new(file.hash.mode, file.read_binary()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            changed.append(str(file))
    assert len(hashed) > 100
    assert changed == []


@of_the_wheel
def test_a_program_that_a_test_starts_runs_on_the_wheel_too() -> None:
    where = "import ranger_cdap, spark_sync; print(ranger_cdap.__file__); print(spark_sync.__file__)"
    done = subprocess.run([sys.executable, "-c", where], capture_output=True, text=True, check=True, cwd=ROOT)
    assert all(Path(line).is_relative_to(WHEEL or "") for line in done.stdout.splitlines())
