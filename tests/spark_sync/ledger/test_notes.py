"""How far a ledger is: a file is read once, and what was noted last counts, for whoever opens the ledger."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ranger_cdap.errors import SyncError
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.ledger_rows import FILES, batches
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.notes import Notes
from tests.spark_sync.ledger.test_ledger_tables import new_directory

PATHS = st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3), max_size=3)
ADDED = st.tuples(st.sampled_from("ab"), PATHS)
NOTED = st.tuples(st.sampled_from(["folded", "x"]), st.integers(0, 9))


@given(steps=st.lists(st.one_of(ADDED, NOTED, st.just("tidy")), max_size=12))
@settings(max_examples=10, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_every_opened_ledger_knows_what_any_of_them_was_told(steps: list[tuple[str, object] | str]) -> None:
    files: dict[str, set[str]] = {"a": set(), "b": set()}
    noted: dict[str, int | None] = {"folded": None, "x": None}
    with new_directory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr("spark_sync.ledger.delta_ledger._MOST_FILES", 1)
        ledgers = [DeltaLedger(directory, "cdap"), DeltaLedger(directory, "cdap")]
        DeltaLedger(directory, "other").notes.write("x", 99)
        for n, step in enumerate(steps):
            ledger = ledgers[n % 2]
            match step:
                case "tidy":
                    ledger.tidy()
                case (str(source), set(paths)):
                    ledger.notes.add_files(source, paths)
                    files[source] |= paths
                case (str(name), int(value)):
                    ledger.notes.write(name, value)
                    noted[name] = value
            for each in (*ledgers, DeltaLedger(directory, "cdap")):
                assert {source: each.notes.files_read(source) for source in files} == files
                assert {name: each.notes.read(name, int) for name in noted} == noted


def test_of_files_that_are_gone_only_the_newest_of_a_source_is_kept(tmp_path: Path) -> None:
    there = [str(tmp_path / name) for name in "1247"]
    for path in there:
        Path(path).touch()
    notes = Notes(LedgerTables(tmp_path / "state"), "cdap")
    notes.add_files("s", [*there, str(tmp_path / "3"), str(tmp_path / "8"), str(tmp_path / "9")])
    notes.add_files("other", ["/gone/1", "/gone/2"])
    notes.prune()
    assert notes.files_read("s") == {*there, str(tmp_path / "9")}
    assert notes.files_read("other") == {"/gone/2"}
    assert notes.files_read("third") == set()


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    tables = LedgerTables(tmp_path)
    notes = Notes(tables, "cdap")
    notes.add_files("s", ["/1"])
    before = tables.versions()
    notes.add_files("s", [])
    notes.add_files("s", ["/1"])
    notes.prune()
    assert tables.versions() == before


def test_a_note_of_another_form_is_an_error_and_no_guess(tmp_path: Path) -> None:
    notes = Notes(LedgerTables(tmp_path), "cdap")
    notes.write("folded", {"rounds": [1]})
    with pytest.raises(SyncError, match=r"the ledger's note `folded` cannot be read \(expected `int`"):
        notes.read("folded", int)


def test_a_hundred_thousand_files_are_loaded_in_a_blink(tmp_path: Path) -> None:
    tables = LedgerTables(tmp_path)
    paths = (f"/var/lib/ranger-cdap/events/{n:020d}.jsonl" for n in range(100_000))
    tables.write("files", batches(FILES, ({"source": "s", "path": path} for path in paths)))
    notes, begin = Notes(tables, "cdap"), time.process_time()
    assert len(notes.files_read("s")) == 100_000
    assert time.process_time() - begin < 3  # 0.3 s on an idle machine
