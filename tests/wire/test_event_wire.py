"""Which records are believed: the format of docs/reference/events.md, field by field."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.ranger_model.json_text import Undecodable
from ranger_cdap.ranger_model.strict_json import decode_strictly
from ranger_cdap.wire.event_wire import BadRecord, CheckRecord, Fault, Intake, Record, StoredRecord, line_of
from tests.recording import RECORDING
from tests.service.event_samples import ID, Json, record, stamped

INTAKE = Intake("cdap")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
RECORDED = RECORDING / "events" / "data-plane"


def read(content: Json | str) -> Record:
    return INTAKE.read((content if isinstance(content, str) else json.dumps(content)).encode())


def line(content: Json | str, caller: str = "cdap-master", received: int = 1) -> Json:
    stored: Json = json.loads(line_of(read(content), caller)(received))
    return stored


REFUSED: dict[str, tuple[Json | str, Fault, str]] = {
    "another version": (record(v=3), Fault.VERSION, "unknown version `3`"),
    "the version with a fraction": (record(v=1.0), Fault.VERSION, "unknown version `1.0`"),
    "the version as a list": (record(v=[2]), Fault.VERSION, "unknown version `[2]`"),
    "version 2 without stamps": (record(v=2), Fault.FORMAT, "`id` of `checks[0]` is missing"),
    "version 2 without the id": (stamped(check_id=...), Fault.FORMAT, "`id` of `checks[0]` is missing"),
    "version 2 without the process": (stamped(check_process=...), Fault.FORMAT, "`process` of `checks[0]` is missing"),
    "version 2 without the time": (stamped(check_at=...), Fault.FORMAT, "`at` of `checks[0]` is missing"),
    "version 1 with an id": (record(check_id=ID), Fault.FORMAT, "`id` of `checks[0]` is not part of version 1"),
    "version 1 with a process": (record(check_process=ID), Fault.FORMAT, "`process` of `checks[0]` is not part"),
    "version 1 with a time": (record(check_at=1), Fault.FORMAT, "`at` of `checks[0]` is not part of version 1"),
    "an id in capitals": (stamped(check_id="A" * 32), Fault.FORMAT, "`checks[0].id"),
    "an id with a line break": (stamped(check_id="a" * 31 + "\n"), Fault.FORMAT, "`checks[0].id"),
    "an id and a line break": (stamped(check_id="a" * 32 + "\n"), Fault.FORMAT, "`checks[0].id"),
    "a short process": (stamped(check_process="a" * 31), Fault.FORMAT, "`checks[0].process"),
    "a null process": (stamped(check_process=None), Fault.FORMAT, "`checks[0].process"),
    "a time of a check as text": (stamped(check_at="1"), Fault.FORMAT, "`checks[0].at"),
    "a time of a check before 1970": (stamped(check_at=-1), Fault.FORMAT, "`checks[0].at"),
    "no version": (record(v=...), Fault.VERSION, "unknown version `None`"),
    "the version as text": (record(v="1"), Fault.VERSION, "unknown version `1`"),
    "the version as a truth": (record(v=True), Fault.VERSION, "unknown version `True`"),
    "no object": ("[]", Fault.FORMAT, "expected `object`"),
    "an id inside": (record(id="x"), Fault.FORMAT, "unknown field `id`"),
    "a caller inside": (record(caller="cdap-master"), Fault.FORMAT, "unknown field `caller`"),
    "a null received inside": (record(received=None), Fault.FORMAT, "unknown field `received`"),
    "a field twice": (json.dumps(record())[:-1] + ',"code":500}', Fault.FORMAT, "field `code` is repeated"),
    "a field of a check twice": (
        json.dumps(record()).replace('"allowed": true', '"allowed": true, "allowed": false'),
        Fault.FORMAT,
        "field `allowed` is repeated",
    ),
    "another instance": (record(instance="prod"), Fault.INSTANCE, "is of instance `prod`, not of `cdap`"),
    "no instance": (record(instance=...), Fault.FORMAT, "missing required field `instance`"),
    "a code as text": (record(code="200"), Fault.FORMAT, "expected `int`, got `str`"),
    "a code with a fraction": (record(code=200.5), Fault.FORMAT, "expected `int`, got `float`"),
    "a code no integer of Java holds": (record(code=2**31), Fault.FORMAT, "<= 2147483647"),
    "a time no long of Java holds": (record(ended=2**63), Fault.FORMAT, "`ended"),
    "a time of zero": (record(started=0), Fault.FORMAT, ">= 1"),
    "a null method": (record(method=None), Fault.FORMAT, "`method"),
    "no checks": (record(checks=...), Fault.FORMAT, "missing required field `checks`"),
    "a null check": (record(checks=[None]), Fault.FORMAT, "`checks[0]"),
    "allowed as text": (record(check_allowed="yes"), Fault.FORMAT, "`checks[0].allowed"),
    "allowed as a number": (record(check_allowed=1), Fault.FORMAT, "`checks[0].allowed"),
    "a null part": (record(check_parts=["ns1", None]), Fault.FORMAT, "`checks[0].parts[1]"),
    "parts as one text": (record(check_parts="ns1.kv"), Fault.FORMAT, "`checks[0].parts"),
    "a field nobody knows in a check": (record(check_groups=["g"]), Fault.FORMAT, "unknown field `groups`"),
    "half a character": (json.dumps(record()).replace("alice", "\\ud800"), Fault.FORMAT, "JSON is malformed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_record_is_refused_and_the_reason_says_what_is_wrong(case: str) -> None:
    content, fault, reason = REFUSED[case]
    with pytest.raises(BadRecord, match=re.escape(reason)) as caught:
        read(content)
    assert caught.value.fault is fault


ACCEPTED: dict[str, Json] = {
    "as it is": record(),
    "without what may be missing": record(handler=..., user_ip=..., check_kerberos=...),
    "on the children of an entity": record(check_child_type="DATASET"),
    "with a Kerberos name": record(check_kerberos="alice/host@REALM"),
    "asked with no permission": record(check_permissions=[]),
    "no check at all": record(checks=[]),
    "denied": record(check_allowed=False, code=403),
    "with a stamp": stamped(),
    "of version 2 without any check": record(v=2, checks=[]),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_is_stored_is_what_was_sent(case: str) -> None:
    sent = ACCEPTED[case]
    stored = line(sent, received=7)
    assert stored["record"] == sent
    assert (stored["caller"], stored["received"]) == ("cdap-master", 7)
    assert stored.keys() == {"id", "caller", "received", "record"}


TABLES = {
    "| `id` |": StoredRecord,
    "| `v` |": Record,
    "| `principal` |": CheckRecord,
}


@pytest.mark.parametrize("first", TABLES)
def test_the_structs_have_the_fields_of_the_documented_tables(first: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index(first) :].split("\n\n")[0]
    documented = {}
    for row in table.splitlines():
        names, kind, _ = (cell.strip() for cell in row.strip("|").split("|", 2))
        for name in names.replace("`", "").split(", "):
            documented[name] = "may be missing" in kind
    fields = msgspec.structs.fields(TABLES[first])
    assert {field.name: not field.required for field in fields} == documented


def test_the_same_record_has_the_same_id_however_it_is_written() -> None:
    sent = record()
    other = json.dumps(dict(reversed(list(sent.items()))), indent=1).replace("alice", "\\u0061lice")
    assert line(sent)["id"] == line(other, received=2)["id"]


@pytest.mark.parametrize("field", ["handler", "user_ip", "check_child_type"])
def test_null_is_a_missing_field(field: str) -> None:
    without, null = record(**{field: ...}), record(**{field: None})
    assert line(null) == line(without)
    assert "null" not in json.dumps(line(null)["record"] | {"checks": []})


def test_every_record_of_the_examples_is_accepted() -> None:
    lines = [json.loads(text) for path in sorted(RECORDED.iterdir()) for text in path.read_text().splitlines()]
    records = [stored["record"] for stored in lines if "record" in stored]
    assert any(one["user_ip"] is None for one in records)
    for one in records:
        read(one)


def test_another_caller_or_another_record_has_another_id() -> None:
    ids = [
        line(record())["id"],
        line(record(), caller="other")["id"],
        line(record(2))["id"],
        line(record(check_allowed=False))["id"],
    ]
    assert len(set(ids)) == len(ids)


HOSTILE = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(HOSTILE, HOSTILE, st.lists(HOSTILE, max_size=3))
def test_a_stored_record_is_one_line_whatever_the_names_are(user: str, uri: str, parts: list[str]) -> None:
    sent = record(uri=uri, check_principal=user, check_parts=parts)
    made = line_of(read(sent), "cdap-master")(1)
    assert made.count(b"\n") == 1
    assert made.endswith(b"\n")
    assert b"\r" not in made
    assert json.loads(made)["record"] == sent


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=3)))
def test_no_json_at_all_breaks_the_reader(anything: Any) -> None:
    for content in (anything, {"v": 1, "checks": anything}, record(checks=anything), record(v=anything)):
        with suppress(BadRecord):
            read(json.dumps(content))


def test_a_field_is_found_twice_among_very_many() -> None:
    """Looked for among those before it, the last of so many fields takes hours."""
    many = [f'"\\u006e{n}":0' for n in range(300_000)]
    with pytest.raises(Undecodable, match="a field is repeated"):
        decode_strictly(f"{{{','.join([*many, many[-1]])}}}".encode(), dict)
    decode_strictly(f"{{{','.join(many)}}}".encode(), dict)
