"""`parts_to_fold`: the entities that new events concern, in parts: of few events by queries, of many by spreading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.histories import (
    HistoryPart,
    concerns_others,
    entity_of,
    is_one_of,
    is_reached,
    may_concern,
    parts_of,
)
from spark_sync.ledger.ledger import FoldProgress
from spark_sync.ledger.ledger_queries import LedgerQueries, quoted
from spark_sync.ledger.ledger_rows import CHANGES, EVENTS, LIVES
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.spread_parts import SpreadPart, spread_parts

FEW_QUERIED: Final = 50_000
"""Events to be folded up to which what they concern is queried, part by part; for more the tables are read once."""


def parts_to_fold(
    tables: LedgerTables, queries: LedgerQueries, progress: FoldProgress
) -> tuple[int, Iterator[HistoryPart | SpreadPart]]:
    """Return the number of events that are to be folded, and the parts, which are read one by one.

    Raises:
        SyncError: the tables cannot be read.
    """
    ((events,),) = (row.values() for row in tables.query(queries.fresh_events(progress)))
    if events <= FEW_QUERIED:
        return events, (_part(tables, queries, some) for some in parts_of(_touched(tables, queries, progress)))
    sql = {
        "events": queries.spread_events(progress, concerns_others()),
        "changes": queries.spread_lives("changes", CHANGES.names),
        "ledger": queries.spread_lives("ledger", LIVES.names),
    }
    return events, spread_parts({name: tables.batches(sql[name]) for name in sql}, events)


def _touched(tables: LedgerTables, queries: LedgerQueries, progress: FoldProgress) -> set[EntityId]:
    """Return the entities whose lives the new events may change."""
    touched, above = set[EntityId](), set[tuple[EntityId, str]]()
    for row in tables.query(queries.new_events(progress, concerns_others())):
        entity = entity_of(row)
        if not row["child"]:
            touched.add(entity)
        if row["others"]:
            above.add((entity, row["child"]))
    if above:
        inside = f"namespace IN ({quoted(*sorted({entity.parts[0] for entity, _ in above}))})"
        lives = f"{queries.lives(inside, 'type, parts, bool_or(ended IS NULL) AS is_open')} GROUP BY 1, 2"
        known = {entity_of(row): row["is_open"] for row in tables.query(lives)}
        if any(child for _, child in above):  # a check may mean what has no life yet
            own = queries.rows("events", f"{inside} AND coalesce(child, '') = ''", "DISTINCT type, parts")
            known = dict.fromkeys(map(entity_of, tables.query(own)), False) | known
        touched |= {entity for entity, is_open in known.items() if is_reached(entity, above, is_open=is_open)}
    return touched


def _part(tables: LedgerTables, queries: LedgerQueries, entities: tuple[EntityId, ...]) -> HistoryPart:
    lives = tables.batches(queries.lives(is_one_of(entities)))
    events = tables.batches(queries.rows("events", may_concern(entities)))
    return HistoryPart(
        entities,
        tuple(batch.select(LIVES.names).cast(LIVES) for batch in lives),
        tuple(batch.select(EVENTS.names).cast(EVENTS) for batch in events),
    )
