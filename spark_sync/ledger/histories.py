"""Histories: the entities that new events concern, and per part of them what the fold needs. Pure but for the queries.

A part is read by one query of lives and one of events; its histories are folded by themselves, wherever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, entity_type, entity_types
from ranger_cdap.keyed import grouped
from spark_sync.ledger.event import ChangeKind
from spark_sync.ledger.ledger import History
from spark_sync.ledger.ledger_queries import quoted
from spark_sync.ledger.ledger_rows import Row, event_of, life_of
from spark_sync.ledger.matching import concerns

BELOW: Final[Mapping[str, tuple[str, ...]]] = {
    above: below
    for above in entity_types().keys() - {"instance"}
    if (below := tuple(name for name, known in entity_types().items() if above in known.path and name != above))
}
"""The entity types below each type: deleted with it, or meant by a check of it."""

ENTITIES_OF_A_PART: Final = 5_000

Above = AbstractSet[tuple[EntityId, str]]
"""Entities of events that concern what is in them, each with the type that a check means; empty for a deletion."""


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """Entities with the rows, as `LIVES`, of their lives and, as `EVENTS`, of all events that may concern them.

    It can be pickled.
    """

    entities: tuple[EntityId, ...]
    lives: tuple[pa.RecordBatch, ...]
    events: tuple[pa.RecordBatch, ...]

    def of(self, entities: Collection[EntityId]) -> HistoryPart:
        """Return the part of some of its entities."""
        above = {
            one for entity in entities for type_ in entity_type(entity.type).path if (one := entity.ancestor(type_))
        }
        lives = (batch.filter(_is_one_of(batch, entities)) for batch in self.lives)
        return HistoryPart(
            tuple(entities), tuple(lives), tuple(batch.filter(_is_one_of(batch, above)) for batch in self.events)
        )


def entity_of(row: Row) -> EntityId:
    """Return the entity of a row."""
    return EntityId(row["type"], tuple(row["parts"]))


def is_reached(entity: EntityId, above: Above, *, is_open: bool) -> bool:
    """Return whether a deletion, which concerns what exists, or a check may concern an entity below its own."""
    for type_ in entity_type(entity.type).path:
        place = entity.ancestor(type_)
        assert place is not None  # it is on the path
        if (place, entity.type) in above or (is_open and place != entity and (place, "") in above):
            return True
    return False


def parts_of(entities: Iterable[EntityId]) -> Iterator[tuple[EntityId, ...]]:
    """Yield the entities in parts, those of a namespace together."""
    found = sorted(entities, key=lambda entity: (entity.parts[0], entity))
    yield from (tuple(found[start : start + ENTITIES_OF_A_PART]) for start in range(0, len(found), ENTITIES_OF_A_PART))


def is_one_of(entities: Iterable[EntityId]) -> str:
    """Return the condition for rows of these entities."""
    return f"entity IN ({quoted(*map(str, entities))})"


def may_concern(entities: Iterable[EntityId]) -> str:
    """Return the condition for events that may concern one of these entities."""
    listed = tuple(entities)
    homes = sorted({entity.parts[0] for entity in listed})
    return f"{is_one_of(listed)} OR (namespace IN ({quoted(*homes)}) AND ({concerns_others()}))"


def concerns_others() -> str:
    """Return the condition for events that concern what is in their entity."""
    deletes = f"kind = {quoted(ChangeKind.DELETE.value)} AND type IN ({quoted(*BELOW)})"
    replaces = f"kind = {quoted(ChangeKind.CREATE.value)} AND type IN ({quoted(*load_creations().replaced)})"
    return f"({deletes}) OR ({replaces}) OR coalesce(child, '') <> ''"


def histories(part: HistoryPart) -> Iterator[History]:
    """Yield the history of each entity of a part."""
    lives = grouped((life.entity, life) for life in map(life_of, _rows(part.lives)))
    by_place = grouped((event.entity, event) for event in map(event_of, _rows(part.events)))
    for entity in part.entities:
        places = (entity.ancestor(type_) for type_ in entity_type(entity.type).path)
        told = (event for place in places if place in by_place for event in by_place[place])
        yield History(entity, tuple(event for event in told if concerns(entity, event)), tuple(lives.get(entity, ())))


def _is_one_of(batch: pa.RecordBatch, entities: Iterable[EntityId]) -> pa.BooleanArray:
    return pc.is_in(batch["entity"], value_set=pa.array(map(str, entities), pa.string()))


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from batch.to_pylist()
