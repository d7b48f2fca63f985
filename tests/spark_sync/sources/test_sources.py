"""What the sources `data-plane` and `audit` find in their lines, and which they reject, with reason and position."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.recording import RECORDING
from tests.spark_sync.sources.reading import Found, found_in_files, is_done, numbered, rows_in

if TYPE_CHECKING:
    from spark_sync.ingest.dead_letters import DeadLetter


def extract(kind: str, path: Path, callers: tuple[str, ...] = ("cdap-master",)) -> tuple[list[Found], list[DeadLetter]]:
    """What the files at a path hold."""
    return found_in_files(kind, path, callers=callers)


def write(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def stored(**changes: Any) -> dict[str, Any]:
    """A stored record of alice creating dataset ns1.kv; `record_...`, `check_...` change what is inside."""
    check: dict[str, Any] = {
        "principal": "alice",
        "kerberos": None,
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
        "handler": "DatasetInstanceHandler.create",
        "code": 200,
        "user_ip": "10.1.2.3",
        "started": 1000,
        "ended": 1010,
        "checks": [check],
    }
    outer: dict[str, Any] = {"id": "1", "caller": "cdap-master", "received": 2000, "record": record}
    for name, value in changes.items():
        where, _, key = name.partition("_")
        target = {"record": record, "check": check, "stored": outer}[where]
        if value is ...:
            target.pop(key, None)
        else:
            target[key] = value
    return outer


REFUSED: dict[str, tuple[str, str]] = {
    "blank": ("", "not one JSON object"),
    "garbage": ("nonsense", "not one JSON object"),
    "cut short": (json.dumps(stored())[:-20], "not one JSON object"),
    "an array": ("[]", "not one JSON object"),
    "two objects": (json.dumps(stored()) + json.dumps(stored()), "not one JSON object"),
    "two objects and a comma": (json.dumps(stored()) + "," + json.dumps(stored()), "not one JSON object"),
    "an end of its own": (json.dumps(stored()) + "]} x", "not one JSON object"),
    "null": ("null", "not one JSON object"),
    "trailing text": (json.dumps(stored()) + " x", "not one JSON object"),
    "another object": ('{"a":1}', "object contains unknown field `a`"),
    "no record": (json.dumps(stored(stored_record=...)), "object missing required field `record`"),
    "id twice": (json.dumps(stored())[:-1] + ',"id":"2"}', "field `id` is repeated"),
    "version 3": (json.dumps(stored(record_v=3)), "unknown version `3`"),
    "version true": (json.dumps(stored(record_v=True)), "unknown version `True`"),
    "version 2 without stamps": (json.dumps(stored(record_v=2)), "`id` of `checks[0]` is missing"),
    "version 1 with a stamp": (json.dumps(stored(check_at=5)), "`at` of `checks[0]` is not part of version 1"),
    "no version": (json.dumps(stored(record_v=...)), "object missing required field `v` - at `record`"),
    "an id inside": (json.dumps(stored(record_id="x")), "object contains unknown field `id` - at `record`"),
    "a caller inside": (
        json.dumps(stored(record_caller="cdap-master")),
        "object contains unknown field `caller` - at `record`",
    ),
    "a null received inside": (
        json.dumps(stored(record_received=None)),
        "object contains unknown field `received` - at `record`",
    ),
    "no id": (json.dumps(stored(stored_id=...)), "object missing required field `id`"),
    "an empty id": (json.dumps(stored(stored_id="")), "expected `str` of length >= 1 - at `id`"),
    "code as text": (json.dumps(stored(record_code="200")), "expected `int`, got `str` - at `record.code`"),
    "no list of checks": (
        json.dumps(stored(record_checks=...)),
        "object missing required field `checks` - at `record`",
    ),
    "a null check": (json.dumps(stored(record_checks=[None])), "expected `object`, got `null` - at `record.checks[0]`"),
    "allowed as text": (
        json.dumps(stored(check_allowed="yes")),
        "expected `bool`, got `str` - at `record.checks[0].allowed`",
    ),
    "a null part": (
        json.dumps(stored(check_parts=["ns1", None])),
        "expected `str`, got `null` - at `record.checks[0].parts[1]`",
    ),
    "a number as the user": (
        json.dumps(stored(check_principal=5)),
        "expected `str`, got `int` - at `record.checks[0].principal`",
    ),
    "a number with a point": (
        json.dumps(stored(record_started=1000.0)),
        "expected `int`, got `float` - at `record.started`",
    ),
    "an unknown caller": (
        json.dumps(stored(stored_caller="mallory")),
        "caller `mallory` is not one of the source's `callers`",
    ),
    "another instance": (json.dumps(stored(record_instance="prod")), "is of instance `prod`"),
    "a star": (
        json.dumps(stored(check_parts=["ns1", "*"], record_uri="/v3/namespaces/ns1/data/datasets/*")),
        "`dataset:ns1.*` is not a valid CDAP name",
    ),
    "an owner": (
        json.dumps(stored(check_parts=["ns1", "{OWNER}"], record_uri="/v3/namespaces/ns1/data/datasets/%7BOWNER%7D")),
        "`dataset:ns1.{OWNER}` is not a valid CDAP name",
    ),
    "a comma": (
        json.dumps(stored(check_parts=["ns1", "a,b"], record_uri="/v3/namespaces/ns1/data/datasets/a,b")),
        "`dataset:ns1.a,b` is not a valid CDAP name",
    ),
}


def test_refused_records_have_a_reason_and_a_position(tmp_path: Path) -> None:
    good = json.dumps(stored())
    path = write(tmp_path / "records.jsonl", [good, *(line for line, _ in REFUSED.values()), good])
    events, dead = extract("data-plane", path)
    assert events == [("CREATE", "dataset:ns1.kv", "alice", 1000)]
    found = {letter.line_number: letter for letter in dead}
    for number, (case, (line, reason)) in enumerate(REFUSED.items(), start=2):
        assert (case, found[number].reason) == (case, reason)
        assert line.startswith(found[number].line)
        assert found[number].file.endswith("records.jsonl")
    assert len(found) == len(REFUSED)


def test_the_position_is_right_in_each_of_many_files(tmp_path: Path) -> None:
    for n in range(1, 6):
        write(tmp_path / f"{n}.jsonl", [json.dumps(stored(stored_id=f"{n}.{k}")) for k in range(n)] + ["bad"])
    _, dead = extract("data-plane", tmp_path)
    assert [(Path(letter.file).name, letter.line_number) for letter in dead] == [
        (f"{n}.jsonl", n + 1) for n in range(1, 6)
    ]


# What makes an event (None: nothing), one change to the record above at a time.
COUNTED: dict[str, tuple[dict[str, Any], Found | None]] = {
    "created": ({}, ("CREATE", "dataset:ns1.kv", "alice", 1000)),
    "with a query": (
        {"record_uri": "/v3/namespaces/ns1/data/datasets/kv?x=1"},
        ("CREATE", "dataset:ns1.kv", "alice", 1000),
    ),
    "escaped in the URI": (
        {"record_uri": "/v3/namespaces/ns1/data/datasets/a%24b", "check_parts": ["ns1", "a$b"]},
        ("CREATE", "dataset:ns1.a$b", "alice", 1000),
    ),
    "denied": ({"check_allowed": False}, None),
    "failed": ({"record_code": 409}, None),
    "another method": ({"record_method": "POST"}, None),
    "another permission": ({"check_permissions": ["STANDARD.GET"]}, None),
    "a check on the parent": ({"check_child_type": "DATASET"}, None),
    "the URI names another": ({"record_uri": "/v3/namespaces/ns1/data/datasets/other"}, None),
    "the URI is in another namespace": ({"record_uri": "/v3/namespaces/ns2/data/datasets/kv"}, None),
    "a longer URI": ({"record_uri": "/v3/namespaces/ns1/data/datasets/kv/properties"}, None),
    "a line break after the URI": ({"record_uri": "/v3/namespaces/ns1/data/datasets/kv\n"}, None),
    "a local dataset": (
        {
            "record_uri": "/v3/namespaces/ns1/data/datasets/kv.c6175695-e562-11f1-bfbf-02fc00000001",
            "check_parts": ["ns1", "kv.c6175695-e562-11f1-bfbf-02fc00000001"],
        },
        None,
    ),
    "in the system namespace": (
        {"record_uri": "/v3/namespaces/system/data/datasets/kv", "check_parts": ["system", "kv"]},
        None,
    ),
    "dropped": (
        {"record_method": "DELETE", "check_permissions": ["STANDARD.DELETE"]},
        ("DELETE", "dataset:ns1.kv", "alice", 1010),
    ),
    "dropped with all": (
        {
            "record_method": "DELETE",
            "check_permissions": ["STANDARD.DELETE"],
            "record_uri": "/v3/namespaces/ns1/data/datasets",
        },
        ("DELETE", "dataset:ns1.kv", "alice", 1010),
    ),
    "truncated": (
        {
            "record_method": "POST",
            "check_permissions": ["STANDARD.DELETE"],
            "record_uri": "/v3/namespaces/ns1/data/datasets/kv/admin/truncate",
        },
        None,
    ),
    "metadata removed": (
        {
            "record_method": "DELETE",
            "check_permissions": ["STANDARD.DELETE"],
            "record_uri": "/v3/namespaces/ns1/datasets/kv/metadata",
        },
        None,
    ),
    # Of one version; whether the artifact is gone, the ledger knows.
    "one version of an artifact deleted": (
        {
            "record_method": "DELETE",
            "check_type": "ARTIFACT",
            "check_parts": ["ns1", "lib", "1.0.0"],
            "check_permissions": ["STANDARD.DELETE"],
            "record_uri": "/v3/namespaces/ns1/artifacts/lib/versions/1.0.0",
        },
        ("DELETE", "artifact:ns1.lib", "alice", 1010),
    ),
    "one version of an application deleted": (
        {
            "record_method": "DELETE",
            "check_type": "APPLICATION",
            "check_parts": ["ns1", "App", "1"],
            "check_permissions": ["STANDARD.DELETE"],
            "record_uri": "/v3/namespaces/ns1/apps/App/versions/1",
        },
        ("DELETE", "application:ns1.App", "alice", 1010),
    ),
    "a schedule, checked on its application": (
        {
            "check_type": "APPLICATION",
            "check_parts": ["ns1", "App", "-SNAPSHOT"],
            "check_permissions": ["APPLICATION.EXECUTE"],
            "record_uri": "/v3/namespaces/ns1/apps/App/schedules/daily",
        },
        ("CREATE", "schedule:ns1.App.daily", "alice", 1000),
    ),
}


@pytest.mark.parametrize("case", COUNTED)
def test_what_counts(case: str, counted: dict[str, list[Found]]) -> None:
    expected = COUNTED[case][1]
    assert counted.get(case, []) == ([] if expected is None else [expected])


@pytest.fixture(scope="module")
def counted() -> dict[str, list[Found]]:
    """What each case found; all are read at once, because Spark takes as long for one as for all."""
    lines = numbered((json.dumps(stored(stored_id=case, **changes)) for case, (changes, _) in COUNTED.items()))
    rows, dead = rows_in("data-plane", lines, callers=("cdap-master",))
    assert dead == []
    found: dict[str, list[Found]] = {}
    for row in rows:
        if is_done(row.stage, row.outcome):
            found.setdefault(row.id.partition("#")[0], []).append((row.kind, row.entity, row.user, row.time))
    return found


def test_one_record_may_tell_of_several_entities(tmp_path: Path) -> None:
    both = [
        {"principal": "alice", "type": kind, "parts": parts, "permissions": ["STANDARD.CREATE"], "allowed": True}
        for kind, parts in (("ARTIFACT", ["ns1", "lib", "1.0"]), ("APPLICATION", ["ns1", "App", "v"]))
    ]
    line = json.dumps(stored(record_method="POST", record_uri="/v3/namespaces/ns1/apps", record_checks=both * 2))
    events, _ = extract("data-plane", write(tmp_path / "r.jsonl", [line]))
    assert events == [
        ("CREATE", "application:ns1.App", "alice", 1000),
        ("CREATE", "artifact:ns1.lib", "alice", 1000),
    ]


def audit(**changes: Any) -> dict[str, Any]:
    message: dict[str, Any] = {
        "version": 2,
        "time": 1000,
        "metadataEntity": {"details": {"namespace": "ns1", "dataset": "kv"}, "type": "dataset"},
        "user": "alice",
        "type": "CREATE",
        "payload": {},
    }
    message |= changes
    return {name: value for name, value in message.items() if value is not ...}


AUDIT_REFUSED: dict[str, tuple[str, str]] = {
    "garbage": ("{", "not one JSON object"),
    "another object": ('{"a":1}', "object missing required field `version`"),
    "version 3": (json.dumps(audit(version=3)), "unknown version `3`"),
    "version 1 with the entity of version 2": (
        json.dumps(audit(version=1)),
        "object missing required field `entityId`",
    ),
    "no user": (json.dumps(audit(user=...)), "object missing required field `user`"),
    "no time": (json.dumps(audit(time=0)), "expected `int` >= 1 - at `time`"),
    "no dataset": (
        json.dumps(audit(metadataEntity={"details": {"namespace": "ns1"}, "type": "dataset"})),
        "`dataset:ns1.null` is not a valid CDAP name",
    ),
    "a star": (
        json.dumps(audit(metadataEntity={"details": {"namespace": "*", "dataset": "kv"}, "type": "dataset"})),
        "`dataset:*.kv` is not a valid CDAP name",
    ),
}


def test_audit_messages(tmp_path: Path) -> None:
    good = [
        json.dumps(audit()),
        json.dumps(audit(), indent=None, separators=(",", ":")),
        json.dumps(audit(type="TRUNCATE", time=1001)),
        json.dumps(audit(type="METADATA_CHANGE", time=1002, payload={"additions": {}})),
        json.dumps(audit(metadataEntity={"details": {"namespace": "ns1"}, "type": "namespace"})),
        json.dumps(audit(type="DELETE", time=1003)),
    ]
    path = write(tmp_path / "a.jsonl", [*good, *(line for line, _ in AUDIT_REFUSED.values())])
    events, dead = extract("audit", path)
    assert events == [("CREATE", "dataset:ns1.kv", "alice", 1000), ("DELETE", "dataset:ns1.kv", "alice", 1003)]
    assert [letter.reason for letter in dead] == [reason for _, reason in AUDIT_REFUSED.values()]


def test_nothing_of_the_recordings_is_refused() -> None:
    for kind, folder in (("audit", "audit"), ("data-plane", "data-plane")):
        events, dead = extract(kind, RECORDING / "events" / folder)
        assert dead == []
        assert events


def test_nobody_is_believed_where_no_caller_is_configured() -> None:
    events, dead = extract("data-plane", RECORDING / "events" / "data-plane", callers=())
    assert events == []
    reasons = {letter.reason for letter in dead if letter.line}
    assert reasons == {"caller `cdap-master` is not one of the source's `callers`"}
