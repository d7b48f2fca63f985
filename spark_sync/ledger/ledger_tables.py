"""`LedgerTables`: the ledger's Delta tables: created, read by SQL, appended to and rewritten, by delta-rs alone.

A second engine that writes the same tables loses commits on some storage without an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Schema, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from ranger_cdap.config import Location, StoreUrl
from ranger_cdap.errors import LeaseHeld, LedgerSpoiled, SyncError
from spark_sync.ledger.lease import Lease
from spark_sync.ledger.ledger_health import LOG, reason_of, spoiled_files
from spark_sync.ledger.ledger_rows import BASELINE, CHANGES, EVENTS, FILES, LIVES, NOTES, Row
from spark_sync.ledger.ledger_version import TableVersion

TABLES: Final[Mapping[str, pa.Schema]] = {
    "changes": CHANGES,
    "ledger": LIVES,
    "events": EVENTS,
    "baseline": BASELINE,
    "files": FILES,
    "notes": NOTES,
}
"""In the order in which they are opened: changes move into the ledger, so a reader must not open that first."""

_CONFIGURATION: Final = {"delta.logRetentionDuration": "interval 7 days"}
_COMPRESSION: Final = WriterProperties(compression="GZIP", max_row_group_size=50_000)
"""The only compression of Parquet with checksums: flipped bytes are an error, and never the name of another user."""
_PACKED: Final = pa.ipc.IpcWriteOptions(compression="zstd")
_SMALL_FILE: Final = 4_000_000
"""Bytes up to which files are put together."""
_FENCE: Final = "ranger-cdap-fence"
"""The application of the commits that close a table to earlier holders of the lease, by the number of a later one.

