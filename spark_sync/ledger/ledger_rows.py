"""Rows of the ledger's tables, as dictionaries by column; how Spark reads and writes them is in `spark_rows`.

Columns that an earlier release did not have are null in its rows; `life_of` and `event_of` say what that means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]

from ranger_cdap.cdap.entity import EntityId, entity_type
from spark_sync.ledger.event import EntityEvent, Outcome, Stage, Strength
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life

Row = Mapping[str, Any]

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
        *_fields(_TEXT, "kind", "strength", "user"),
        *_fields(_NUMBER, "time"),
        *_fields(_TEXT, "requester", "stage", "outcome"),
        *_fields(_NUMBER, "started", "ended"),
        *_fields(_TEXT, "clock", "check", "request", "version", "child"),
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
        *_fields(_TEXT, "conflict", "written"),
        *_fields(_NUMBER, "certain"),
        *_fields(_TEXTS, "candidates"),
        *_fields(_TEXT, "former"),
        *_fields(pa.bool_(), "revoke"),
        *_fields(_TEXTS, "versions"),
        *_fields(pa.int32(), "rule"),
        pa.field(
            "terms",
            pa.struct(
                [
                    *_fields(_TEXT, "profile"),
                    *_fields(pa.bool_(), "delegate_admin"),
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

PLACE: Final = ("entity", "type", "parts", "namespace", "application")
"""The columns that name an entity and what it is in."""

_LIFE_TEXTS = ("source", "event", "written", "conflict", "former")
_LIFE_LISTS = ("accesses", "applied", "candidates")
_LIFE_SAME = ("number", "creator", "state", "reason", "policy_id", "policy_version", "versions", "terms")
_EVENT_TEXTS = ("requester", "clock", "check", "request", "version", "child", "caller")
_EVENT_TIMES = ("started", "ended", "received")
_EVENT_SAME = ("kind", "user", "source", "id")


def life_of(row: Row) -> Life:
    """Return the life of a row of `LIVES`; a row without a rule was decided by the first one."""
    certain, rule = row["certain"], row["rule"]
    return msgspec.convert(
        {
            "entity": {"type": row["type"], "parts": row["parts"]},
            "begun": _position(row, "begun", after_creations=False),
            "ended": None if row["ended"] is None else _position(row, "ended", after_creations=True),
            **{name: row[name] or "" for name in _LIFE_TEXTS},
            **{name: row[name] or () for name in _LIFE_LISTS},
            **{name: row[name] for name in _LIFE_SAME},
            "certain": row["begun"] if certain is None else certain,
            "revoke": bool(row["revoke"]),
            "rule": 1 if rule is None else rule,
        },
        Life,
    )


def event_of(row: Row) -> EntityEvent:
    """Return the event of a row of `EVENTS`; a row of the first release has a single time."""
    by_cdap = row["strength"] == Strength.AUTHORITATIVE.value
    return msgspec.convert(
        {
            "entity": {"type": row["type"], "parts": row["parts"]},
            **{name: row[name] for name in _EVENT_SAME},
            "stage": row["stage"] or (Stage.MESSAGE if by_cdap else Stage.REQUEST).value,
            "outcome": row["outcome"] or Outcome.DONE.value,
            **{name: row["time"] if row[name] is None else row[name] for name in _EVENT_TIMES},
            **{name: row[name] or "" for name in _EVENT_TEXTS},
            "requested": row["requested"] or 0,
        },
        EntityEvent,
    )


def change_rows(instance: str, change: LedgerChange) -> Iterator[dict[str, Any]]:
    """Return a row of `CHANGES`, but for `sequence`, for each life that a change writes or drops."""
    for life in change.lives:
        yield life_row(instance, life) | {"dropped": False}
    written = {life.number for life in change.lives}
    for number in change.dropped:
        if number in written:
            continue
        yield {"instance": instance, "entity": str(change.entity), "number": number, "dropped": True}


def life_row(instance: str, life: Life) -> dict[str, Any]:
    """Return a row of `LIVES`."""
    begun, ended = life.begun, life.ended
    return _place(instance, life.entity) | {
        "number": life.number,
        "state": life.state.value,
        "reason": life.reason,
        "creator": life.creator,
        "accesses": life.accesses,
        "begun": begun.time,
        "begun_source": begun.source,
        "begun_id": begun.id,
        "ended": ended.time if ended else None,
        "ended_source": ended.source if ended else None,
        "ended_id": ended.id if ended else None,
        "policy_id": life.policy_id,
        "policy_version": life.policy_version,
        "source": life.source,
        "event": life.event,
        "applied": life.applied,
        "conflict": life.conflict,
        "written": life.written,
        "certain": life.certain,
        "candidates": life.candidates,
        "former": life.former,
        "revoke": life.revoke,
        "versions": life.versions,
        "rule": life.rule,
        "terms": msgspec.to_builtins(life.terms),
    }


def event_row(instance: str, event: EntityEvent) -> dict[str, Any]:
    """Return a row of `EVENTS` without its round."""
    fields = ("source", "id", "user", "requester", "started", "ended", "clock", "check", "request", "version", "child")
    return _place(instance, event.entity) | {
        "kind": event.kind.value,
        "strength": Strength.AUTHORITATIVE.value if event.stage is Stage.MESSAGE else Strength.AMBIGUOUS.value,
        "stage": event.stage.value,
        "outcome": event.outcome.value,
        "time": event.position.time,
        "received": event.received,
        "caller": event.caller,
        "requested": event.requested,
        **{name: getattr(event, name) for name in fields},
    }


def _place(instance: str, entity: EntityId) -> dict[str, Any]:
    application = entity.ancestor("application") if "application" in entity_type(entity.type).path else None
    return {
        "instance": instance,
        "entity": str(entity),
        "type": entity.type,
        "parts": entity.parts,
        "namespace": entity.namespace,
        "application": application.parts[-1] if application else None,
    }


def _position(row: Row, name: str, *, after_creations: bool) -> dict[str, Any]:
    return {
        "time": row[name],
        "after_creations": after_creations,
        "source": row[f"{name}_source"],
        "id": row[f"{name}_id"],
    }
