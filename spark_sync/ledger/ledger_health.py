"""Check of the sync job's ledger: every file of every table is read, and no table is older than after the last run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from errno import ENOENT
from importlib.util import find_spec
from typing import Final

import msgspec

from ranger_cdap.config import Location
from ranger_cdap.doctor.finding import Finding, failed, skipped, well
from ranger_cdap.errors import LedgerLost, LedgerSpoiled
from ranger_cdap.store import entries, is_there, open_file
from spark_sync.ledger.ledger_version import TableVersion

_TABLES: Final = ("changes", "ledger", "events", "baseline", "files", "notes")
LOG: Final = "_delta_log"
_LAST_VERSIONS: Final = "SELECT value FROM t WHERE name = 'versions' ORDER BY sequence DESC LIMIT 1"
_ROWS_A_BATCH: Final = 20_000
_LONGEST_REASON: Final = 200
_ARROW: Final = re.compile(r"\x1b\[[0-9;]*m|↳")
_AWAY: Final = re.compile(r"(.* -> )?Generic \w+ error")
_COMMIT: Final = re.compile(r".*\.json")
_COMMIT_OR_CHECKPOINT: Final = re.compile(r".*\.json|.*\.checkpoint.*\.parquet")


def examine_ledger(state: Location) -> Iterator[Finding]:
    """Read all tables of the ledger, if there are any, in bounded memory."""
    try:
        yield from _examine("ledger of the sync job", state)
    except OSError as e:
        seen = f"`{state}` cannot be read: {reason_of(e)}"
        yield failed("ledger of the sync job", seen, "correct `sync.state_dir`, or start its store")


def _examine(check: str, state: Location) -> Iterator[Finding]:
    try:
        tables = [name for name in _TABLES if is_there(state / name)]
    except ModuleNotFoundError:  # what reads a URL
        tables = list(_TABLES)
    except PermissionError:
        yield skipped(check, f"`{state}` is out of reach of this user; run this as the user of the sync job")
        return
    if not tables:
        return
    if find_spec("deltalake") is None:
        yield skipped(check, "`deltalake` is not installed here; run this where the sync job runs")
        return
    spoiled = list(spoiled_files(state))
    yield from (failed(check, each, LedgerSpoiled.remedy) for each in spoiled)
    last = () if spoiled else _rows(state / "notes", _LAST_VERSIONS)
    marks = {k: v for (text,) in last for k, v in msgspec.json.decode(text, type=dict[str, TableVersion]).items()}
    lost = {name for name, mark in marks.items() if not _is_of_last_run(state / name, mark)}
    # Without `files` everything is read again, which is how a person asks for it.
    lost |= {name for name in _TABLES if name != "files" and not _is_table(state / name)}
    for name in sorted(lost):
        seen = f"table `{state / name}` is missing, or older than after the last run"
        yield failed(check, seen, LedgerLost.remedy)
    if not (spoiled or lost):
        yield well(check, f"all files of the {len(tables)} tables can be read")


def spoiled_files(state: Location, *, sizes_only: bool = False) -> Iterator[str]:
    """Yield for each table of a ledger that cannot be read its first spoiled file, and how it is spoiled."""
    yield from filter(None, (spoiled_file(state, name, sizes_only=sizes_only) for name in _TABLES))


def spoiled_file(state: Location, table: str, *, sizes_only: bool = False) -> str:
    """Return the first spoiled file of a table, and how it is spoiled; empty if none is, or it is out of reach.

    Raises:
        OSError: its store is away.
    """
    at = state / table
    try:
        if not is_there(at):
            return ""
        for at, size, wanted in _files(state / table):
            _check_size(size, wanted)
            if not sizes_only:
                _read(at)
        if not sizes_only:
            _read_as_runs_do(at := state / table)
    except PermissionError:
        return ""
    except Exception as e:  # delta-rs, DataFusion and Arrow raise what has no class in common
        raise_if_away(e)
        return f"`{at}` is spoiled: {reason_of(e)}"
    return ""


def log_files(directory: Location) -> list[tuple[Location, str]]:
    """Return the commits of a table in their order, each with the reason why it cannot be read, if it cannot."""
    found = list[tuple[Location, str]]()
    for path, size in _log(directory, _COMMIT):
        try:
            _check_size(size, size)
            _read(path)
        except (OSError, ValueError) as e:
            raise_if_away(e)
            found.append((path, reason_of(e)))
        else:
            found.append((path, ""))
    return found


def raise_if_away(error: Exception) -> None:
    """Raise an error of a store that fails: it says nothing about the file that was to be read.

    Raises:
        OSError: the error is one.
    """
    if _AWAY.match(str(error)):
        raise OSError(str(error)) from error


def reason_of(error: Exception) -> str:
    """Return what an error of delta-rs, DataFusion or Arrow says first and, of a store, its cause: never its answer."""
    lines = [line.strip() for line in _ARROW.sub("", str(error)).partition("<")[0].splitlines() if line.strip()]
    said = f"{lines[0]}: {lines[-1]}" if "\x1b" in str(error) and lines[1:] else "".join(lines[:1])
    return said[:_LONGEST_REASON] or type(error).__name__


def _log(directory: Location, names: re.Pattern[str]) -> list[tuple[Location, int | None]]:
    return [(directory / LOG / each.name, each.size) for each in entries(directory / LOG) if names.fullmatch(each.name)]


def _files(directory: Location) -> Iterator[tuple[Location, int | None, int | None]]:
    """Yield the files of a table, each with its size, `None` if it is not there, and that which its commits name."""
    import pyarrow as pa  # type: ignore[import-untyped]
    from deltalake import DeltaTable

    yield from ((path, size, size) for path, size in _log(directory, _COMMIT_OR_CHECKPOINT))
    yield directory / LOG, 1, 1  # what is spoiled if there is no table
    table, there = DeltaTable(str(directory)), {each.name: each.size for each in entries(directory)}
    yield from (
        (directory / file["path"], there.get(file["path"]), file["size_bytes"])
        for file in pa.table(table.get_add_actions(flatten=True)).to_pylist()
    )


def _check_size(found: int | None, wanted: int | None) -> None:
    """Check that a file is there, and whole; delta-rs takes an empty commit for one without rows.

    Raises:
        OSError: it is not there.
        ValueError: it is not whole.
    """
    if found is None:
        raise FileNotFoundError(ENOENT, "it is not there")
    if found == 0:
        raise ValueError("it is empty")
    if found != wanted:
        raise ValueError(f"it has {found} bytes and not {wanted}")


def _read(path: Location) -> None:
    """Read all of a file.

    Raises:
        Exception: it is spoiled.
    """
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    if str(path).endswith(LOG):
        return
    with open_file(path) as file:
        if str(path).endswith(".parquet"):
            for _ in pq.ParquetFile(file).iter_batches(_ROWS_A_BATCH):
                pass
        else:
            for line in file:
                msgspec.json.decode(line)


def _read_as_runs_do(directory: Location) -> None:
    from deltalake import DeltaTable, QueryBuilder

    for _ in QueryBuilder().register("t", DeltaTable(str(directory))).execute("SELECT * FROM t"):
        pass


def files_read(state: Location, source: str) -> list[str]:
    """Return the paths of the event files of a source that the sync job has read, as far as its ledger can be read."""
    if find_spec("deltalake") is None:
        return []
    with suppress(Exception):  # delta-rs, DataFusion and Arrow raise what has no class in common
        return [path for name, path in _rows(state / "files", "SELECT source, path FROM t") if name == source]
    return []


def _rows(directory: Location, sql: str) -> list[tuple[str, ...]]:
    """Return the rows of a query of a table, which it names `t`; none if there is no such table."""
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    if not _is_table(directory):
        return []
    found = (pa.record_batch(each) for each in QueryBuilder().register("t", DeltaTable(str(directory))).execute(sql))
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def _is_table(directory: Location) -> bool:
    from deltalake import DeltaTable

    return DeltaTable.is_deltatable(str(directory))


def _is_of_last_run(directory: Location, mark: TableVersion) -> bool:
    from deltalake import DeltaTable

    if not _is_table(directory):
        return False
    table = DeltaTable(str(directory))
    return str(table.metadata().id) == mark.id and table.version() >= mark.version
