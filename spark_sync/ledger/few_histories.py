"""Histories that a few new events concern: one query for lives and one for events, decided in this process.

`histories` finds the same ones for many events, by plans of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, entity_types
from spark_sync.ledger.event import ChangeKind
from spark_sync.ledger.ledger import History
from spark_sync.ledger.ledger_queries import quoted
from spark_sync.ledger.ledger_rows import Row, event_of, life_of
from spark_sync.ledger.life import Life
from spark_sync.ledger.matching import concerns

BELOW: Final[Mapping[str, tuple[str, ...]]] = {
    above: below
    for above in entity_types().keys() - {"instance"}
    if (below := tuple(name for name, known in entity_types().items() if above in known.path and name != above))
}
"""The entity types below each type: deleted with it, or meant by a check of it."""

_MOST_EVENTS: Final = 50_000
_MOST_LIVES: Final = 5_000

Select = Callable[[str, int], Iterator[Row]]
"""Returns the rows for which a condition of SQL holds, at most so many."""


def few_histories(new: Sequence[Row], events: Select, lives: Select) -> list[History] | None:
    """Return the histories that a few new events (`PLACE`, `kind` and `child`) concern.

    `None` if they concern many lives or many events.
    """
    direct = {_entity(row) for row in new if not row["child"]}
    above = [row for row in new if row["child"] or _deletes_below(row) or _replaces(row)]
    spaces = sorted({row["namespace"] for row in above})
    found = list(lives(f"{_is_one_of(direct)} OR namespace IN ({quoted(*spaces)})", _MOST_LIVES + 1))
    if len(found) > _MOST_LIVES:
        return None
    known: dict[EntityId, list[Life]] = {}
    for life in map(life_of, found):
        known.setdefault(life.entity, []).append(life)
    touched = direct | {
        entity
        for entity, of_it in known.items()
        if any(_reaches(row, entity) for row in above if row["child"] or any(life.is_open for life in of_it))
    }
    homes = sorted({entity.parts[0] for entity in touched})
    wanted = [_is_one_of(touched), f"({_concerns_others()}) AND namespace IN ({quoted(*homes)})"]
    wanted += [
        f"namespace = {quoted(row['namespace'])} AND type = {quoted(row['child'])}" for row in above if row["child"]
    ]
    rows = list(events(" OR ".join(f"({each})" for each in wanted), _MOST_EVENTS + 1))
    if len(rows) > _MOST_EVENTS:
        return None
    reported = [event_of(row) for row in rows]
    touched |= {
        event.entity
        for event in reported
        if not event.child and any(_reaches(row, event.entity) for row in above if row["child"])
    }
    return [
        History(entity, tuple(event for event in reported if concerns(entity, event)), tuple(known.get(entity, ())))
        for entity in sorted(touched)
    ]


def _entity(row: Row) -> EntityId:
    return EntityId(row["type"], tuple(row["parts"]))


def _deletes_below(row: Row) -> bool:
    return row["kind"] == ChangeKind.DELETE.value and row["type"] in BELOW


def _replaces(row: Row) -> bool:
    return row["kind"] == ChangeKind.CREATE.value and row["type"] in load_creations().replaced


def _reaches(row: Row, entity: EntityId) -> bool:
    """Return whether a deletion or a check may concern an entity below its own."""
    place = _entity(row)
    return entity.is_within(place) and (entity.type == row["child"] if row["child"] else entity != place)


def _is_one_of(entities: Iterable[EntityId]) -> str:
    return f"entity IN ({quoted(*sorted(map(str, entities)))})"


def _concerns_others() -> str:
    """Return the condition for events that concern more than one entity, as `histories.events_above`."""
    deletes = f"kind = {quoted(ChangeKind.DELETE.value)} AND type IN ({quoted(*BELOW)})"
    replaces = f"kind = {quoted(ChangeKind.CREATE.value)} AND type IN ({quoted(*load_creations().replaced)})"
    return f"({deletes}) OR ({replaces}) OR coalesce(child, '') <> ''"
