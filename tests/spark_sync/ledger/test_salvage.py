"""Salvage: of a spoiled table every row that can be read is kept, and what cannot is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from spark_sync.ledger.ledger_health import spoiled_files
from spark_sync.ledger.ledger_rows import FILES, batches
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.salvage import salvage
from tests.spark_sync.ledger.test_ledger_tables import new_directory
from tests.spark_sync.test_spoiled_ledger import FAULTS

NUMBERS = st.sets(st.integers(1, 6), min_size=1, max_size=3)


def table_of(directory: Path, commits: int) -> dict[int, Path]:
    """A table with one row in each file, and the file of each row."""
    tables, files = LedgerTables(directory), dict[int, Path]()
    for number in range(1, commits + 1):
        tables.write("files", batches(FILES, [{"source": "s", "path": str(number)}]))
        (files[number],) = {*(directory / "files").glob("*.parquet")} - {*files.values()}
    return files


def rows_in(directory: Path) -> set[int]:
    return {int(row["path"]) for row in LedgerTables(directory).query("SELECT path FROM files")}


@given(NUMBERS, st.sampled_from(sorted(FAULTS)))
@settings(max_examples=12, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_a_spoiled_file_loses_its_own_rows_only(spoiled: set[int], fault: str) -> None:
    with new_directory() as directory:
        files = table_of(directory, 6)
        for number in spoiled:
            FAULTS[fault](files[number])
        (made,) = salvage(directory, 99)
        assert rows_in(directory) == files.keys() - spoiled
        assert (made.table, made.rows, made.lacks_facts) == ("files", 6 - len(spoiled), False)
        assert {number for number, file in files.items() if any(str(file) in one for one in made.lost)} == spoiled
        assert {*made.spoiled.glob("*.parquet")} == {
            made.spoiled / file.name
            for number, file in files.items()
            if (fault, number in spoiled) != ("deleted", True)
        }
        assert list(spoiled_files(directory)) == []
        assert salvage(directory, 100) == []


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"deleted"}))
@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_spoiled_commit_loses_itself_and_those_after_it(tmp_path: Path, number: int, fault: str) -> None:
    table_of(tmp_path, 6)
    FAULTS[fault](tmp_path / "files" / "_delta_log" / f"{number:020}.json")
    (made,) = salvage(tmp_path, 99)
    assert rows_in(tmp_path) == set(range(1, number))
    assert len(made.lost) == 6 - number + 1
    assert f"{number:020}.json`" in made.lost[0]


def test_a_table_without_any_commit_that_can_be_read_is_empty(tmp_path: Path) -> None:
    table_of(tmp_path, 2)
    for commit in (tmp_path / "files" / "_delta_log").iterdir():
        commit.write_bytes(b"{")
    (made,) = salvage(tmp_path, 99)
    assert (made.rows, len(made.lost), rows_in(tmp_path)) == (0, 3, set())


def test_a_whole_ledger_is_left_as_it_is(tmp_path: Path) -> None:
    table_of(tmp_path, 2)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert salvage(tmp_path, 99) == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
