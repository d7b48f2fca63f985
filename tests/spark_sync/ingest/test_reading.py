"""Reading: however many lines are read at once, and wherever, the events and dead letters are those of each line."""

from __future__ import annotations

import json
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.errors import SyncError
from spark_sync.ingest import file_slices
from spark_sync.ingest.dead_letters import MOST_LETTERS
from spark_sync.ingest.file_slices import FileSlice, slices_of
from spark_sync.ingest.reading import LinesRead
from spark_sync.sources.regular_files import SourceFile, list_files
from spark_sync.spark.spark_errors import spark_errors
from spark_sync.tasks import here, on_spark
from tests.spark_sync.sources.reading import numbered, reader_of, rows_in
from tests.spark_sync.sources.test_sources import stored
from tests.spark_sync.sources.test_strict import GIVEN, GOOD, NOT_ONE, REPEATED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = ("data-plane", "audit", "http-access")
INVALID = [b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]


def spoiled(line: bytes) -> st.SearchStrategy[bytes]:
    """The line, cut off anywhere or with bytes that are no text."""
    places = st.integers(0, len(line))
    cut = st.tuples(places, places).map(lambda at: line[min(at) : max(at)])
    inside = st.tuples(places, st.sampled_from(INVALID)).map(lambda at: line[: at[0]] + at[1] + line[at[0] :])
    return st.one_of(st.just(line), cut, inside)


def contents(kind: str) -> st.SearchStrategy[bytes]:
    """Files of lines that are accepted or rejected for one reason or another, and garbage."""
    known = [line.encode() for table in (GOOD, NOT_ONE, REPEATED) for of, line in table.values() if of == kind]
    pieces = st.one_of(st.sampled_from(known).flatmap(spoiled), st.sampled_from([b"", b"\0"]), st.binary(max_size=9))
    return st.lists(pieces, max_size=9).map(b"\n".join)


def told(reading: LinesRead) -> tuple[list[Any], list[Any]]:
    return reading.events.to_pylist(), [(letter.reason, letter.line) for letter in reading.letters]


@pytest.mark.parametrize("kind", KINDS)
def test_any_slices_say_what_the_whole_file_says(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @given(contents(kind), st.integers(1, 400))
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    def search(content: bytes, size: int) -> None:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "f").write_bytes(content)
            (file,), reader = list_files(reader_of(kind, path=Path(name)).source), reader_of(kind, **GIVEN[kind])
            whole = reader.slice(FileSlice(file.path, 0, None))
            monkeypatch.setattr(file_slices, "SLICE", size)
            found = [reader.slice(part) for part in slices_of(file)]
        events, letters = (list(chain.from_iterable(each)) for each in zip(*map(told, found), strict=True))
        assert (events, letters) == told(whole)
        assert sum(reading.lines for reading in found) == whole.lines

    search()


def test_of_equal_ids_the_first_event_counts(tmp_path: Path) -> None:
    """A record that was stored twice was received when it was stored first."""
    lines = [json.dumps(stored(stored_received=received)) for received in (2000, 1999, 3000)]
    (row,), dead = rows_in("data-plane", numbered(lines), **GIVEN["data-plane"])
    assert (row.received, dead) == (2000, [])


def test_a_file_that_was_deleted_since_it_was_listed_is_not_there(tmp_path: Path) -> None:
    gone = reader_of("audit").slice(FileSlice(str(tmp_path / "gone"), 0, None))
    assert (gone.is_there, gone.lines, gone.events.num_rows, gone.letters) == (False, 0, 0, ())


def test_of_many_rejected_lines_a_hundred_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    for n in (0, 1, MOST_LETTERS, MOST_LETTERS + 1, 5_000):
        (tmp_path / "f").write_bytes(b"garbage\n" * n)
        letters = reader_of("audit").slice(FileSlice(str(tmp_path / "f"), 0, None)).letters
        shown, rest = letters[:MOST_LETTERS], letters[MOST_LETTERS:]
        assert [letter.line_number for letter in shown] == list(range(1, min(n, MOST_LETTERS) + 1))
        assert [(letter.line_number, letter.lines, letter.line) for letter in rest] == (
            [(MOST_LETTERS, n - MOST_LETTERS, "")] if n > MOST_LETTERS else []
        )
        assert all(letter.reason == f"{n - MOST_LETTERS:,} more lines after it were rejected" for letter in rest)


@pytest.mark.spark
def test_sparks_tasks_find_what_this_process_finds(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in KINDS:
        lines = [line for table in (GOOD, NOT_ONE, REPEATED) for of, line in table.values() if of == kind]
        file = tmp_path / kind
        file.write_text("\n".join(lines * 9), encoding="utf-8", errors="surrogateescape")
        monkeypatch.setattr(file_slices, "SLICE", file.stat().st_size // 12)
        reader, parts = reader_of(kind, **GIVEN[kind]), [*slices_of(SourceFile(str(file), file.stat().st_size))]
        assert len(parts) > 4 * spark.sparkContext.defaultParallelism, "more than one wave"
        found = list(on_spark(lambda: spark)(reader.slice, parts))
        assert found == list(here(reader.slice, parts))
        assert sum(reading.events.num_rows for reading in found) > 0


@pytest.mark.spark
def test_what_a_task_refuses_is_said_in_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    refused = [FileSlice(str(tmp_path / "link"), 0, None)]
    with pytest.raises(SyncError, match=r"/link`, of source `s`, cannot be read: Too many levels"), spark_errors():
        list(on_spark(lambda: spark)(reader_of("audit").slice, refused))
