"""`salvage`: spoiled tables of a ledger rebuilt from the rows that can still be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from deltalake import DeltaTable

from ranger_cdap.config import Location
from ranger_cdap.errors import SyncError
from ranger_cdap.store import move_directory, open_file, remove_directory
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.lease import lease
from spark_sync.ledger.ledger_health import log_files, raise_if_away, reason_of, spoiled_file
from spark_sync.ledger.ledger_tables import TABLES, LedgerTables
from spark_sync.ledger.ledger_version import note_versions
from spark_sync.ledger.notes import is_gone

NEEDLESS: Final = frozenset({"files", "notes"})
"""Tables whose rows make no grant: without them, something is read or folded again."""

_ANEW: Final = ".repair"


@dataclass(frozen=True, slots=True)
class Salvaged:
    """A rebuilt table, the number of its rows, and what could not be read: `lost`, each with the reason."""

    table: str
    rows: int
    lost: tuple[str, ...]
    spoiled: Location

    @property
    def lacks_facts(self) -> bool:
        """Return whether rows are lost on which grants depend."""
        return bool(self.lost) and self.table not in NEEDLESS


def repair_ledger(state: Location, instance: str, *, now: int) -> list[Salvaged]:
    """Rebuild spoiled tables, under the lease; `now` is in epoch milliseconds.

    If rows are lost on which grants depend, runs stop with `LedgerLost` until a baseline. If events are, the event
    files that are there are read again.

    Raises:
        LeaseHeld: a run is in progress.
        SyncError: a table cannot be written.
    """
    with lease(state) as held:
        made = salvage(state, now)
        ledger = DeltaLedger(state, instance)
        ledger.hold(held)
        if any(each.table == "events" and each.lost for each in made):
            ledger.notes.forget_files(lambda path: not is_gone(path))
        if made and not any(each.lacks_facts for each in made):
            note_versions(ledger)
    return made


def salvage(state: Location, now: int) -> list[Salvaged]:
    """Rebuild each table with a spoiled file, and keep it as `TABLE.spoiled-NOW`; under the lease.

    Raises:
        SyncError: a table cannot be written or moved.
    """
    made = list[Salvaged]()
    try:
        names = [name for name in TABLES if spoiled_file(state, name)]
        if not names:
            return made
        remove_directory(state / _ANEW)
        tables = LedgerTables(state / _ANEW)
        for name in names:
            rows, lost = _readable(state / name, TABLES[name])
            tables.write(name, rows)
            made.append(Salvaged(name, sum(each.num_rows for each in rows), lost, state / f"{name}.spoiled-{now}"))
        for each in made:
            move_directory(state / each.table, each.spoiled)
            move_directory(state / _ANEW / each.table, state / each.table)
        remove_directory(state / _ANEW)
    except OSError as e:
        raise SyncError(f"the ledger in `{state}` cannot be repaired: {reason_of(e)}") from e
    return made


def _readable(directory: Location, schema: pa.Schema) -> tuple[list[pa.RecordBatch], tuple[str, ...]]:
    """Return the rows of a table in files that can be read, and what cannot."""
    table, lost = _newest_version(directory)
    rows = list[pa.RecordBatch]()
    for file in pa.table(table.get_add_actions(flatten=True)).to_pylist() if table else ():
        try:
            with open_file(directory / file["path"]) as content:
                rows += [each.select(schema.names).cast(schema) for each in pq.ParquetFile(content).iter_batches()]
        except Exception as e:  # Arrow raises what has no class in common
            raise_if_away(e)
            lost.append(f"`{directory / file['path']}`: {reason_of(e)}")
    return rows, tuple(lost)


def _newest_version(directory: Location) -> tuple[DeltaTable | None, list[str]]:
    """Return the newest version whose commits can all be read, None without any, and the commits after it."""
    commits = log_files(directory)
    first_bad = next((n for n, (_, problem) in enumerate(commits) if problem), len(commits))
    for n in range(first_bad - 1, -1, -1):
        try:
            table = DeltaTable(str(directory), version=int(str(commits[n][0]).rpartition("/")[2].removesuffix(".json")))
            table.get_add_actions(flatten=True)
            return table, _named(commits[n + 1 :])
        except Exception as e:  # as above: a checkpoint, or an older commit, cannot be read
            raise_if_away(e)
    return None, _named(commits) or [f"`{directory}`: it has no commits"]


def _named(commits: list[tuple[Location, str]]) -> list[str]:
    return [f"`{path}`: {problem or 'it comes after one that cannot be read'}" for path, problem in commits]
