"""Rows of the ledger's tables: their columns, and what a row stands for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from operator import attrgetter
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]

from ranger_cdap.cdap.entity import entity_type
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life

Row = Mapping[str, Any]

_ROWS_OF_A_BATCH: Final = 20_000

_TEXT, _NUMBER, _TEXTS = pa.string(), pa.int64(), pa.list_(pa.field("element", pa.string()))


def _fields(kind: pa.DataType, *names: str) -> list[pa.Field]:
    return [pa.field(name, kind) for name in names]


_KEY = [
    *_fields(_TEXT, "instance", "entity", "type"),
    *_fields(_TEXTS, "parts"),
    *_fields(_TEXT, "namespace", "application"),
]
NEW_EVENTS: Final = pa.schema(
    [
        *_fields(_TEXT, "source", "id"),
        *_KEY,
        *_fields(_TEXT, "kind", "user"),
        *_fields(_NUMBER, "time"),
        *_fields(_TEXT, "requester", "stage", "outcome"),
        *_fields(_NUMBER, "started", "ended"),
        *_fields(_TEXT, "clock", "check", "request", "version", "child", "refused"),
        *_fields(_NUMBER, "received"),
        *_fields(_TEXT, "caller"),
        *_fields(_NUMBER, "requested"),
    ]
)
EVENTS: Final = pa.schema([*NEW_EVENTS, *_fields(_NUMBER, "round")])
"""Events with the round in which they were stored."""
LIVES: Final = pa.schema(
    [
        *_KEY,
        *_fields(pa.int32(), "number"),
        *_fields(_TEXT, "state", "reason", "creator"),
        *_fields(_TEXTS, "accesses"),
        *_fields(_NUMBER, "begun"),
        *_fields(_TEXT, "begun_source", "begun_id"),
        *_fields(_NUMBER, "ended"),
        *_fields(_TEXT, "ended_source", "ended_id"),
        *_fields(_NUMBER, "policy_id", "policy_version"),
        *_fields(_TEXT, "source", "event"),
        *_fields(_TEXTS, "applied"),
        *_fields(_TEXT, "written"),
        *_fields(_NUMBER, "certain"),
        *_fields(_TEXTS, "candidates"),
        *_fields(_TEXT, "former"),
        *_fields(pa.bool_(), "revoke"),
        *_fields(_TEXTS, "versions"),
        *_fields(_TEXT, "taken"),
        *_fields(pa.int32(), "copy"),
        *_fields(_TEXT, "zone"),
        *_fields(pa.bool_(), "moves"),
        pa.field(
            "terms",
            pa.struct(
                [
                    *_fields(_TEXT, "profile"),
                    *_fields(pa.bool_(), "delegate_admin"),
                    # The group is not used any more; without it, a ledger that has it could not be written.
                    *_fields(_TEXT, "extra_group", "plugins"),
                ]
            ),
        ),
    ]
)
CHANGES: Final = pa.schema([*LIVES, *_fields(pa.bool_(), "dropped"), *_fields(_NUMBER, "sequence")])
"""Lives as `LIVES`; of several with one key the one of the highest `sequence` counts, and it counts before `LIVES`."""
BASELINE: Final = pa.schema(
    [
        *_fields(_TEXT, "instance"),
        *_fields(_NUMBER, "taken", "entities"),
        pa.field("journals", pa.map_(_TEXT, _TEXT)),
    ]
)

FILES: Final = pa.schema(_fields(_TEXT, "source", "path"))
"""The event files that were read; of those that are gone only the newest of a source stays."""
NOTES: Final = pa.schema([*_fields(_TEXT, "instance", "name", "value"), *_fields(_NUMBER, "sequence")])
"""How far the ledger is, as JSON by name; of several with one key the one of the highest `sequence` counts."""

LIFE_FIELDS: Final = (
    *("number", "creator", "state", "reason", "accesses", "policy_id", "policy_version", "source", "event", "applied"),
    *("written", "certain", "candidates", "former", "revoke", "versions", "taken", "copy", "zone", "moves"),
    "terms",
)
"""Columns of `LIVES` that are fields of a life."""

EVENT_FIELDS: Final = (
    *("source", "id", "kind", "stage", "user", "started", "ended", "outcome", "requester", "clock", "check"),
    *("request", "version", "child", "refused", "received", "caller", "requested"),
)
"""Columns of `EVENTS` that are fields of an event."""


def life_of(row: Row) -> Life:
    """Return the life of a row of `LIVES`."""
    return msgspec.convert(
        {
            "entity": {"type": row["type"], "parts": row["parts"]},
            "begun": _position(row, "begun", after_creations=False),
            "ended": None if row["ended"] is None else _position(row, "ended", after_creations=True),
            **{name: row[name] for name in LIFE_FIELDS},
            "zone": row["zone"] or "",  # a ledger of before zones has neither
            "moves": bool(row["moves"]),
        },
        Life,
    )


def event_of(row: Row) -> EntityEvent:
    """Return the event of a row of `EVENTS`."""
    entity = {"type": row["type"], "parts": row["parts"]}
    return msgspec.convert({"entity": entity, **{name: row[name] for name in EVENT_FIELDS}}, EntityEvent)


def change_row(instance: str, change: LedgerChange) -> dict[str, Any]:
    """Return a row of `CHANGES`, but for `sequence`."""
    if change.after:
        return life_row(instance, change.after) | {"dropped": False}
    return {"instance": instance, "entity": str(change.life.entity), "number": change.life.number, "dropped": True}


def life_row(instance: str, life: Life) -> dict[str, Any]:
    """Return a row of `LIVES`."""
    begun, ended = life.begun, life.ended
    parts, (namespace, application) = life.entity.parts, places_of(life.entity.type)
    return {
        "instance": instance,
        "entity": str(life.entity),
        "type": life.entity.type,
        "parts": parts,
        "namespace": None if namespace is None else parts[namespace],
        "application": None if application is None else parts[application],
        "begun": begun.time,
        "begun_source": begun.source,
        "begun_id": begun.id,
        "ended": ended.time if ended else None,
        "ended_source": ended.source if ended else None,
        "ended_id": ended.id if ended else None,
        **{name: getattr(life, name) for name in LIFE_FIELDS},
        "terms": msgspec.to_builtins(life.terms),
    }


def event_batch(instance: str, events: Sequence[EntityEvent]) -> pa.RecordBatch:
    """Return rows of `NEW_EVENTS`."""
    entities, places = [event.entity for event in events], [places_of(event.entity.type) for event in events]
    columns: dict[str, Sequence[Any]] = {
        "instance": [instance] * len(events),
        "entity": list(map(str, entities)),
        "type": [entity.type for entity in entities],
        "parts": [entity.parts for entity in entities],
        "namespace": [None if n is None else entity.parts[n] for entity, (n, _) in zip(entities, places, strict=True)],
        "application": [
            None if n is None else entity.parts[n] for entity, (_, n) in zip(entities, places, strict=True)
        ],
        "time": [event.time for event in events],
        **{name: list(map(attrgetter(name), events)) for name in EVENT_FIELDS},
    }
    return pa.RecordBatch.from_arrays(
        [pa.array(columns[each.name], each.type) for each in NEW_EVENTS], schema=NEW_EVENTS
    )


def batches(schema: pa.Schema, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """Yield rows as Arrow's batches of bounded size."""
    rest = iter(rows)
    while some := list(islice(rest, _ROWS_OF_A_BATCH)):
        yield pa.RecordBatch.from_pylist(some, schema=schema)


def together(batches: Iterable[pa.RecordBatch], count: int) -> Iterator[pa.Table]:
    """Yield batches put together until they have so many rows, without those that are empty."""
    some = list[pa.RecordBatch]()
    for batch in batches:
        some += [batch] if batch.num_rows else []
        if sum(each.num_rows for each in some) >= count:
            yield pa.Table.from_batches(some)
            some = []
    if some:
        yield pa.Table.from_batches(some)


@cache
def places_of(kind: str) -> tuple[int | None, int | None]:
    """Return which parts of an entity of that type are its namespace and application."""
    path = entity_type(kind).path[1:]
    namespace, application = (path.index(level) if level in path else None for level in ("namespace", "application"))
    return namespace, application


def _position(row: Row, name: str, *, after_creations: bool) -> dict[str, Any]:
    return {
        "time": row[name],
        "after_creations": after_creations,
        "source": row[f"{name}_source"],
        "id": row[f"{name}_id"],
    }
