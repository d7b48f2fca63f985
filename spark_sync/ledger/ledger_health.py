"""Check of the sync job's ledger: every file of every table is read, and no table is older than after the last run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.doctor.finding import Finding, failed, skipped, well
from ranger_cdap.errors import LedgerLost, LedgerSpoiled

_TABLES: Final = ("changes", "ledger", "events", "baseline", "files", "notes")
_LOG: Final = "_delta_log"
_LAST_VERSIONS: Final = "SELECT value FROM t WHERE name = 'versions' ORDER BY sequence DESC LIMIT 1"
_ROWS_A_BATCH: Final = 20_000
_LONGEST_REASON: Final = 200


class _LastVersion(msgspec.Struct):
    """The id and version of a table after the last run."""

    id: str
    version: int


def examine_ledger(state: Path) -> Iterator[Finding]:
    """Read all tables of the ledger, if there are any, in bounded memory."""
    check = "ledger of the sync job"
    try:
        tables = [name for name in _TABLES if (state / name).exists()]
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
    marks = {k: v for (text,) in last for k, v in msgspec.json.decode(text, type=dict[str, _LastVersion]).items()}
    lost = {name for name, mark in marks.items() if not _is_of_last_run(state / name, mark)}
    # Without `files` everything is read again, which is how a person asks for it.
    lost |= {name for name in _TABLES if name != "files" and not _is_table(state / name)}
    for name in sorted(lost):
        seen = f"table `{state / name}` is missing, or older than after the last run"
        yield failed(check, seen, LedgerLost.remedy)
    if not (spoiled or lost):
        yield well(check, f"all files of the {len(tables)} tables can be read")


def spoiled_files(state: Path, *, sizes_only: bool = False) -> Iterator[str]:
    """Yield for each table of a ledger that cannot be read its first spoiled file, and how it is spoiled."""
    yield from filter(None, (spoiled_file(state, name, sizes_only=sizes_only) for name in _TABLES))


def spoiled_file(state: Path, table: str, *, sizes_only: bool = False) -> str:
    """Return the first spoiled file of a table, and how it is spoiled; empty if none is, or it is out of reach."""
    at = state / table
    try:
        if not at.exists():
            return ""
        for at, size in _files(state / table):
            _check_size(at, size)
            if not sizes_only:
                _read(at)
        if not sizes_only:
            _read_as_runs_do(at := state / table)
    except PermissionError:
        return ""
    except Exception as e:  # delta-rs, DataFusion and Arrow raise what has no class in common
        return f"`{at}` is spoiled: {reason_of(e)}"
    return ""


def log_files(directory: Path) -> list[tuple[Path, str]]:
    """Return the commits of a table in their order, each with the reason why it cannot be read, if it cannot."""
    found = []
    for path in sorted((directory / _LOG).glob("*.json")):
        try:
            _check_size(path, None)
            _read(path)
        except (OSError, ValueError) as e:
            found.append((path, reason_of(e)))
        else:
            found.append((path, ""))
    return found


def reason_of(error: Exception) -> str:
    """Return the first line of an error of delta-rs, DataFusion or Arrow."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line[:_LONGEST_REASON]


def _files(directory: Path) -> Iterator[tuple[Path, int | None]]:
    """Yield the files of a table, and the sizes of those that its commits name."""
    import pyarrow as pa  # type: ignore[import-untyped]
    from deltalake import DeltaTable

    log = directory / _LOG
    yield from ((path, None) for path in sorted([*log.glob("*.json"), *log.glob("*.checkpoint*.parquet")]))
    yield log, None
    for file in pa.table(DeltaTable(directory).get_add_actions(flatten=True)).to_pylist():
        yield directory / file["path"], file["size_bytes"]


def _check_size(path: Path, size: int | None) -> None:
    """Check that a file is there, and whole; delta-rs takes an empty commit for one without rows.

    Raises:
        OSError: it is not there.
        ValueError: it is not whole.
    """
    found = path.stat().st_size
    if not found:
        raise ValueError("it is empty")
    if size is not None and found != size:
        raise ValueError(f"it has {found} bytes and not {size}")


def _read(path: Path) -> None:
    """Read all of a file.

    Raises:
        Exception: it is spoiled.
    """
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            for _ in file.iter_batches(_ROWS_A_BATCH):
                pass
    elif path.suffix == ".json":
        for line in path.read_bytes().splitlines():
            msgspec.json.decode(line)


def _read_as_runs_do(directory: Path) -> None:
    from deltalake import DeltaTable, QueryBuilder

    for _ in QueryBuilder().register("t", DeltaTable(directory)).execute("SELECT * FROM t"):
        pass


def files_read(state: Path, source: str) -> list[str]:
    """Return the paths of the event files of a source that the sync job has read, as far as its ledger can be read."""
    if find_spec("deltalake") is None:
        return []
    with suppress(Exception):  # delta-rs, DataFusion and Arrow raise what has no class in common
        return [path for name, path in _rows(state / "files", "SELECT source, path FROM t") if name == source]
    return []


def _rows(directory: Path, sql: str) -> list[tuple[str, ...]]:
    """Return the rows of a query of a table, which it names `t`; none if there is no such table."""
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    if not _is_table(directory):
        return []
    found = (pa.record_batch(each) for each in QueryBuilder().register("t", DeltaTable(directory)).execute(sql))
    return [tuple(row.values()) for batch in found for row in batch.to_pylist()]


def _is_table(directory: Path) -> bool:
    from deltalake import DeltaTable

    return DeltaTable.is_deltatable(str(directory))


def _is_of_last_run(directory: Path, mark: _LastVersion) -> bool:
    from deltalake import DeltaTable

    if not _is_table(directory):
        return False
    table = DeltaTable(directory)
    return str(table.metadata().id) == mark.id and table.version() >= mark.version
