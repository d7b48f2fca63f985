"""`DeltaLedger`: the ledger as Delta tables that can be queried directly, and that delta-rs alone writes.

Events are appended to `events`. Changed lives are appended to `changes`, where the newest of a key counts, before the
life in `ledger`; maintenance moves them there. `baseline` holds the inventories, `files` and `notes` how far it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.collector import gc_paused
from ranger_cdap.config import Location
from ranger_cdap.keyed import grouped
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.fold import known_life
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.grant_terms import GrantGroup
from spark_sync.ledger.key_filter import KeyFilter
from spark_sync.ledger.lease import Lease
from spark_sync.ledger.ledger import FEW_EVENTS, Baseline, Decide, FoldProgress, LedgerChange, Scope, differences
from spark_sync.ledger.ledger_queries import (
    EXISTING,
    LAST_CHANGE,
    NEWEST_NOTES,
    NO_CHANGES,
    OF_OTHERS,
    LedgerQueries,
    kept_events,
    newest_changes,
    newest_lives,
    quoted,
)
from spark_sync.ledger.ledger_rows import (
    BASELINE,
    CHANGES,
    LIVES,
    batches,
    change_row,
    event_batch,
    event_of,
    life_row,
    together,
)
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.ledger_version import TableVersion, TableVersions
from spark_sync.ledger.life import RIGHTS_LEFT, Life, State
from spark_sync.ledger.life_pages import current_slices, read_pages
from spark_sync.ledger.notes import Notes
from spark_sync.ledger.parts_to_fold import parts_to_fold
from spark_sync.ledger.shapes import fold_part
from spark_sync.tasks import here, on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY: Final = 86_400_000
_PROGRESS, _MAINTAINED = "folded", "maintained"
_MOST_CHANGES: Final = 20_000
_MOST_FILES: Final = 16
_KEPT_HOURS: Final = 7 * 24
"""Table versions younger than this stay for their readers."""
_EVENTS_AT_A_TIME: Final = 100_000
IDS_A_QUERY: Final = 10_000
_MOST_NAMES: Final = 1_000
"""Names in a condition. With thousands a query takes seconds, and with more than 20,000 DataFusion crashes."""


class DeltaLedger:
    """The memory of the sync job, of one CDAP instance: events, lives, baseline. All writes are idempotent.

    It is in Delta tables below one directory; one writer at a time (see `lease`).
    """

    def __init__(
        self,
        directory: Location,
        instance: str,
        spark: Callable[[], SparkSession] | None = None,
        *,
        few: int = FEW_EVENTS,
    ) -> None:
        """Open the tables.

        Args:
            spark: returns the session in which many histories are folded; without it all are folded in this process.
            few: up to this many new events are folded without Spark.

        Raises:
            SyncError: the tables cannot be read or created.
        """
        self.directory = directory.absolute()
        self.instance = instance
        self._spark = spark
        self._few = few
        self._tables = LedgerTables(directory)
        self._queries = LedgerQueries(instance)
        self.notes = Notes(self._tables, instance)
        self.compared: TableVersions = {}
        """The tables as they were left by this process, which found nothing in Ranger that they do not know."""
        self.lease = Lease()
        self._groups: tuple[tuple[TableVersion, TableVersion], list[tuple[GrantGroup, int]]] | None = None

    def hold(self, lease: Lease) -> None:
        """Read the tables as they are now, and write them as the holder of a lease.

        Raises:
            SyncError: they cannot be read, or not be closed to a former holder.
        """
        self._tables.hold(lease)
        self.lease = lease

    def add_events(self, events: Sequence[EntityEvent]) -> int:
        """Store the events whose (source, id) is new, CDAP's answers among them, and return their number."""
        return self.add_batches([event_batch(self.instance, events)])

    def add_batches(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Store the events of rows of `NEW_EVENTS`, as `add_events`; of several with one key the first counts."""
        count, round_ = 0, pa.scalar(self._progress().folded + 1, pa.int64())
        seen = KeyFilter()
        with gc_paused():
            for some in together(batches, _EVENTS_AT_A_TIME):  # so that few commits are made
                new = self._unknown(some, seen)
                if new.num_rows:
                    rounds = pa.repeat(round_, new.num_rows)
                    self._tables.write("events", new.append_column("round", rounds).to_batches())
                    count += new.num_rows
        return count

    def fold(self, decide: Decide, settings: FoldSettings | None = None) -> None:
        """Apply `decide` to each entity with events that are not folded yet, and record the changes in one step.

        Of many events `decide` runs where Spark's executors are. `settings`: if `decide` is the fold with these.
        """
        events, parts = parts_to_fold(self._tables, self._queries, self._progress())
        spark = self._spark if events > self._few else None
        tasks = on_spark(spark) if spark else here
        with gc_paused():
            self._append_changes(tasks(partial(fold_part, decide, settings, self.instance), parts))

    def mark_folded(self, scope: Scope) -> None:
        """Note that everything in that scope is folded and recorded."""
        folded = self._progress().folded
        # Rounds count up by one; only if the progress was lost do the events hold more of them.
        newest = (
            folded + 1 if folded else self._one(self._queries.rows("events", selected="max(round) AS newest"))["newest"]
        )
        if newest is not None:
            self.notes.write(_PROGRESS, FoldProgress(newest, scope))

    def record(self, changes: Iterable[LedgerChange]) -> None:
        """Write and drop lives by (entity, number), all or none."""
        rows = (change_row(self.instance, change) for change in changes if change.after != change.before)
        self._append_changes(list(batches(CHANGES, rows)))

    def pages(self, states: Collection[State]) -> Iterator[list[Life]]:
        """Yield the lives in one of those states, by entity and number, those of some entities at a time.

        Each page is read when it is asked for, as the ledger is then.
        """
        return read_pages(self._tables, self._queries, _is_in(states))

    def lives(self, states: Collection[State]) -> list[Life]:
        """Return the lives in one of those states, by entity and number."""
        return self._lives(_is_in(states))

    def lives_with_rights_left(self) -> list[Life]:
        """Return the closed lives on whose entities others have rights, or may have (`RIGHTS_LEFT`)."""
        return self._lives(f"state = {quoted(State.CLOSED.value)} AND reason LIKE {quoted(f'%{RIGHTS_LEFT}%')}")

    def pages_with_grants(self) -> Iterator[list[Life]]:
        """Yield the lives that hold a grant, or may get one without a new event or a person, as `pages`."""
        ended = quoted(State.CLOSED.value, State.UNCONFIRMED.value)
        unowned = f"state = {quoted(State.KNOWN.value)} AND creator IS NULL"
        return read_pages(self._tables, self._queries, f"state NOT IN ({ended}) AND NOT ({unowned})")

    def find_lives(
        self, *, entities: Collection[EntityId] = (), states: Collection[State] = (), creators: Collection[str] = ()
    ) -> list[Life]:
        """Return the lives that are one of each of these, by entity and number; an empty collection excludes none."""
        wanted = {
            "entity": list(map(str, entities)) if len(entities) <= _MOST_NAMES else [],
            "state": [state.value for state in states],
            "creator": list(creators),
        }
        conditions = (f"{column} IN ({quoted(*texts)})" for column, texts in wanted.items() if texts)
        return self._lives(" AND ".join(conditions) or "true", entities if len(entities) > _MOST_NAMES else ())

    def decided_until(self) -> tuple[int | None, int]:
        """Return the time of the newest event that the last run decided, and the number of undecided events."""
        progress = self._progress()
        scope = progress.scope
        settings = FoldSettings(skew=scope.skew, horizons=scope.horizons, until=scope.until, latest=scope.latest)
        row = self._one(self._queries.decided_until(progress))
        newest, waiting = row["newest"], row["waiting"]
        for event in map(event_of, self._tables.query(self._queries.young_events(progress))):
            if not settings.is_settled(event):
                waiting += 1
            elif newest is None or event.time > newest:
                newest = event.time
        return newest, waiting

    def ahead(self, now: int, latest: int) -> int:
        """Return the number of events that began later than `now`, or were received later than `latest`."""
        found = self._one(self._queries.rows("events", f"started > {now} OR received > {latest}", "count(*) AS ahead"))
        return int(found["ahead"])

    def grant_groups(self) -> list[tuple[GrantGroup, int]]:
        """Return the groups of lives that are alike in everything settings decide, each with its size.

        They are counted again only if lives changed.
        """
        versions = self._tables.versions()
        lives = versions["changes"], versions["ledger"]
        if self._groups is None or self._groups[0] != lives:
            selected = "state, type, accesses, terms, creator IS NOT NULL AS has_creator, count(*) AS lives"
            sizes = Counter[GrantGroup]()
            for within in current_slices(self._tables):
                sql = f"{self._queries.lives('true', selected, within)} GROUP BY 1, 2, 3, 4, 5"
                for row in self._tables.query(sql):
                    sizes[msgspec.convert({**row, "accesses": row["accesses"] or ()}, GrantGroup)] += row["lives"]
            self._groups = lives, list(sizes.items())
        return self._groups[1]

    def baseline(self) -> Baseline | None:
        """Return the newest inventory; `None` without one."""
        row = max(self._tables.query(self._queries.rows("baseline")), key=lambda row: row["taken"], default=None)
        return None if row is None else Baseline(row["taken"], dict(row["journals"] or ()))

    def enter_baseline(
        self,
        taken: int,
        entities: Iterable[EntityId],
        versions: Mapping[EntityId, tuple[str, ...]] = MappingProxyType({}),
        journals: Mapping[str, str] = MappingProxyType({}),
    ) -> int:
        """Enter an inventory: entities without an open life become known; return how many. All events are folded again.

        `journals`: the journal of each source at that time.
        """
        found = sorted(set(entities))
        existing = {row["entity"] for row in self._tables.query(self._queries.lives(EXISTING, "DISTINCT entity"))}
        former = grouped((old.entity, old) for old in self._lives(OF_OTHERS))
        missing = [entity for entity in found if str(entity) not in existing]
        changed = {
            row["entity"] for row in self._tables.query(self._queries.rows("changes", selected="DISTINCT entity"))
        }
        # The time first: after a kill here, creations up to that time no longer count, and repeating the command
        # enters the entities.
        row = {"instance": self.instance, "taken": taken, "entities": len(found), "journals": list(journals.items())}
        self._tables.write("baseline", batches(BASELINE, [row]))
        self.record(
            change
            for entity in missing
            if (lives := former.get(entity, [])) or str(entity) in changed
            if (life := known_life(entity, lives, taken, versions.get(entity)))
            for change in differences(lives, [*(old for old in lives if old.state is not State.UNCONFIRMED), life])
        )
        others = (entity for entity in missing if entity not in former and str(entity) not in changed)
        first = (known_life(entity, (), taken, versions.get(entity)) for entity in others)
        # No other row has their keys, not even one of a dropped life, so they need not be changes.
        self._tables.write("ledger", batches(LIVES, (life_row(self.instance, life) for life in first if life)))
        self.notes.write(_PROGRESS, FoldProgress())
        return len(missing)

    def marks(self) -> dict[str, TableVersion]:
        """Return the ids and versions of the tables whose rows make grants."""
        return {name: version for name, version in self._tables.versions().items() if name not in ("files", "notes")}

    def needs_maintenance(self, now: int) -> bool:
        """Return whether maintenance is due by the time, in epoch milliseconds, or by the number of changed lives."""
        last = self.notes.read(_MAINTAINED, int)
        if last is None:  # that of a new ledger is due after a day
            self.notes.write(_MAINTAINED, now)
        is_due = last is not None and last + DAY <= now
        return is_due or self._one(LAST_CHANGE)["changes"] > _MOST_CHANGES

    def tidy(self) -> None:
        """Put the small files of former runs together, so that queries stay fast; no row is lost."""
        if self._tables.file_count("changes") > _MOST_FILES:
            self._tables.rewrite("changes", *map(newest_changes, current_slices(self._tables)))
        for name in ("events", "files"):
            if self._tables.file_count(name) > _MOST_FILES:
                self._tables.compact(name)
        if self._tables.file_count("notes") > _MOST_FILES:
            self._tables.rewrite("notes", NEWEST_NOTES)

    def maintain(self, *, now: int, keep_days: int) -> None:
        """Move changes into the ledger, remove old decided events (`kept_events`) and old versions of the tables."""
        if self._one(LAST_CHANGE)["changes"]:
            self._tables.rewrite("ledger", *map(newest_lives, current_slices(self._tables)))
            # A kill before this leaves them in both, where they agree.
            self._tables.rewrite("changes", NO_CHANGES)
        before = now - keep_days * DAY
        (kept,) = self._tables.query(kept_events(before, selected="count(*) AS events"))
        if kept["events"] < self._one("SELECT count(*) AS events FROM events")["events"]:
            self._tables.rewrite("events", kept_events(before))
        self.notes.prune()
        for name in ("events", "ledger", "changes", "files", "notes"):
            self._tables.compact(name)
            self._tables.vacuum(name, _KEPT_HOURS)
        self.notes.write(_MAINTAINED, now)

    def _progress(self) -> FoldProgress:
        return self.notes.read(_PROGRESS, FoldProgress) or FoldProgress()

    def _append_changes(self, changes: Iterable[pa.RecordBatch]) -> None:
        """Append rows of `CHANGES` in their order, all or none."""
        last, place = self._one(LAST_CHANGE)["last"], CHANGES.get_field_index("sequence")

        def numbered() -> Iterator[pa.RecordBatch]:
            nonlocal last
            for batch in changes:
                if batch.num_rows:
                    sequence = pa.array(range(last + 1, last + 1 + batch.num_rows), pa.int64())
                    last += batch.num_rows
                    yield batch.set_column(place, CHANGES.field(place), sequence)

        self._tables.write_at_once("changes", numbered())

    def _lives(self, condition: str, entities: Collection[EntityId] = ()) -> list[Life]:
        return list(chain.from_iterable(read_pages(self._tables, self._queries, condition, entities)))

    def _unknown(self, events: pa.Table, seen: KeyFilter) -> pa.Table:
        """Return those of the rows of `NEW_EVENTS` whose key is not stored, each key once."""
        keys = list(zip(events["source"].to_pylist(), events["id"].to_pylist(), strict=True))
        if len(keys) > IDS_A_QUERY and not seen.is_filled:
            seen.fill((row["source"], row["id"]) for row in self._tables.query("SELECT source, id FROM events"))
        by_source = grouped(dict.fromkeys(filter(seen.may_have, keys)))
        known = {
            (source, row["id"])
            for source, ids in by_source.items()
            for some in (ids[start : start + IDS_A_QUERY] for start in range(0, len(ids), IDS_A_QUERY))
            for row in self._tables.query(self._queries.known_ids(source, some))
        }
        first = {key: row for row, key in reversed([*enumerate(keys)]) if key not in known}
        seen.add(keys)
        return events.take(pa.array(sorted(first.values()), pa.int64()))

    def _one(self, sql: str) -> Mapping[str, Any]:
        (row,) = self._tables.query(sql)
        return row


def _is_in(states: Collection[State]) -> str:
    return f"state IN ({quoted(*(state.value for state in states))})"
