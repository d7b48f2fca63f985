"""The tests run on what they are said to run on: the tree, or, in `make test-wheel`, the wheel as it was installed."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.mark.expression import Expression

import ranger_cdap
import servicedef
import spark_sync

ROOT = Path(__file__).parents[2]
WHEEL = os.environ.get("RANGER_CDAP_TESTED_WHEEL")
PACKAGES = (ranger_cdap, servicedef, spark_sync)

FOLDERS = {"cdap": "cdap_master", "solr": "solr", "elasticsearch": "elasticsearch", "kafka": "kafka"}

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


def planned(target: str) -> list[str]:
    """The calls of pytest that a target makes."""
    command = ["make", "--dry-run", "--no-print-directory", target]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # not what made this
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=ours)
    return [line for line in done.stdout.splitlines() if re.search(r'pytest .*-m ["\w]', line)]


def selects(call: str) -> str:
    """The expression by which a call selects tests by their markers."""
    _, _, after = call.partition(" -m pytest")
    (quoted, plain) = re.search(r'-m (?:"([^"]+)"|(\w+))', after or call).groups()  # type: ignore[union-attr]
    return quoted or plain


def test_make_test_runs_the_quick_tests_once_and_some_of_them_on_the_wheel() -> None:
    def of_quick(target: str) -> list[tuple[str, bool]]:
        calls = [call for call in planned(target) if '-m "not (spark' in call]
        return [(call.split()[0], call.endswith('"')) for call in calls]

    assert of_quick("check") == [(".venv/bin/pytest", True)]
    assert of_quick("test") == [(".venv/bin/pytest", True), (".venv/wheel/bin/python", False)]
    assert of_quick("test-wheel") == [(".venv/wheel/bin/python", True)]


def chooses(calls: list[str], *kinds: str, folder: str = "nowhere") -> bool:
    """Whether a call, for all of the tree or for a folder, runs the tests that have exactly these markers."""
    asked = [call for call in calls if call.startswith(".venv/bin/pytest") and (call.endswith('"') or folder in call)]
    return any(Expression.compile(selects(call)).evaluate(lambda name, **_: name in kinds) for call in asked)


KINDS = ("spark", "java", "slow", "kills")


def test_make_nightly_runs_every_test_of_the_tree_and_make_test_all_but_slow_ones() -> None:
    in_test, in_nightly = planned("test"), planned("nightly")
    every = [kinds for number in range(len(KINDS) + 1) for kinds in combinations(KINDS, number)]
    assert [kinds for kinds in every if not chooses(in_nightly, *kinds)] == []
    assert [kinds for kinds in every if chooses(in_test, *kinds) is (set(kinds) - {"spark", "java"} == {"slow"})] == []
    assert chooses(in_nightly, "alone", folder="tests/service")


@pytest.mark.parametrize("marker", FOLDERS)
def test_a_flow_on_each_real_server_is_in_make_test_and_all_are_in_make_nightly(marker: str) -> None:
    folder = f"tests/{FOLDERS[marker]}"
    assert chooses(planned("test"), marker, "smoke", folder=folder)
    assert not chooses(planned("test"), marker, folder=folder)
    assert chooses(planned("nightly"), marker, folder=folder)
    assert "mark.smoke" in "".join(path.read_text() for path in (ROOT / folder).glob("test_*.py"))


@pytest.mark.parametrize(
    ("marker", "folder"),
    [
        ("cdap", "tests/cdap_master"),
        ("alone", "tests/service"),
        ("helm", "tests/docker"),
        ("proxies", "tests/proxies"),
    ],
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
