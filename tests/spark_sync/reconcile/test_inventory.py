"""The inventory file: all of it is entered or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import read_inventory
from ranger_cdap.errors import InvalidInput
from tests.recording import RECORDING

HEADER = '{"v":1,"instance":"cdap","taken":"2026-11-21T04:00:00Z"}'
TAKEN = 1795233600000
DATASET = '{"type":"dataset","parts":["ns1","a.b"]}'


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_header_and_one_entity_a_line(tmp_path: Path) -> None:
    inventory = read_inventory(write(tmp_path / "i.jsonl", HEADER, DATASET), instance="cdap", now=TAKEN)
    assert inventory.taken == TAKEN
    assert inventory.entities == (EntityId("dataset", ("ns1", "a.b")),)


LIB = EntityId("artifact", ("ns1", "lib"))


@pytest.mark.parametrize(
    ("versions", "known"),
    [
        ([[]], None),
        ([["1.0.0"]], ("1.0.0",)),
        ([["2.0.0", "1.0.0", "2.0.0"]], ("1.0.0", "2.0.0")),
        ([["1.0.0"], ["2.0.0"]], ("1.0.0", "2.0.0")),
        ([["1.0.0"], []], None),
    ],
    ids=["an old inventory", "one", "several", "in several lines", "a line does not say"],
)
def test_the_versions_of_an_artifact(tmp_path: Path, versions: list[list[str]], known: tuple[str, ...] | None) -> None:
    lines = [
        json.dumps({"type": "artifact", "parts": ["ns1", "lib"]} | ({"versions": each} if each else {}))
        for each in versions
    ]
    inventory = read_inventory(write(tmp_path / "i.jsonl", HEADER, DATASET, *lines), instance="cdap", now=TAKEN)
    assert inventory.entities == (EntityId("dataset", ("ns1", "a.b")), LIB)
    assert inventory.versions == ({LIB: known} if known else {})


def test_the_example_is_older_than_the_first_recorded_event() -> None:
    inventory = read_inventory(RECORDING / "baseline.jsonl", instance="cdap", now=2 * TAKEN)
    assert inventory.taken < 1795233856933
    assert EntityId("namespace", ("default",)) in inventory.entities


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty"),
        ([DATASET], "line 1"),
        ([HEADER.replace('"v":1', '"v":2')], "version 2"),
        ([HEADER.replace("cdap", "other")], "instance `other`"),
        ([HEADER.replace("Z", "")], "time zone"),
        ([HEADER.replace("2026", "2096")], "future"),
        ([HEADER, DATASET, "{"], "line 3"),
        ([HEADER, ""], "line 2"),
        ([HEADER, '{"type":"dataset","parts":["ns1"]}'], "line 2"),
        ([HEADER, '{"type":"dataset","parts":["ns1","*"]}'], "line 2"),
        ([HEADER, '{"type":"datset","parts":["ns1","a"]}'], "did you mean `dataset`"),
        ([HEADER, '{"type":"dataset","parts":["ns1","a"],"owner":"bob"}'], "line 2"),
        ([HEADER, '{"type":"dataset","parts":["ns1","a"],"versions":["1"]}'], "a dataset has no versions"),
        ([HEADER, '{"type":"artifact","parts":["ns1","a"],"versions":[]}'], "line 2"),
        ([HEADER, '{"type":"artifact","parts":["ns1","a"],"versions":[""]}'], "line 2"),
        ([HEADER, '{"type":"artifact","parts":["ns1","a"],"versions":"1.0.0"}'], "line 2"),
        ([HEADER, '{"type":"artifact","parts":["ns1","a"],"versions":null}'], "line 2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_line_refuses_the_file(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_inventory(write(tmp_path / "i.jsonl", *lines), instance="cdap", now=TAKEN)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_inventory(tmp_path / "none.jsonl", instance="cdap", now=TAKEN)
