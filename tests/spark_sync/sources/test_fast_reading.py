"""Fast readers decide as plain ones: the same reason, the same events, the same ids, whatever a line contains."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import SyncError
from ranger_cdap.ranger_model.strict_json import BadLine, read_object
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.sources import audit
from spark_sync.sources.line_reader import LineReading, bytes_of, checked_reading, read_line
from tests.spark_sync.sources.plain_reading import plain_check, plain_id, plain_object, plain_reading
from tests.spark_sync.sources.reading import NOW

SETTINGS = SourceSettings(name="s", kind="audit")
RECORDED = (Path(__file__).parents[2] / "data" / "cdap-audit-topic.jsonl").read_text(encoding="utf-8").splitlines()
SEARCH = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [0, 1, -1, 2**63 - 1, 2**63, 2**64, NEVER, NOW, NOW + 900_000, NOW + 900_001, 1.0, 2.0, -0.0, 1e16]
    ),
)
TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "alice", "ns1", "kv", "system", "a.b", "a b", "dataset", "DATASET", "stream", "CREATE", "DELETE", '"',
         "\\", "\x00", "\x7f", "\x1f\b\f", "\u2028", "é", "\U0001f600", "12345678-0000-0000-0000-123456789abc",
         "x" * 1001]
    ),
)  # fmt: skip
NAMES = st.sampled_from(["namespace", "dataset", "stream", "entity", "entityType", "type", "details", "x", "", "ü"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXTS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def messages(draw: st.DrawFn) -> str:
    """A message, recorded or made up, of which anything may be odd."""
    if draw(st.booleans()):
        found: dict[str, Any] = json.loads(draw(st.sampled_from(RECORDED)))
    else:
        names = {"namespace": "ns1", draw(st.sampled_from(["dataset", "stream"])): draw(TEXTS)}
        kind = draw(st.sampled_from(["dataset", "Dataset", "STREAM", "stream", "namespace"]))
        found = {"version": 2, "time": draw(st.integers(1, NOW)), "metadataEntity": {"details": names, "type": kind}}
        if draw(st.booleans()):
            found = {"version": 1, "time": found["time"], "entityId": names | {"entity": kind}}
        found |= {
            "user": "alice",
            "type": draw(st.sampled_from(["CREATE", "DELETE", "ACCESS"])),
            "payload": draw(VALUES),
        }
    for _ in range(draw(st.integers(0, 2))):
        into = draw(st.sampled_from([found, *(value for value in found.values() if isinstance(value, dict))]))
        name = draw(st.sampled_from(sorted(into)) if into else NAMES)
        if draw(st.integers(0, 3)):
            into[name] = draw(VALUES)
        else:
            into.pop(name, None)
        if draw(st.booleans()):
            into[draw(NAMES | st.sampled_from(["version", "time", "entityId", "metadataEntity", "user"]))] = draw(
                VALUES
            )
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r:\n")]))
    return json.dumps(found, ensure_ascii=draw(st.booleans()), separators=separators)


INSERTED = st.one_of(
    st.sampled_from(
        ['"user":"mallory",', '"us\\u0065r":"m",', '"x":1e999,', '"x":1E5,', '"x":' + "9" * 400 + ",", '"x":-0,',
         "\ufeff", '"x":' + "[" * 70 + "]" * 70 + ",", "{" * 65, "[" * 2000, '"', "\\", "\\ud800", "\\ud83d\\ude00",
         "\udc80", "\0",
         "NaN", "Infinity", "'", "/**/", "//", ",", "}", "]", "\n", "\x0b", '"version":2,', '"version":1.0,',
         '"time":01,', '"":0,"":0,']
    ),
    st.text(max_size=3),
)  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line with a message in which something may be repeated, replaced, inserted or cut off anywhere."""
    line = draw(messages())
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.sampled_from([1, *range(len(line) + 1)]))
        end = min(len(line), at + draw(st.integers(0, 3)))
        how = draw(st.sampled_from(["insert", "replace", "cut", "repeat"]))
        if how == "repeat":
            start, stop = sorted((at, draw(st.integers(0, len(line)))))
            line = line[:stop] + draw(st.sampled_from(["", ","])) + line[start:]
        elif how == "cut":
            line = line[:at]
        else:
            line = line[:at] + draw(INSERTED) + line[end if how == "replace" else at :]
    return line


def said(read: Any, line: str) -> object:
    """The value of a line, with the types of its numbers, or the reason of its rejection."""
    try:
        return repr(read(line))
    except BadLine as e:
        return str(e)


@given(lines())
@SEARCH
def test_a_line_has_the_value_that_a_plain_parser_finds(line: str) -> None:
    assert said(read_object, line) == said(plain_object, line)


@given(lines(), st.sampled_from([0, 1, NOW]))
@SEARCH
def test_a_message_is_read_as_a_plain_reader_reads_it(line: str, now: int) -> None:
    raw = bytes_of(line)
    assert read_line(audit.read, raw, SETTINGS, "cdap", now) == plain_reading(
        raw.decode("utf-8", "surrogateescape"), SETTINGS, now
    )


EXACT_TEXTS = st.sampled_from(
    ["", "a", "ns1", "kv", "dataset", "DATASET", "namespace", "creation-time", "a.b", "a b", ":", ",", "{}", "é", "\\n",
     '\\"', "\x7f", "\t", "\ud800", "0", "null", "x" * 1001]
)  # fmt: skip


