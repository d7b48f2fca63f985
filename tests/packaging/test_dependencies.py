"""What an installation fetches: little without extras, what the lock says, each package with a licence that fits."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCK = ROOT / ".ci" / "requirements.lock"
OLDEST_SPARK = ROOT / ".ci" / "oldest-spark.lock"
IMAGES = {name: ROOT / "docker" / f"{name}.lock" for name in ("build", "service", "sync")}
MOST_DIRECT = 12
OURS = "ranger-cdap"
# Compiled where it is installed: needs headers that not every machine has.
NOT_LOCKED = "kerberos"
# Its library is under the LGPL.
BY_CHOICE = "ldap"

CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg", encoding="utf-8")
EXTRAS: dict[str, list[Requirement]] = {
    extra: [Requirement(line) for line in text.splitlines() if line and not line.startswith("#")]
    for extra, text in CONFIG["options.extras_require"].items()
}
DIRECT = [Requirement(line) for line in CONFIG["options"]["install_requires"].split("\n") if line]


def locked(path: Path) -> dict[str, tuple[str, Marker | None, int]]:
    """Name → version, when it is wanted, how many hashes."""
    found = {}
    for entry in re.split(r"\n(?=[a-z])", path.read_text(encoding="utf-8")):
        if pin := re.match(r"(\S+)==([^\s;]+)(?: ; (.*?))? \\\n", entry):
            name, pinned, marker = pin.groups()
            found[name] = (pinned, Marker(marker) if marker else None, entry.count("--hash=sha256:"))
    return found


PINS = locked(LOCK)


def environment(extra: str) -> Mapping[str, str]:
    return {**default_environment(), "extra": extra}


def wanted(requirements: list[Requirement]) -> Iterator[Requirement]:
    """These requirements, and those of what they ask for, as far as it is installed."""
    waiting, seen = list(requirements), set()
    while waiting:
        each = waiting.pop()
        name = canonicalize_name(each.name)
        if name == OURS:
            waiting += [inner for extra in each.extras for inner in EXTRAS[extra]]
            continue
        yield each
        for extra in ("", *each.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            inner = [Requirement(text) for text in requires(name) or ()]
            waiting += [one for one in inner if one.marker is None or one.marker.evaluate(environment(extra))]


def test_the_base_install_is_small() -> None:
    assert len(DIRECT) <= MOST_DIRECT


def test_all_is_every_extra_for_users_that_needs_no_compiler_and_no_choice() -> None:
    (everything,) = EXTRAS["all"]
    assert everything.name == OURS
    assert everything.extras == EXTRAS.keys() - {"all", "dev", NOT_LOCKED, BY_CHOICE}


def test_the_lock_holds_what_setup_cfg_asks_for_and_nothing_else() -> None:
    asked = list(wanted([*DIRECT, *EXTRAS["dev"]]))
    too_old = [str(each) for each in asked if PINS[canonicalize_name(each.name)][0] not in each.specifier]
    elsewhere = {name for name, (_, marker, _) in PINS.items() if marker is not None and not marker.evaluate()}

    assert too_old == []
    assert {canonicalize_name(each.name) for each in asked} == PINS.keys() - elsewhere


def test_this_environment_is_the_locked_one() -> None:
    different = {}
    for name, (pinned, marker, _) in PINS.items():
        if marker is None or marker.evaluate():
            try:
                found = version(name)
            except PackageNotFoundError:
                found = "missing"
            if found != pinned:
                different[name] = (found, pinned)
    assert different == {}


def test_the_oldest_pyspark_that_is_tested_is_the_oldest_that_is_allowed() -> None:
    (allowed,) = (each.specifier for each in EXTRAS["spark"] if each.name == "pyspark")
    (oldest,) = (each.version for each in allowed if each.operator == ">=")
    assert Version(locked(OLDEST_SPARK)["pyspark"][0]) == Version(oldest)


@pytest.mark.parametrize("path", [LOCK, OLDEST_SPARK, *IMAGES.values()], ids=lambda path: path.name)
def test_every_locked_file_has_its_hash_and_no_index_is_named(path: Path) -> None:
    assert all(hashes for _, _, hashes in locked(path).values())
    assert locked(path)
    assert "://" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("image", "extras"),
    [("service", sorted(EXTRAS.keys() - {"all", "dev", "spark", "sync", NOT_LOCKED, BY_CHOICE})), ("sync", ["all"])],
)
def test_an_image_has_what_its_extras_ask_for_in_the_versions_that_were_tested(image: str, extras: list[str]) -> None:
    pins = locked(IMAGES[image])
    asked = {canonicalize_name(each.name) for each in wanted([*DIRECT, *(r for e in extras for r in EXTRAS[e])])}
    here = {name for name, (_, marker, _) in pins.items() if marker is None or marker.evaluate()}

    assert here == asked
    assert {name: pins[name][0] for name in pins} == {name: PINS[name][0] for name in pins}


def test_licences_fit_and_the_list_of_them_is_that_of_the_packages() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "licences.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    "direct",
    [*DIRECT, *(r for e in ("service", "sync", "spark", "kerberos", "yaml") for r in EXTRAS[e] if r.name != OURS)],
    ids=str,
)
def test_every_direct_dependency_is_in_the_list(direct: Requirement) -> None:
    page = (ROOT / "THIRD-PARTY.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {re.escape(canonicalize_name(direct.name))} \|", page, re.MULTILINE)