delta-rs only records the numbers of applications; what refuses a commit is that the table was read before the fence.
"""
_TRIES: Final = 10


class LedgerTables:
    """The tables of `TABLES` below one directory; a query sees one version of each. One writer at a time (`hold`).

    Those on a shared file system are read as they were when they were opened or `hold` was called last.
    """

    def __init__(self, directory: Location) -> None:
        """Open the tables; create those that are missing.

        Raises:
            SyncError: one cannot be read or created.
        """
        self._directory = directory.absolute()
        self._seen: dict[str, _Seen] = {}
        self._fence = 0
        self._tables = {name: self._opened(name, schema) for name, schema in TABLES.items()}
        with _errors(self._directory):
            for spoiled in spoiled_files(self._directory, sizes_only=True):
                raise _spoiled(self._directory, spoiled)

    def hold(self, lease: Lease) -> None:
        """Write from now on as the holder of a lease; what an earlier holder begins to write later is refused.

        Raises:
            SyncError: a table cannot be read, or written.
        """
        with _errors(self._directory):
            if isinstance(self._directory, StoreUrl):
                self._tables = {name: self._table(name) for name in TABLES}
            self._refresh()
            newest = max(map(_fence_of, self._tables.values()))
            self._fence = lease.number if isinstance(self._directory, StoreUrl) else newest
            if newest > self._fence:
                raise self._is_taken()
            if lease.took_over:
                self._tables = {name: self._fenced(name) for name in TABLES}
                lease.took_over = False

    def _fenced(self, name: str) -> DeltaTable:
        """Commit a fence to a table, and nothing else: every handle that has read the table is stale then.

        An earlier holder may commit in between.
        """
        for _ in range(_TRIES):
            table = self._table(name)
            if (found := _fence_of(table)) >= self._fence:
                break
            fence = CommitProperties(max_commit_retries=0, app_transactions=[Transaction(_FENCE, self._fence)])
            with suppress(CommitFailedError):
                table.create_write_transaction([], "append", table.schema(), commit_properties=fence)
        if found != self._fence:
            raise self._is_taken()
        return table

    def _commit(self, name: str) -> CommitProperties:
        """Return the properties of a commit, which is refused if there is one since the table was read.

        Raises:
            LeaseHeld: a later holder of the lease has fenced it.
        """
        if _fence_of(self._tables[name]) > self._fence:
            raise self._is_taken()
        return CommitProperties(max_commit_retries=0)

    def _table(self, name: str) -> DeltaTable:
        return DeltaTable(str(self._directory / name))

    def _is_taken(self) -> LeaseHeld:
        return LeaseHeld(
            f"another run writes the ledger in `{self._directory}`, and this one has lost its lease; or the ledger was"
            " copied without its directory `lease`"
        )

    def query(self, sql: str) -> Iterator[Row]:
        """Return the rows of a query over the tables' newest versions, batch by batch.

        Raises:
            SyncError: the tables cannot be read.
        """
        for batch in self.batches(sql):
            with _errors(self._directory):
                rows = batch.to_pylist()
            yield from rows

    def batches(self, *queries: str) -> Iterator[pa.RecordBatch]:
        """Return the batches of some queries, one after another, as `query`."""
        builder = QueryBuilder()
        with _errors(self._directory):
            self._refresh()
            for name, table in self._tables.items():
                builder.register(name, table)
        return self._read(builder, queries)

    def _read(self, builder: QueryBuilder, queries: Iterable[str]) -> Iterator[pa.RecordBatch]:
        for sql in queries:
            with _errors(self._directory):
                reader = builder.execute(sql)
            while True:
                with _errors(self._directory):
                    try:
                        batch = pa.record_batch(next(reader))
                    except StopIteration:
                        break
                yield batch

    def write(self, name: str, batches: Iterable[pa.RecordBatch], *, replacing: bool = False) -> None:
        """Append rows to a table or replace all by them, all or none.

        Raises:
            SyncError: it cannot be written.
        """
        schema = TABLES[name]
        reader = pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in batches))
        with _errors(self._directory), _private_files():
            self._refresh()
            mode: Final = "overwrite" if replacing else "append"
            commit = self._commit(name)
            write_deltalake(
                self._tables[name], reader, mode=mode, writer_properties=_COMPRESSION, commit_properties=commit
            )

    def rewrite(self, name: str, *queries: str) -> None:
        """Replace all rows of a table by those of some queries, all or none.

        Raises:
            SyncError: a table cannot be read or written.
        """
        self.write_at_once(name, (batch.cast(TABLES[name]) for batch in self.batches(*queries)), replacing=True)

    def write_at_once(self, name: str, batches: Iterable[pa.RecordBatch], *, replacing: bool = False) -> None:
        """As `write`, of rows that are made of tables, or too many for memory: they are made before the write begins.

        Raises:
            SyncError: a table cannot be read or written.
        """
        # In between they are in a file: delta-rs panics if a query begins while it writes, and takes twice the memory.
        with _errors(self._directory), TemporaryFile() as packed:
            count = 0
            with pa.ipc.new_stream(packed, TABLES[name], options=_PACKED) as rows:
                for batch in batches:
                    rows.write_batch(batch)
                    count += batch.num_rows
            packed.seek(0)
            if count or replacing:
                self.write(name, pa.ipc.open_stream(packed), replacing=replacing)

    def compact(self, name: str) -> None:
        """Put the small files of a table together; its rows stay.

        Raises:
            SyncError: it cannot be written.
        """
        with _errors(self._directory), _private_files():
            commit = self._commit(name)
            self._tables[name].optimize.compact(
                target_size=_SMALL_FILE, writer_properties=_COMPRESSION, commit_properties=commit
            )

    def vacuum(self, name: str, hours: int) -> None:
        """Remove the files that no version of a table younger than so many hours has.

        Raises:
            SyncError: they cannot be removed.
        """
        with _errors(self._directory):
            self._tables[name].vacuum(hours, dry_run=False, commit_properties=self._commit(name))

    def file_count(self, name: str) -> int:
        """Return the number of files of a table's newest version."""
        with _errors(self._directory):
            self._refresh()
            return len(self._tables[name].file_uris())

    def versions(self) -> dict[str, TableVersion]:
        """Return the ids and newest versions of the tables."""
        with _errors(self._directory):
            self._refresh()
            return {
                name: TableVersion(str(table.metadata().id), table.version()) for name, table in self._tables.items()
            }

    def _refresh(self) -> None:
        """Bring the tables whose directory of commits changed to their newest version, in the order of `TABLES`.

        One that was replaced, by a copy perhaps, is opened again, because its version may be lower. The number of a
        directory may be used again, so the newest commit that was read must still be there as it was.
        """
        if isinstance(self._directory, StoreUrl):
            return
        for name, table in self._tables.items():
            log = self._directory / name / LOG
            found, seen = log.stat(), self._seen.get(name)
            if seen is None or found.st_mtime_ns != seen.changed:
                same = seen is None or (found.st_ino == seen.inode and _stamp(log, seen.version) == seen.commit)
                if same:
                    table.update_incremental()
                else:
                    table = self._tables[name] = self._table(name)
                version = table.version()
                self._seen[name] = _Seen(found.st_ino, found.st_mtime_ns, version, _stamp(log, version))

    def _opened(self, name: str, schema: pa.Schema) -> DeltaTable:
        with _errors(self._directory), _private_files():
            wanted = Schema.from_arrow(schema)
            table = DeltaTable.create(str(self._directory / name), wanted, mode="ignore", configuration=_CONFIGURATION)
            known = {field.name for field in table.schema().fields}
            if new := [field for field in wanted.fields if field.name not in known]:
                table.alter.add_columns(new)
            return table


@dataclass(frozen=True, slots=True)
class _Seen:
    """The commits of a table as they were when it was read: their directory, and the newest one."""

    inode: int
    changed: int
    version: int
    commit: tuple[int, int] | None


def _fence_of(table: DeltaTable) -> int:
    return table.transaction_version(_FENCE) or 0


def _stamp(log: Path, version: int) -> tuple[int, int] | None:
    """Return size and time of the commit of a version; None if it is not there."""
    try:
        found = (log / f"{version:020}.json").stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


@contextmanager
def _errors(directory: Location) -> Iterator[None]:
    """Translate what delta-rs, DataFusion and Arrow raise, which have no class in common."""
    try:
        yield
    except CommitFailedError as e:
        raise LeaseHeld(f"another run writes the ledger in `{directory}`; this one stops, and the next goes on") from e
    except Exception as e:
        if type(e) is not Exception and not isinstance(e, DeltaError | pa.ArrowException | OSError):
            raise
        raise _failed(directory, e) from e


def _failed(directory: Location, error: Exception) -> SyncError:
    with suppress(OSError):  # its store is away
        for spoiled in spoiled_files(directory):
            return _spoiled(directory, spoiled)
    return SyncError(f"the ledger in `{directory}` cannot be used: {reason_of(error)}")


def _spoiled(directory: Location, spoiled: str) -> LedgerSpoiled:
    return LedgerSpoiled(f"the ledger in `{directory}` cannot be used: {spoiled}")


@contextmanager
def _private_files() -> Iterator[None]:
    """Let only the owner read files created meanwhile."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