@st.composite
def pairs(draw: st.DrawFn) -> str:
    """The inside of an object of texts, in which a name may come twice."""
    return ",".join(f'"{draw(EXACT_TEXTS)}":"{draw(EXACT_TEXTS)}"' for _ in range(draw(st.integers(0, 4))))


@st.composite
def exact_lines(draw: st.DrawFn) -> str:
    """A message in CDAP's form, or nearly so."""
    scopes = [
        f'"{draw(st.sampled_from(["SYSTEM", "USER"]))}":{{"properties":{{{draw(pairs())}}},"tags":[{tags}]}}'
        for tags in draw(st.lists(st.sampled_from(["", '"a"', '"a","a"', '"",', "1"]), min_size=3, max_size=3))
    ]
    payload = '"previous":{{{}}},"additions":{{{}}},"deletions":{{{}}}'.format(*scopes) if draw(st.booleans()) else ""
    details = (
        draw(st.sampled_from(['"namespace":"ns1","dataset":"kv"', '"dataset":"kv","namespace":"system"']))
        if (draw(st.booleans()))
        else draw(pairs())
    )
    time = draw(
        st.sampled_from(["1", "1795233856933", "1795233856000", "0", "01", "-1", "1.0", "1e3", "9" * 18, "9" * 19])
    )
    kind = draw(st.sampled_from(["dataset", "DATASET", "Dataset", "stream", "namespace"]) | EXACT_TEXTS)
    message = draw(st.sampled_from(["METADATA_CHANGE", "CREATE", "DELETE", "TRUNCATE"]) | EXACT_TEXTS)
    return (
        f'{{"version":{draw(st.sampled_from(["2", "2", "2", "1", "2.0"]))},"time":{time},"metadataEntity":'
        f'{{"details":{{{details}}},"type":"{kind}"}},"user":"{draw(EXACT_TEXTS)}","type":"{message}",'
        f'"payload":{{{payload}}}}}'
    )


@given(exact_lines(), st.data())
@SEARCH
def test_a_message_in_cdaps_form_is_read_as_a_plain_reader_reads_it(line: str, data: st.DataObject) -> None:
    if data.draw(st.booleans()):  # spoiled anywhere
        at = data.draw(st.integers(0, len(line)))
        line = line[:at] + data.draw(INSERTED) + line[at + data.draw(st.integers(0, 3)) :]
    raw = bytes_of(line)
    assert read_line(audit.read, raw, SETTINGS, "cdap", NOW) == plain_reading(
        raw.decode("utf-8", "surrogateescape"), SETTINGS, NOW
    )


def test_messages_as_recorded_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for one in a thousand, which must be read in the same way."""
    asked: list[str] = []

    def strictly(line: str, _: SourceSettings) -> LineReading:
        asked.append(line)
        return LineReading()

    monkeypatch.setattr(audit, "read_strictly", strictly)
    for line in RECORDED:
        audit.read(line, SETTINGS, "cdap")
    assert asked == []
    (line,) = [line for line in RECORDED if '"type":"TRUNCATE"' in line]
    sampled = re.sub('"time":[0-9]+', '"time":1795233856000', line)
    assert (audit.read(sampled, SETTINGS, "cdap"), asked) == (LineReading(), [sampled])
    created = next(line for line in RECORDED if '"type":"CREATE"' in line)
    with pytest.raises(SyncError, match="two readers differ"):
        audit.read(re.sub('"time":[0-9]+', '"time":1795233856000', created), SETTINGS, "cdap")


@pytest.mark.parametrize("line", RECORDED)
def test_a_recorded_message_is_read_as_before(line: str) -> None:
    reading = read_line(audit.read, line.encode(), SETTINGS, "cdap", NOW)
    assert reading == plain_reading(line, SETTINGS, NOW)
    assert reading.rejected is None


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
@SEARCH
def test_an_id_is_the_hash_of_the_text_that_python_writes(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    try:
        found = read_object(text)
    except BadLine:
        return
    assert audit.canonical(found) == plain_id(found)


TIMES = st.sampled_from([0, 1, NOW, NOW + 900_000, NOW + 900_001, NEVER])
EVENTS = st.builds(
    EntityEvent,
    entity=st.builds(
        EntityId,
        st.sampled_from(["dataset", "namespace", "application"]),
        st.lists(TEXTS, min_size=1, max_size=2).map(tuple),
    ),
    kind=st.sampled_from(ChangeKind),
    stage=st.sampled_from(Stage),
    user=TEXTS,
    started=TIMES,
    ended=TIMES,
    source=st.just("s"),
    id=st.sampled_from(["a", "b", "c"]),
    outcome=st.sampled_from(Outcome),
    version=st.sampled_from(["", "1"]),
)


@given(st.lists(EVENTS, max_size=4), st.sampled_from([0, NOW]), st.none() | st.just("bad"), st.none() | st.just("…"))
@SEARCH
def test_the_events_of_a_line_are_checked_as_plainly(
    events: list[EntityEvent], now: int, rejected: str | None, shown: str | None
) -> None:
    expected = plain_check("line", events, now, rejected=rejected, shown=shown)
    assert checked_reading("line", LineReading(rejected, tuple(events), shown), "s", now) == expected
