"""Tests mirror the tree: the tests of a package are in the folder of its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"

OF_NO_PACKAGE = {
    "cdap_master": "a real CDAP, with our extension in it",
    "cluster": "HDFS and S3 servers, on which ledger and events are",
    "elasticsearch": "real Elasticsearch and OpenSearch, searched as Ranger's page searches",
    "kafka": "a real Kafka, whose topic is read",
    "proxies": "HAProxy and nginx, in front of the decision service",
    "solr": "a real Solr, searched as Ranger's page searches",
    "corpus": "cases as data, asked of both engines",
    "fuzz": "harnesses of a fuzzer, which our tests run as well",
    "images": "what runs in the built images",
    "examples": "what the examples promise",
    "data": "recordings of real systems",
    "differential": "Ranger's Java engine as the judge of ours",
    "docker": "images, compose file and Kubernetes examples",
    "docs": "pages, and the commands in them",
    "laws": "how Ranger decides, law by law, before every path of the engine and before Java",
    "flows": "several packages at once, as a user has them",
    "jvm": "the Java sources",
    "lookup": "the jar for Ranger Admin, driven by Ranger's classes",
    "packaging": "what is installed, and the rules of this repository",
    "real_ranger": "flows against Ranger's REST: of the embedded Ranger Admin, or of a real one",
    "security": "attacks that concern several packages",
    "site": "the documents as they are built for a browser",
    "simulation": "drawn histories of CDAP, and the laws of ownership",
    "threads": "what threads share on the path of a decision",
}
"""Folders that mirror no package, and what is tested in each."""

FOLDERS = sorted({path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")} - {Path()})
FILES = sorted(TESTS.rglob("*.py"))


def is_a_package(folder: Path) -> bool:
    return any((ROOT / top / folder / "__init__.py").is_file() for top in ("", "ranger_cdap"))


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_a_folder_of_tests_has_the_name_of_a_package_or_a_purpose(folder: Path) -> None:
    assert folder.parts[0] in OF_NO_PACKAGE or is_a_package(folder)


def test_no_purpose_is_named_for_a_folder_that_is_a_package_or_missing() -> None:
    assert [name for name in OF_NO_PACKAGE if is_a_package(Path(name))] == []
    assert [name for name in OF_NO_PACKAGE if not (TESTS / name).is_dir()] == []


@pytest.mark.parametrize("folder", [Path(), *FOLDERS], ids=str)
def test_each_folder_of_tests_is_a_package(folder: Path) -> None:
    assert (TESTS / folder / "__init__.py").is_file()


def test_no_test_changes_the_path_of_imports() -> None:
    change = re.compile(r"^sys\.path\.(append|insert)|^sys\.path\[", re.MULTILINE)
    assert [str(path) for path in FILES if change.search(path.read_text(encoding="utf-8"))] == []
