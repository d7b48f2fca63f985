"""Lives page by page, so that of a large ledger only some are in memory: those of an entity are on one page."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.ledger_queries import ROWS, SAMPLE, LedgerQueries, slices
from spark_sync.ledger.ledger_rows import LIVES, life_of
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.life import Life

_LIVES_AT_A_TIME: Final = 50_000


def current_slices(tables: LedgerTables) -> tuple[str, ...]:
    """Return the conditions for ranges of entities that have about `_LIVES_AT_A_TIME` rows each."""
    ((rows,),) = (row.values() for row in tables.query(ROWS))
    count = -(-rows // _LIVES_AT_A_TIME)
    return slices([row["entity"] for row in tables.query(SAMPLE)] if count > 1 else (), count)


def read_pages(
    tables: LedgerTables, queries: LedgerQueries, condition: str, entities: Collection[EntityId] = ()
) -> Iterator[list[Life]]:
    """Yield the lives by entity and number; of the entities, if there are any. Each page is read when it is asked for.

    Raises:
        SyncError: the tables cannot be read.
    """
    names = pa.array(map(str, entities), pa.string())
    for within in current_slices(tables):
        found = list[Life]()
        for batch in tables.batches(queries.lives(condition, within=within)):
            if entities:
                batch = batch.cast(LIVES)
                batch = batch.filter(pc.is_in(batch.column("entity"), value_set=names))
            found += map(life_of, batch.to_pylist())
        if found:
            yield sorted(found, key=lambda life: (str(life.entity), life.number))
