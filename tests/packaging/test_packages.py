"""Debian and RPM packages: their versions, and what each is made of. `make test-packages` installs them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from ranger_cdap.config import Settings, parse_settings
from ranger_cdap.units import UNITS

ROOT = Path(__file__).parents[2]
PARTS = ROOT / ".ci" / "packages"
GUIDE = (ROOT / "docs" / "how-to" / "run-in-production.md").read_text(encoding="utf-8")


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_packages", ROOT / ".ci" / "build_packages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


BUILD = load()
TARGETS = [
    BUILD.Target(package, form, "1.2.3~rc1", machine)
    for package in BUILD.PACKAGES
    for form in BUILD.FORMATS
    for machine in BUILD.MACHINES
]

NUMBER = st.integers(0, 12)
RELEASE = st.tuples(NUMBER, NUMBER, NUMBER).map(lambda parts: ".".join(map(str, parts)))
PRE = st.tuples(st.sampled_from(["a", "b", "rc"]), NUMBER).map(lambda pre: f"{pre[0]}{pre[1]}")
POST, DEV = NUMBER.map(".post{}".format), NUMBER.map(".dev{}".format)
EMPTY = st.just("")
VERSIONS = st.tuples(RELEASE, EMPTY | PRE, EMPTY | POST, EMPTY | DEV).map("".join)
NEAR = st.tuples(st.just("1.0.0"), EMPTY | PRE, EMPTY | POST, EMPTY | DEV).map("".join)
"""Versions of one release, whose order is the difficult one."""


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("0.1.0", "0.1.0"),
        ("0.2.0rc1", "0.2.0~rc1"),
        ("0.2.0a1.dev3", "0.2.0~a1~dev3"),
        ("0.2.0.dev3", "0.2.0~~dev3"),
        ("0.2.0.post1", "0.2.0+post1"),
        ("0.2.0.post1.dev2", "0.2.0+post1~dev2"),
    ],
)
def test_a_version_in_the_words_of_debian_and_rpm(ours: str, theirs: str) -> None:
    assert BUILD.package_version(ours) == theirs


@pytest.mark.parametrize("version", ["1!0.1.0", "0.1.0+local"])
def test_a_version_that_no_release_has_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="which no release has"):
        BUILD.package_version(version)


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="needs dpkg")
@settings(max_examples=60, deadline=None)
@given(st.lists(VERSIONS | NEAR, min_size=2, max_size=6, unique_by=Version))
def test_dpkg_orders_versions_as_python_does(versions: list[str]) -> None:
    for lower, higher in pairwise(sorted(versions, key=Version)):
        words = ["dpkg", "--compare-versions", BUILD.package_version(lower), "lt", BUILD.package_version(higher)]
        assert subprocess.run(words, check=False).returncode == 0, (lower, higher)


@pytest.mark.skipif(shutil.which("rpm") is None, reason="needs rpm")
@settings(max_examples=20, deadline=None)
@given(st.lists(VERSIONS | NEAR, min_size=2, max_size=6, unique_by=Version))
def test_rpm_orders_versions_as_python_does(versions: list[str]) -> None:
    for lower, higher in pairwise(sorted(versions, key=Version)):
        pair = f'"{BUILD.package_version(lower)}", "{BUILD.package_version(higher)}"'
        done = subprocess.run(["rpm", "--eval", f"%{{lua:print(rpm.vercmp({pair}))}}"], capture_output=True, check=True)
        assert done.stdout.strip() == b"-1", (lower, higher)


def test_every_unit_is_in_exactly_one_package() -> None:
    named = [unit for package in BUILD.PACKAGES for unit in BUILD.TABLE[package]["units"]]
    assert sorted(named) == sorted(UNITS)


def test_together_the_packages_contain_what_the_image_of_the_sync_job_has() -> None:
    parts = [BUILD.pins_of(package) for package in BUILD.PACKAGES]
    assert sum(map(len, parts)) == len({name for part in parts for name in part})
    assert {name: entry for part in parts for name, entry in part.items()} == BUILD.pins("sync.lock")
    assert parts[0] == BUILD.pins("service.lock")


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_package_puts_its_files_where_the_distribution_has_them(target: object) -> None:
    files = dict(BUILD.files_of(target))
    package = target.package  # type: ignore[attr-defined]

    assert {PurePosixPath(place).parts[0] for place in files} <= {"usr", "etc"}
    # The administrator's own units are in /etc, and stand before those of a package.
    assert not any(str(place).startswith("etc/") for place in files if place.suffix not in {".toml"})
    assert any(place.name == "LICENSE" for place in files)
    assert any(place.match(f"usr/share/*/{package}/copyright") for place in files)
    for place, content in files.items():
        assert content, place
        if place.suffix == ".service":
            (start,) = re.findall(rb"^ExecStart=(\S+)", content, re.MULTILINE)
            assert start == f"/{BUILD.HOME}/bin/ranger-cdap".encode()


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_nfpm_is_told_of_every_file_and_of_the_settings_as_the_administrators(target: object, tmp_path: Path) -> None:
    BUILD.write_parts(target, tmp_path)
    config = BUILD.nfpm_config(target, tmp_path / "tree", tmp_path, 0)
    kinds = {entry["dst"]: entry["type"] for entry in config["contents"]}

    assert {f"/{place}" for place, _ in BUILD.files_of(target)} <= kinds.keys()
    kept = [place for place, kind in kinds.items() if kind == "config|noreplace"]
    assert kept == (["/etc/ranger-cdap/ranger-cdap.toml"] if config["name"] == "ranger-cdap" else [])
    assert "{" not in "".join(config["depends"])
    assert all(Path(script).is_file() for script in config["scripts"].values())
    if config["name"] != "ranger-cdap":
        assert re.fullmatch(r"ranger-cdap( \(= 1\.2\.3~rc1\)| = 1\.2\.3~rc1)", config["depends"][0])


@pytest.mark.parametrize("package", BUILD.PACKAGES)
def test_the_licence_names_that_of_every_package_inside(package: str) -> None:
    page = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8")
    licence = BUILD.licence_of(BUILD.pins_of(package), page)

    assert "Apache-2.0" in licence.split(" AND ")
    for name in BUILD.pins_of(package):
        (own,) = re.findall(rf"^\| {re.escape(name)} \| ([^|]+) \|", page, re.MULTILINE)
        assert all(part in licence for part in re.split(" AND | OR ", own)), name


def test_the_settings_that_are_installed_change_nothing() -> None:
    text = (PARTS / "ranger-cdap.toml").read_text(encoding="utf-8")
    assert parse_settings(tomllib.loads(text), origin="the package", environ={}) == Settings()


def test_the_settings_that_are_installed_are_those_of_the_guide_with_a_mark() -> None:
    (guide,) = re.findall(r"```toml\n(\[ranger\]\n.*?)```", GUIDE, re.DOTALL)
    lines = (PARTS / "ranger-cdap.toml").read_text(encoding="utf-8").splitlines(keepends=True)
    assert "".join(line.removeprefix("# ") for line in lines if not line.startswith("##")) == guide


def test_a_directory_without_a_wheel_is_one_clear_sentence(tmp_path: Path) -> None:
    program = [sys.executable, ROOT / ".ci" / "build_packages.py", "nfpm", tmp_path]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"`{tmp_path}` must hold one wheel of ranger-cdap; run `make dist` first\n"
