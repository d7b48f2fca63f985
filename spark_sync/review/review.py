"""The review: tasks decide and write a part of the answers each, in this process or on Spark; then the summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from io import BytesIO
from typing import Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.config import Location
from ranger_cdap.disk import os_errors_as
from ranger_cdap.errors import InvalidInput, SyncError
from ranger_cdap.store import is_there, replace_object
from spark_sync.review.answers import PEOPLE_AT_ONCE, Basis, Row, Unit, answer, units
from spark_sync.review.counts import Counts
from spark_sync.review.report import NamespaceSummary, ReviewReport
from spark_sync.tasks import Tasks

ANSWERS_OF_A_PART: Final = 250_000

COLUMNS: Final = (
    *(("instance", pa.string()), ("namespace", pa.string()), ("entity", pa.string()), ("type", pa.string())),
    *(("parts", pa.list_(pa.string())), ("user", pa.string()), ("action", pa.string()), ("allowed", pa.bool_())),
    *(("policy_id", pa.int64()), ("conditional", pa.bool_()), ("depends", pa.string())),
)
SUMMARY: Final = pa.schema(
    [(field.name, pa.string() if field.name == "namespace" else pa.int64()) for field in fields(NamespaceSummary)]
)


@dataclass(frozen=True, slots=True)
class Part:
    """The answers of one file, and where it is."""

    file: Location
    units: Sequence[Unit]


def review(
    tasks: Tasks,
    basis: Basis,
    entities: Sequence[EntityId],
    out: Location,
    *,
    policy_version: int,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> ReviewReport:
    """Evaluate every entity, user and action; `out` gets `answers` and, once those are complete, `summary`.

    `progress` is told how many of how many parts are written.

    Raises:
        InvalidInput: `out` already exists.
        SyncError: it cannot be written, or not by every task; it has no `summary` then.
    """
    place = out.absolute()
    with os_errors_as(SyncError, f"`{out}` cannot be written"):
        if is_there(place):
            raise InvalidInput(f"`{out}` already exists; a review writes into a new directory")
        parts = _parts(basis, entities, place / "answers")
        found = Counts()
        for done, (part, counts) in enumerate(zip(parts, tasks(partial(write_part, basis), parts), strict=True), 1):
            # Executors on other machines have written to their own disks.
            if not is_there(part.file):
                raise SyncError(f"`{part.file}` is not there: the tasks write elsewhere; give an address for `--out`")
            found.add(counts)
            progress(done, len(parts))
        namespaces = found.summaries()
        _write(place / "summary" / "part-00000.parquet", pa.Table.from_pylist(list(map(asdict, namespaces)), SUMMARY))
    return ReviewReport(
        instance=basis.instance,
        policy_version=policy_version,
        now=basis.now,
        entities=len(entities),
        users=len(basis.people),
        answers=sum(one.answers for one in namespaces),
        allowed=sum(one.allowed for one in namespaces),
        namespaces=namespaces,
        answers_path=f"{out / 'answers'}",
        summary_path=f"{out / 'summary'}",
    )


def write_part(basis: Basis, part: Part) -> Counts:
    """Write the answers of a part, and return their counts; written again, it replaces what a failed task left.

    Raises:
        PluginError: as `answer`.
        OSError: it cannot be written.
    """
    counts, tables = Counts(), []
    for unit, row in zip(part.units, answer(basis, part.units), strict=True):
        counts.add_row(unit, row)
        tables.append(_table(row))
    _write(part.file, pa.concat_tables(tables))
    return counts


def _parts(basis: Basis, entities: Sequence[EntityId], directory: Location) -> list[Part]:
    work = units(entities, len(basis.people))
    size = max(1, ANSWERS_OF_A_PART // (min(len(basis.people), PEOPLE_AT_ONCE) * len(ACTIONS)))
    starts = range(0, len(work), size)
    return [Part(directory / f"part-{start // size:05}.parquet", work[start : start + size]) for start in starts]


def _table(row: Row) -> pa.Table:
    """Return the answers of a unit as rows, each with the columns of the entity."""
    *_, depends = row
    columns = [
        pa.array(value, kind) if of_answer else pa.repeat(pa.scalar(value, kind), len(depends))
        for of_answer, value, (_, kind) in zip((False,) * 5 + (True,) * 6, row, COLUMNS, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(COLUMNS))


def _write(file: Location, table: pa.Table) -> None:
    content = BytesIO()
    pq.write_table(table, content)
    replace_object(file, content.getvalue())
