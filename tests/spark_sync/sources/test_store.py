"""The decision service's store is what the sync job reads: every record it takes is read, and nothing half-written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranger_cdap.service.events.event_files import INCOMING, EventFiles
from ranger_cdap.service.events.event_store import EventStore
from ranger_cdap.wire.event_wire import Intake, JournalledCheck, journal_line, line_of
from spark_sync.ledger.event import NEVER
from tests.recording import RECORDING
from tests.spark_sync.sources.reading import Found, found_in_files, rows_of_files

if TYPE_CHECKING:
    pass

CALLER = "cdap-master"
TIME = 1_795_234_768_000


def recorded() -> list[dict[str, Any]]:
    """As the service takes them: it refuses a null where a field may be missing, which the recording has."""
    files = sorted((RECORDING / "events" / "data-plane").glob("*.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    records = [line["record"] for line in lines if "record" in line]
    return [{name: value for name, value in record.items() if value is not None} for record in records]


def store(directory: Path, records: list[dict[str, Any]]) -> None:
    """As the service does with what callers send, in several segments."""
    intake = Intake("cdap")
    store = EventStore(EventFiles(directory), segment_bytes=20_000)
    for record in records:
        store.append(line_of(intake.read(json.dumps(record).encode()), CALLER))
    store.close()


def test_all_of_the_store_is_read_and_means_the_same(tmp_path: Path) -> None:
    store(tmp_path / "events", recorded())
    (tmp_path / "events" / INCOMING / "1.jsonl").write_text('{"id":"half a li')
    assert len(list((tmp_path / "events").glob("*.jsonl"))) > 1
    wanted, _ = found_in_files("data-plane", RECORDING / "events" / "data-plane", callers=(CALLER,))
    events, dead = found_in_files("data-plane", tmp_path / "events", callers=(CALLER,))
    assert dead == []
    assert events == wanted
    assert events


def test_a_journalled_check_is_read_with_all_it_says(tmp_path: Path) -> None:
    process, name = "a" * 32, "b" * 32
    check = JournalledCheck(
        v=1,
        instance="cdap",
        process=process,
        at=TIME,
        principal="alice",
        type="ARTIFACT",
        parts=["ns1", "lib", "1.0.0"],
        permissions=["STANDARD.CREATE"],
        frame="",
    )
    store = EventStore(EventFiles(tmp_path / "events"), clock=lambda: TIME / 1000)
    store.append(lambda received: journal_line(name, "cdap-enforce", received, check))
    store.close()
    assert (tmp_path / "events" / ".watermark").exists()
    (row,), dead = rows_of_files("data-plane", tmp_path / "events", callers=(CALLER,))
    assert dead == []
    assert (row.id, row.stage, row.outcome, row.kind) == (
        f"{name}#CREATE#artifact:ns1.lib@1.0.0#{name}",
        "check",
        "unclear",
        "CREATE",
    )
    assert (row.entity, row.version, row.user, row.clock, row.check) == (
        "artifact:ns1.lib",
        "1.0.0",
        "alice",
        process,
        name,
    )
    assert (row.started, row.ended, row.caller) == (TIME, NEVER, "cdap-enforce")
    assert row.received >= TIME


def test_records_of_another_caller_are_not_believed(tmp_path: Path) -> None:
    store(tmp_path / "events", recorded()[:3])
    events, dead = found_in_files("data-plane", tmp_path / "events", callers=("another",))
    assert events == []
    assert {letter.reason for letter in dead} == {f"caller `{CALLER}` is not one of the source's `callers`"}


# Whatever the service takes is one line that the job reads; users it cannot grant to are the writer's business.
ODD: dict[str, tuple[dict[str, Any], Found | None]] = {
    "a line separator in a name": ({"principal": "a\u2028b"}, ("CREATE", "dataset:ns1.kv", "a\u2028b", TIME)),
    "a line break and a NUL in a name": ({"principal": "a\n\u0000"}, ("CREATE", "dataset:ns1.kv", "a\n\u0000", TIME)),
    "quotes and a backslash": ({"principal": 'a"\\"'}, ("CREATE", "dataset:ns1.kv", 'a"\\"', TIME)),
    "another plane": ({"principal": "\U0001f511"}, ("CREATE", "dataset:ns1.kv", "\U0001f511", TIME)),
    "no checks": ({"checks": []}, None),
    "no permissions": ({"permissions": []}, None),
    "a code that is none": ({"code": -1}, None),
    "a version of Java's longest": ({"type": "APPLICATION", "parts": ["ns1", "App", "x" * 5000]}, None),
}


def test_whatever_the_service_takes_is_read(tmp_path: Path) -> None:
    records = []
    for changes, _ in ODD.values():
        check: dict[str, Any] = {
            "principal": "alice",
            "type": "DATASET",
            "parts": ["ns1", "kv"],
            "permissions": ["STANDARD.CREATE"],
            "allowed": True,
        }
        record: dict[str, Any] = {
            "v": 1,
            "instance": "cdap",
            "method": "PUT",
            "uri": "/v3/namespaces/ns1/data/datasets/kv",
            "code": 200,
            "started": TIME,
            "ended": TIME + 1,
            "checks": [check],
        }
        for name, value in changes.items():
            (check if name in check else record)[name] = value
        records.append(record)
    store(tmp_path / "events", records)
    events, dead = found_in_files("data-plane", tmp_path / "events", callers=(CALLER,))
    assert dead == []
    assert sorted(events) == sorted(found for _, found in ODD.values() if found)
