"""JSON lines are one object, without repeated fields, of the right types, bounded; and readers never raise."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.config import Secret
from ranger_cdap.ranger_model.strict_json import DEEPEST, LONGEST, BadLine, read_object
from spark_sync.ingest.dead_letters import MOST_LETTERS
from spark_sync.ledger.event import Stage
from spark_sync.ledger.ledger_rows import event_of
from tests.spark_sync.sources.reading import NOW, numbered, read_line, rows_in, rows_of_files
from tests.spark_sync.sources.test_audit import version_1
from tests.spark_sync.sources.test_http_access import FORGED, MARKER, entry, marked
from tests.spark_sync.sources.test_sources import audit, stored

if TYPE_CHECKING:
    pass

CALLERS = ("cdap-master",)
GIVEN: dict[str, dict[str, Any]] = {
    "data-plane": {"callers": CALLERS},
    "audit": {},
    "http-access": {"marker": Secret(MARKER)},
}
PROCESS, CHECK = "0" * 31 + "a", "0" * 31 + "c"


def stamped(**changes: Any) -> dict[str, Any]:
    """A stored record, version 2."""
    return stored(**({"record_v": 2, "check_id": CHECK, "check_process": PROCESS, "check_at": 1003} | changes))


def journalled(**changes: Any) -> dict[str, Any]:
    """The line of the check of that record; `check_...` changes what is inside."""
    check = {
        "v": 1,
        "instance": "cdap",
        "process": PROCESS,
        "at": 1003,
        "principal": "alice",
        "type": "DATASET",
        "parts": ["ns1", "kv"],
        "permissions": ["STANDARD.CREATE"],
        "frame": "DatasetInstanceHandler.create",
    }
    line: dict[str, Any] = {"id": CHECK, "caller": "cdap-enforce", "received": 1004, "check": check}
    for name, value in changes.items():
        where, _, key = name.partition("_")
        target = check if where == "check" else line
        if value is ...:
            target.pop(key, None)
        else:
            target[key] = value
    return line


GOOD: dict[str, tuple[str, str]] = {
    "a record": ("data-plane", json.dumps(stored())),
    "a record with stamps": ("data-plane", json.dumps(stamped())),
    "a record with escapes": ("data-plane", json.dumps(stored(check_principal='ali"c\\é\u2028'))),
    "a check": ("data-plane", json.dumps(journalled())),
    "a message": ("audit", json.dumps(audit())),
    "a message, version 1": ("audit", version_1()),
    "a line of the log": ("http-access", marked(entry("PUT /v3/namespaces/ns1", '- {"description":"d"} 200 46 -'))),
}


@pytest.mark.parametrize(("kind", "line"), GOOD.values(), ids=GOOD)
def test_good_lines_are_good(kind: str, line: str) -> None:
    reading = read_line(kind, line, **GIVEN[kind])
    assert reading.rejected is None
    assert len(reading.events) == 1


def other(user: str) -> str:
    """The inside of an object that is a whole creation of `victim` by that user."""
    line = stored(
        check_principal=user, check_parts=["ns1", "victim"], record_uri="/v3/namespaces/ns1/data/datasets/victim"
    )
    return json.dumps(line)[1:-1]


NOT_ONE: dict[str, tuple[str, str]] = {
    "out of the old wrapper": (
        "data-plane",
        "{" + other("mallory") + '}],"end":1,"objects":[{' + other("mallory") + "}",
    ),
    "out of the old wrapper of messages": (
        "audit",
        json.dumps(audit()) + '],"end":1,"objects":[' + json.dumps(audit()),
    ),
    "two objects": ("audit", json.dumps(audit()) * 2),
    "two objects and a comma": ("audit", json.dumps(audit()) + "," + json.dumps(audit())),
    "a list of one": ("audit", f"[{json.dumps(audit())}]"),
    "single quotes": ("audit", json.dumps(audit()).replace('"', "'")),
    "a name without quotes": ("audit", json.dumps(audit()).replace('"user"', "user")),
    "a comment": ("audit", json.dumps(audit())[:-1] + "/* */}"),
    "a comma too many": ("audit", json.dumps(audit())[:-1] + ",}"),
    "not a number": ("audit", json.dumps(audit(payload=math.nan))),
    "infinity": ("audit", json.dumps(audit(payload=math.inf))),
    "a number that is none": ("audit", json.dumps(audit())[:-1] + ',"x":1e999}'),
    "half a character": ("audit", json.dumps(audit())[:-1] + ',"x":"\\ud800"}'),
    "a control character": ("audit", json.dumps(audit())[:-1] + ',"x":"\x01"}'),
    "a byte order mark": ("audit", "\ufeff" + json.dumps(audit())),
    "a NUL behind it": ("audit", json.dumps(audit()) + "\0"),
}


@pytest.mark.parametrize(("kind", "line"), NOT_ONE.values(), ids=NOT_ONE)
def test_a_line_that_is_not_one_object_says_nothing(kind: str, line: str) -> None:
    reading = read_line(kind, line, **GIVEN[kind])
    assert (reading.rejected, reading.events) == ("not one JSON object", ())


REPEATED: dict[str, tuple[str, str]] = {
    "the user of a message": ("audit", json.dumps(audit())[:-1] + ',"user":"mallory"}'),
    "the user, escaped": ("audit", json.dumps(audit())[:-1] + ',"us\\u0065r":"mallory"}'),
    "the name of an entity": ("audit", json.dumps(audit()).replace('"kv"', '"a", "dataset": "kv"')),
    "within what is not read": ("audit", json.dumps(audit(payload=[{"a": 1}]))[:-3] + ', "a": 2}]}'),
    "the record": ("data-plane", json.dumps(stored())[:-1] + ',"record":{}}'),
    "the user of a check": (
        "data-plane",
        json.dumps(stored()).replace('"principal"', '"principal":"mallory","principal"'),
    ),
    "the user of a journalled check": (
        "data-plane",
        json.dumps(journalled()).replace('"principal"', '"principal":"mallory","principal"'),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "line"), REPEATED.values(), ids=REPEATED)
def test_a_field_that_comes_twice_says_nothing(kind: str, line: str) -> None:
    assert json.loads(line), "valid JSON for others"
    reading = read_line(kind, line, **GIVEN[kind])
    assert (reading.rejected or "").endswith("is repeated"), reading.rejected
    assert reading.events == ()


@pytest.mark.parametrize("kind", ["audit", "data-plane"])
def test_lines_that_are_too_long_are_not_parsed(kind: str) -> None:
    deep = "[" * (LONGEST + 1)
    assert read_line(kind, deep, **GIVEN[kind]).rejected == f"longer than {LONGEST} bytes"
    assert read_line(kind, "é" * (LONGEST // 2 + 1), **GIVEN[kind]).rejected == f"longer than {LONGEST} bytes"


def test_the_longest_line_is_read() -> None:
    line = json.dumps(audit(payload=""))
    assert read_line("audit", line[:-2] + "x" * (LONGEST - len(line)) + line[-2:]).rejected is None
    assert read_line("audit", line[:-2] + "x" * (LONGEST - len(line) + 1) + line[-2:]).rejected is not None


@pytest.mark.parametrize(("depth", "fine"), [(DEEPEST - 1, True), (DEEPEST, False), (5000, False), (400_000, False)])
def test_the_depth_is_bounded(depth: int, fine: bool) -> None:
    line = json.dumps(audit())[:-1] + ',"x":' + "[" * depth + "]" * depth + "}"
    assert (read_line("audit", line).rejected is None) is fine


def test_a_hundred_thousand_fields_take_no_time_per_pair() -> None:
    """Linear: with a look at all fields before each one this would take hours."""
    fields = ",".join(f'"a\\u0061{n}":1' for n in range(60_000))
    assert read_line("audit", f'{{{fields},"aa1":1}}').rejected == "field `aa1` is repeated"


def test_a_long_line_of_the_log_is_read_at_both_ends() -> None:
    body = "x" * (3 * LONGEST)
    line = marked(entry("PUT /v3/namespaces/ns1", f"- {body} 200 46 -"))
    reading = read_line("http-access", line, **GIVEN["http-access"])
    assert [str(event.entity) for event in reading.events] == ["namespace:ns1"]


# The law: events only where a check of another kind says that the line is one object of that shape.


def loads_strictly(line: str) -> Any:
    """JSON as the standard library reads it, where no field comes twice; nothing where it is no JSON."""
    found = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len(dict(pairs)) == len(pairs))
        return dict(pairs)

    def no_number(text: str) -> None:
        raise ValueError(text)

    try:
        value = json.loads(line, object_pairs_hook=once, parse_constant=no_number)
        line.encode()
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if all(found) else None


def texts(value: Any) -> bool:
    return type(value) is list and all(type(each) is str for each in value)


def shaped(value: Any, **fields: Callable[[Any], bool]) -> bool:
    """An object with these fields, each of its shape, and no other."""
    return type(value) is dict and value.keys() == fields.keys() and all(fits(value[n]) for n, fits in fields.items())


def is_text(value: Any) -> bool:
    return type(value) is str


def is_time(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**63


def is_stamp(value: Any) -> bool:
    return is_text(value) and len(value) == 32 and set(value) <= set("0123456789abcdef")


def is_check(value: Any, *, stamps: bool) -> bool:
    extra = {"id": is_stamp, "process": is_stamp, "at": is_time} if stamps else {}
    optional = {name: is_text for name in ("kerberos", "child_type") if type(value) is dict and value.get(name)}
    value = {name: part for name, part in value.items() if part or name != "kerberos"} if type(value) is dict else value
    return shaped(
        value, principal=is_text, type=is_text, parts=texts, permissions=texts, allowed=lambda v: type(v) is bool,
        **optional, **extra,
    )  # fmt: skip


def is_record(value: Any) -> bool:
    if type(value) is not dict or type(value.get("v")) is not int or value["v"] not in (1, 2):
        return False
    stamps = value["v"] == 2
    optional = {name: (lambda v: v is None or is_text(v)) for name in ("handler", "user_ip") if name in value}
    return shaped(
        value, v=lambda v: True, instance=lambda v: v == "cdap", method=is_text, uri=is_text,
        code=lambda v: type(v) is int, started=is_time, ended=is_time,
        checks=lambda v: type(v) is list and all(is_check(each, stamps=stamps) for each in v), **optional,
    )  # fmt: skip


def is_journalled(value: Any) -> bool:
    return shaped(
        value, v=lambda v: type(v) is int and v == 1, instance=lambda v: v == "cdap", process=is_stamp, at=is_time,
        principal=is_text, type=is_text, parts=texts, permissions=texts, frame=is_text,
    )  # fmt: skip


def is_stored(value: Any) -> bool:
    if type(value) is dict and "check" in value:
        return shaped(value, id=is_stamp, caller=is_text, received=is_time, check=is_journalled)
    return shaped(
        value, id=lambda v: is_text(v) and v != "", caller=lambda v: v in CALLERS, received=is_time, record=is_record
    )


def is_message(value: Any) -> bool:
    if type(value) is not dict or type(value.get("version")) is not int:
        return False
    if not (is_time(value.get("time")) and is_text(value.get("user")) and is_text(value.get("type"))):
        return False
    if value["version"] == 1:
        return type(value.get("entityId")) is dict
    entity = value.get("metadataEntity")
    return type(entity) is dict and type(entity.get("details")) is dict and is_text(entity.get("type"))


SHAPES: dict[str, Callable[[Any], bool]] = {"data-plane": is_stored, "audit": is_message}
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.just([]), st.just({}),
    st.sampled_from(["cdap", "*", "200", CHECK, CHECK.upper(), 2**63 - 1, 2**62, 1.0, [None], ["ns1", 5], {"a": {}}]),
)  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=6),
    st.sampled_from([*'{}[]",:\\', "],", '"v":2,', '"user":', "\ud800", "\udc80", "NaN", "\u2028", "'", "\\u0061"]),
)


@st.composite
def mutations(draw: st.DrawFn) -> tuple[str, str]:
    """A good line, changed: fields of other types, left out, added, twice; cut, doubled, with text put in."""
    kind, line = draw(st.sampled_from(list(GOOD.values())))
    if kind != "http-access":
        value = json.loads(line)
        for _ in range(draw(st.integers(0, 2))):
            places = [part for part in objects_in(value) if part]
            place = draw(st.sampled_from(places))
            name = draw(st.sampled_from(sorted(place)))
            if draw(st.booleans()):
                place[name] = deepcopy(draw(ODD))  # it may be changed next
            else:
                place[draw(st.sampled_from(["x", name + " ", *place]))] = place.pop(name)
        line = json.dumps(value, ensure_ascii=draw(st.booleans()))
        if draw(st.booleans()):
            name = draw(st.sampled_from(["user", "principal", "record", "id", "version", "v", "code", "parts"]))
            line = line.replace(f'"{name}"', f'"{name}": {json.dumps(draw(ODD))}, "{name}"', 1)
    how = draw(st.sampled_from(["as it is", "as it is", "cut", "doubled", "put in", "replaced"]))
    at = draw(st.integers(0, len(line)))
    if how == "cut":
        line = line[:at]
    elif how == "doubled":
        line = line + draw(TEXT) + line
    elif how == "put in":
        line = line[:at] + draw(TEXT) + line[at:]
    elif how == "replaced":
        line = line[:at] + draw(TEXT) + line[at + draw(st.integers(0, 5)) :]
    return kind, line


def objects_in(value: Any) -> list[dict[str, Any]]:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return ([value] if isinstance(value, dict) else []) + [found for each in inner for found in objects_in(each)]


@settings(max_examples=1500, suppress_health_check=[HealthCheck.too_slow])
@given(mutations())
def test_events_come_only_from_one_object_of_the_right_shape(case: tuple[str, str]) -> None:
    kind, line = case
    reading = read_line(kind, line, **GIVEN[kind])  # and it raises nothing
    assert {event.stage is Stage.REJECTED for event in reading.events} <= {reading.rejected is not None}
    for event in reading.events:
        assert event.source == "s"
        assert event.stage is Stage.REJECTED or event.started > 0
    if kind == "http-access":
        assert not reading.events or (line.startswith(f"{MARKER} ") and line.endswith(f" {MARKER}"))
        return
    value = loads_strictly(line)
    if reading.rejected is None:
        assert SHAPES[kind](value)
    if reading.events:
        assert type(value) is dict, "what cannot be read names nothing"


@given(st.text())
def test_whatever_comes_is_read_or_rejected(line: str) -> None:
    for kind in GIVEN:
        reading = read_line(kind, line, **GIVEN[kind])
        assert reading.rejected is not None
        assert reading.events == ()


ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(ANY, st.booleans())
def test_an_object_is_read_as_the_standard_library_reads_it(value: Any, ascii_only: bool) -> None:
    line = json.dumps(value, ensure_ascii=ascii_only)
    wanted = loads_strictly(line)
    if not isinstance(wanted, dict) or any(abs(n) >= 2**1000 for n in numbers_in(wanted)):
        return
    assert read_object(line) == wanted


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict | list):
        return [n for each in (value.values() if isinstance(value, dict) else value) for n in numbers_in(each)]
    return [value] if isinstance(value, int | float) else []


def test_what_is_no_object_is_a_bad_line() -> None:
    for line in ("", "null", "1", '"a"', "[]", "{", "{}}", "nonsense"):
        with pytest.raises(BadLine, match="not one JSON object"):
            read_object(line)


def test_the_readers_need_no_spark() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = sys.modules['pyarrow'] = None\n"
        "from spark_sync.sources import audit, data_plane, http_access, regular_files"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_batch_of_lines_is_read_as_each_of_them_alone() -> None:
    """One batch for each kind of lines of all sorts; also bytes that are no UTF-8, and lines that are too long."""
    odd = ["", " ", "\ufeff{}", FORGED, '{"a":"' + "x" * LONGEST + '"}']
    for kind in GIVEN:
        good = [line for of, line in GOOD.values() if of == kind]
        bad = [line for table in (NOT_ONE, REPEATED) for of, line in table.values() if of == kind]
        cut = [line[:at] for line in good for at in range(0, len(line), 17)]
        late = [line.replace("1000", str(NOW + 900_001)).replace("1010", str(NOW + 900_002)) for line in good]
        long = (
            [marked(entry("PUT /v3/namespaces/long", f"- {'é' * LONGEST} 200 46 -"))] if kind == "http-access" else []
        )
        lines = [*good, *bad, *cut, *late, *long, *odd]
        readings = [read_line(kind, line, **GIVEN[kind]) for line in lines]
        rows, dead = rows_in(kind, numbered(lines), **GIVEN[kind])
        events = {event.id: event for reading in reversed(readings) for event in reading.events}
        assert {row.id: event_of(vars(row)) for row in rows} == events
        rejected = [
            (n, reading.rejected) for n, reading in enumerate(readings, start=1) if reading.rejected is not None
        ]
        assert [(letter.block, letter.reason) for letter in dead[:MOST_LETTERS]] == rejected[:MOST_LETTERS]
        assert sum(letter.lines for letter in dead) == len(rejected)
        assert events


def test_bytes_that_are_no_utf_8_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(json.dumps(audit(user="a?b")).encode().replace(b"a?b", b"a\xffb"))
    rows, dead = rows_of_files("audit", tmp_path)
    assert rows == []
    assert [letter.reason for letter in dead] == ["not UTF-8"]
