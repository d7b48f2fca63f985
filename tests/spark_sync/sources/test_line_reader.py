"""Sources of other plugins are held to the same rules: names, times, complete events; and each event counts once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.sources.line_reader import INCOMPLETE, TOO_EARLY, LineReading, read_line
from tests.spark_sync.sources.reading import NOW

KV = EntityId("dataset", ("ns1", "kv"))
EVENT = EntityEvent(KV, ChangeKind.CREATE, Stage.REQUEST, "alice", 1000, 1010, "elsewhere", "1", received=1020)
LATE = NOW + 900_001
LOST = (Stage.REJECTED, 0, NEVER)


def dataset(*parts: Any) -> EntityId:
    return EntityId("dataset", parts)


# What a plugin's source finds in a line, why that is rejected, and what counts of it: stage, start, end.
FOUND: dict[str, tuple[dict[str, Any], str | None, tuple[Stage, int, int] | None]] = {
    "a creation": ({}, None, (Stage.REQUEST, 1000, 1010)),
    "its end is not known": ({"ended": NEVER}, None, (Stage.REQUEST, 1000, NEVER)),
    "of the system namespace": ({"entity": dataset("system", "kv")}, None, None),
    "a star": ({"entity": dataset("ns1", "*")}, "`dataset:ns1.*` is not a valid CDAP name", None),
    "an unknown type": ({"entity": EntityId("table", ("ns1", "kv"))}, "`table:ns1.kv` is not a valid CDAP name", None),
    "a star, and denied": ({"entity": dataset("ns1", "*"), "outcome": Outcome.NOTHING}, None, None),
    "nearly too early": ({"started": LATE - 1, "ended": LATE - 1}, None, (Stage.REQUEST, LATE - 1, LATE - 1)),
    "too early": ({"started": LATE, "ended": LATE}, TOO_EARLY, LOST),
    "ends too late": ({"ended": LATE}, TOO_EARLY, (Stage.REJECTED, 1000, NEVER)),
    "an end beyond that": ({"ended": NEVER + 1}, TOO_EARLY, (Stage.REJECTED, 1000, NEVER)),
    "too early, and denied": ({"started": LATE, "ended": LATE, "outcome": Outcome.NOTHING}, TOO_EARLY, None),
    "too early, without a user": ({"started": LATE, "ended": LATE, "user": ""}, TOO_EARLY, None),
    "a time that is none": ({"started": None}, INCOMPLETE, None),
    "a user that is none": ({"user": None}, INCOMPLETE, None),
    "a user that is no text": ({"user": "\udcff"}, INCOMPLETE, None),
    "a kind that is none": ({"kind": "CREATE"}, INCOMPLETE, None),
    "a part that is none": ({"entity": dataset("ns1", None)}, INCOMPLETE, None),
    "no id": ({"id": None}, INCOMPLETE, None),
}


def read(*events: EntityEvent, rejected: str | None = None, line: bytes = b"line") -> LineReading:
    def reader(line: str, settings: SourceSettings, instance: str) -> LineReading:
        return LineReading(rejected, events)

    return read_line(reader, line, SourceSettings(name="s", kind="x"), "cdap", NOW)


def test_an_event_of_a_plugin_counts_only_if_it_can_be_believed() -> None:
    found = {}
    for case, (changes, _, _) in FOUND.items():
        reading = read(replace(EVENT, **changes))
        event = next(iter(reading.events), None)
        found[case] = (reading.rejected, (event.stage, event.started, event.ended) if event else None)
    assert found == {case: (rejected, counts) for case, (_, rejected, counts) in FOUND.items()}


def test_what_can_be_read_of_a_rejected_line_is_kept_under_another_id() -> None:
    reading = read(EVENT, rejected="why", line=b"a line")
    (event,) = reading.events
    assert (reading.rejected, reading.shown) == ("why", "a line")
    assert (event.stage, event.outcome, event.source) == (Stage.REJECTED, Outcome.UNCLEAR, "s")
    assert event.id not in {EVENT.id, *(each.id for each in read(EVENT, rejected="why", line=b"another").events)}


def test_a_reader_names_neither_another_source_nor_an_event_twice() -> None:
    reading = read(EVENT, replace(EVENT, user="bob"), replace(EVENT, id="2"))
    assert [(event.id, event.user, event.source) for event in reading.events] == [
        ("1", "alice", "s"),
        ("2", "alice", "s"),
    ]
