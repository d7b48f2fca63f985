"""Parts of many entities: each table is read once, and its rows are spread over parts in temporary files.

Rows of an entity are in the part of its first two names, because deletions and checks concern what is in an entity;
events about a namespace are in every part. In memory are one part, and the rows that are being spread.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import BinaryIO, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.histories import ENTITIES_OF_A_PART, HistoryPart, is_reached
from spark_sync.ledger.ledger_rows import CHANGES, EVENTS, LIVES, together

_BUCKETS: Final = 256
_FLAGS: Final = [pa.field(name, pa.bool_()) for name in ("fresh", "others", "own")]
SPREAD: Final[Mapping[str, pa.Schema]] = {
    "events": pa.schema([*EVENTS, *_FLAGS]),
    "changes": CHANGES,
    "ledger": LIVES,
}
"""The tables that are spread. Of events, `fresh` ones are to be folded, `others` concern what is in their entity, and
`own` ones are in the part of their entity."""

ROWS_AT_A_TIME: Final = 50_000
_PACKED: Final = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class SpreadPart:
    """The rows of a part, of each table of `SPREAD`; can be pickled."""

    events: pa.Table
    changes: pa.Table
    ledger: pa.Table

    def history_part(self) -> HistoryPart:
        """Return the entities whose lives the fresh events may change, with their rows."""
        all_lives = lives = self._lives()
        fresh = self.events.filter(pc.and_(self.events["fresh"], self.events["own"]))
        touched = _entities(fresh.filter(pc.equal(fresh["child"], "")))
        others = self.events.filter(pc.and_(self.events["fresh"], self.events["others"]))
        if others.num_rows:
            above = set(zip(_entities(others), others["child"].to_pylist(), strict=True))
            known = defaultdict[EntityId, bool](bool)
            if any(child for _, child in above):  # a check may mean what has no life yet
                told = self.events.filter(pc.and_(self.events["own"], pc.equal(self.events["child"], "")))
                known |= dict.fromkeys(_entities(told), False)
            homes = pa.array({entity.parts[0] for entity, _ in above}, pa.string())
            lives = lives.filter(pc.is_in(lives["namespace"], value_set=homes))
            for entity, ended in zip(_entities(lives), lives["ended"].to_pylist(), strict=True):
                known[entity] |= ended is None
            touched += [entity for entity, is_open in known.items() if is_reached(entity, above, is_open=is_open)]
        events = self.events.select(EVENTS.names).combine_chunks().to_batches()
        return HistoryPart((), tuple(all_lives.to_batches()), tuple(events)).of(dict.fromkeys(touched))

    def _lives(self) -> pa.Table:
        """Return the newest row of each life."""
        changes = self.changes.sort_by("sequence")
        newest, dropped = {key: row for row, key in enumerate(_keys(changes))}, changes["dropped"].to_pylist()
        rows = pa.array([row for row in newest.values() if not dropped[row]], pa.int64())
        old = pa.array([key not in newest for key in _keys(self.ledger)], pa.bool_())
        return pa.concat_tables([changes.take(rows).select(LIVES.names), self.ledger.filter(old)]).combine_chunks()


def spread_parts(tables: Mapping[str, Iterable[pa.RecordBatch]], events: int) -> Iterator[SpreadPart]:
    """Yield the parts of tables whose rows have a `bucket`; `events`: about how many are to be folded."""
    count = min(-(-events // ENTITIES_OF_A_PART), _BUCKETS)
    with ExitStack() as stack:
        files = [_PartFile(stack.enter_context(TemporaryFile()), SPREAD[name], count) for name in SPREAD]
        for file, name in zip(files, SPREAD, strict=True):
            for rows in together(tables[name], ROWS_AT_A_TIME):
                file.add(rows)
        yield from (SpreadPart(*(file.rows(part) for file in files)) for part in range(count))


@dataclass(eq=False, slots=True)
class _PartFile:
    """The rows of a table; `places` of each part are the streams of its rows that were added together."""

    file: BinaryIO
    schema: pa.Schema
    count: int
    places: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, rows: pa.Table) -> None:
        """Spread some rows; those of a namespace's events are in every part, and in one of them its own."""
        texts = rows["bucket"].cast(pa.string()).combine_chunks().dictionary_encode()
        parts = pa.array([int(text, 16) * self.count // _BUCKETS for text in texts.dictionary.to_pylist()], pa.int64())
        of_row = parts.take(texts.indices)
        if (is_own := self.schema.get_field_index("own")) < 0:
            self._write(rows.select(self.schema.names).cast(self.schema), of_row)
            return
        rows = rows.append_column("own", pa.repeat(True, rows.num_rows)).select(self.schema.names).cast(self.schema)
        deep = pc.greater(pc.list_value_length(rows["parts"]), 1)
        self._write(rows.filter(deep), of_row.filter(deep.combine_chunks()))
        shallow = pc.invert(deep)
        above, their_own = rows.filter(shallow), of_row.filter(shallow.combine_chunks())
        for part in range(self.count) if above.num_rows else ():
            own = pc.equal(their_own, part)
            self._write(above.set_column(is_own, "own", own), pa.repeat(pa.scalar(part, pa.int64()), above.num_rows))

    def rows(self, part: int) -> pa.Table:
        """Return the rows of a part."""
        found = [self.schema.empty_table()]
        for place in self.places[part]:
            self.file.seek(place)
            found.append(pa.ipc.open_stream(self.file).read_all())
        return pa.concat_tables(found).combine_chunks()

    def _write(self, rows: pa.Table, parts: pa.Array) -> None:
        order = pc.sort_indices(parts)
        rows, runs, start = rows.take(order), pc.run_end_encode(parts.take(order)), 0
        for part, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            self.places[part].append(self.file.seek(0, os.SEEK_END))
            with pa.ipc.new_stream(self.file, self.schema, options=_PACKED) as stream:
                stream.write_table(rows.slice(start, end - start))
            start = end


def _entities(rows: pa.Table) -> list[EntityId]:
    return [
        EntityId(type_, tuple(parts))
        for type_, parts in zip(rows["type"].to_pylist(), rows["parts"].to_pylist(), strict=True)
    ]


def _keys(rows: pa.Table) -> list[tuple[str, int]]:
    return list(zip(rows["entity"].to_pylist(), rows["number"].to_pylist(), strict=True))
