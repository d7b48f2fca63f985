"""Whole runs whose ledger and events are on a shared file system: they do what they do on a disk of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ranger_cdap import store as stores
from ranger_cdap.config import Settings, StoreUrl
from ranger_cdap.doctor.finding import Health
from ranger_cdap.errors import LedgerLost, LedgerSpoiled, RangerCdapError, SyncError
from spark_sync.ingest import dead_letters
from spark_sync.ingest.dead_letters import DEAD_LETTERS, OLDER
from spark_sync.ledger.ledger_health import examine_ledger
from spark_sync.ledger.ledger_rows import FILES, batches
from spark_sync.ledger.ledger_tables import TABLES, LedgerTables
from spark_sync.ledger.life import State
from spark_sync.ledger.salvage import repair_ledger, salvage
from spark_sync.reconcile.manual import retry
from spark_sync.status import status
from tests.cluster.conftest import put
from tests.cluster.servers import SECRET
from tests.recording import RECORDING
from tests.spark_sync.conftest import Ranger, on_spark, settings_of
from tests.spark_sync.test_job import FIRST, NOW, NS1, OTHERS, SECOND, by_values, ledger_of, run, take_baseline

PART = {FIRST: NS1 | OTHERS, SECOND: OTHERS}


def settings_in(ranger: Ranger, store: StoreUrl) -> Settings:
    """The ledger, and the events of two sources, below one URL."""
    sources = {
        name: {"kind": name.replace("_", "-"), "path": store / "events" / name / "*.jsonl", "callers": ("cdap-master",)}
        for name in ("audit", "data_plane")
    }
    found = settings_of(ranger, Path("/nowhere"), **sources)
    return replace(found, sync=replace(found.sync, state_dir=store / "ledger"))


def deliver(store: StoreUrl, part: str) -> None:
    for name in ("audit", "data-plane"):
        put(store / "events" / name.replace("-", "_") / part, (RECORDING / "events" / name / part).read_bytes())


@pytest.fixture
def began(ranger: Ranger, store: StoreUrl) -> Settings:
    """After the first run."""
    settings = settings_in(ranger, store)
    take_baseline(settings)
    deliver(store, FIRST)
    assert not run(settings).trouble
    return settings


@pytest.fixture(autouse=True)
def _nothing_is_written_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A path that is no URL to whoever gets it makes a directory named `s3:`."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield
    assert not list((tmp_path / "here").iterdir())


def test_the_recordings_from_the_first_event_to_the_last(began: Settings, ranger: Ranger, store: StoreUrl) -> None:
    assert by_values(ranger.grants()) == by_values(NS1 | OTHERS)
    version, before = ranger.policy_version(), ledger_of(began).marks()
    assert run(began).wrote_nothing
    assert (ranger.policy_version(), ledger_of(began).marks()) == (version, before)

    deliver(store, SECOND)
    assert not run(began).trouble
    assert by_values(ranger.grants()) == by_values(OTHERS)
    found = status(began, now=NOW)
    assert found.counts[State.APPLIED] == len(OTHERS)
    assert not found.waiting
    assert [each.health for each in examine_ledger(store / "ledger")] == [Health.WELL]
    assert retry(began, []) == []


@pytest.mark.spark
def test_many_lines_are_read_where_the_executors_are(
    ranger: Ranger, store: StoreUrl, request: pytest.FixtureRequest
) -> None:
    """They get the variables of the store from the driver, which starts after it."""
    settings = settings_in(ranger, store)
    take_baseline(settings)
    for part in (FIRST, SECOND):
        deliver(store, part)
        assert not run(settings, on_spark(request.getfixturevalue("spark"))).trouble
        assert by_values(ranger.grants()) == by_values(PART[part])


def test_maintenance_keeps_what_is_there(began: Settings, ranger: Ranger) -> None:
    lives = ledger_of(began).lives(list(State))
    for day in range(1, 4):
        assert not run(began, now=NOW + day * 90_000_000).trouble
    assert ledger_of(began).lives(list(State)) == lives
    assert by_values(ranger.grants()) == by_values(NS1 | OTHERS)


def test_a_table_of_before_is_noticed(began: Settings, store: StoreUrl) -> None:
    stores.remove_directory(store / "ledger" / "events")
    with pytest.raises(LedgerLost):
        run(began)
    with pytest.raises(LedgerLost):
        status(began, now=NOW)


def data_file(store: StoreUrl, table: str) -> StoreUrl:
    return next(
        store / "ledger" / table / each.name
        for each in stores.entries(store / "ledger" / table)
        if each.name.endswith(".parquet")
    )


@pytest.mark.parametrize("table", ["events", "notes"])
def test_a_spoiled_file_is_named_and_the_rest_is_kept(
    began: Settings, ranger: Ranger, store: StoreUrl, table: str
) -> None:
    spoiled = data_file(store, table)
    put(spoiled, b"x")
    assert str(spoiled) in next(examine_ledger(store / "ledger")).seen
    with pytest.raises(LedgerSpoiled, match="bytes and not"):
        run(began)
    if store.root == "file://":  # its directories are no object store's
        return
    (made,) = repair_ledger(store / "ledger", "cdap", now=NOW)
    assert (made.table, stores.is_there(made.spoiled)) == (table, True)
    assert not [each for each in stores.entries(store / "ledger" / ".repair", below=True) if each.size is not None]
    if table == "events":
        with pytest.raises(LedgerLost):
            run(began)
        take_baseline(began)
    assert not run(began).trouble
    assert by_values(ranger.grants()) == by_values(NS1 | OTHERS)


def test_dead_letters_are_kept_and_bounded(ranger: Ranger, store: StoreUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "FULL", 400)
    settings = settings_in(ranger, store)
    take_baseline(settings)
    put(store / "events" / "audit" / "0.jsonl", "")
    for number in range(1, 6):
        put(store / "events" / "data_plane" / f"{number}.jsonl", f"bad {number}\n")
        assert not run(settings).granted
    written = [
        json.loads(line)["line"]
        for name in (OLDER, DEAD_LETTERS)
        for line in stores.open_file(store / "ledger" / name).read().splitlines()
    ]
    assert written == [f"bad {number}" for number in range(1, 6)][-len(written) :]
    assert status(settings, now=NOW).dead_letters == len(written) > 1


def test_a_ledger_moves_by_copying_its_tables(began: Settings, ranger: Ranger, store: StoreUrl, tmp_path: Path) -> None:
    """To a disk, and back to another directory of the store."""
    before = status(began, now=NOW)
    here = tmp_path / "moved"
    copied(store / "ledger", here)
    on_disk = replace(began, sync=replace(began.sync, state_dir=here))
    assert status(on_disk, now=NOW) == before
    assert run(on_disk).wrote_nothing
    for each in here.rglob("*"):
        if each.is_file() and not each.name.startswith("lease."):
            put(StoreUrl(store.root, f"{store.path}/again/{each.relative_to(here)}"), each.read_bytes())
    back = replace(began, sync=replace(began.sync, state_dir=store / "again"))
    assert status(back, now=NOW) == status(on_disk, now=NOW)
    assert run(back).wrote_nothing
    # Without one table it is not the ledger.
    shutil.rmtree(here / "changes")
    with pytest.raises(LedgerLost):
        status(on_disk, now=NOW)


def copied(at: StoreUrl, to: Path) -> None:
    for name in TABLES:
        for each in stores.entries(at / name, below=True):
            if each.size is not None:
                (to / name / each.name).parent.mkdir(parents=True, exist_ok=True)
                with stores.open_file(at / name / each.name) as file:
                    (to / name / each.name).write_bytes(file.read())


WRITER = """
import sys, time
from ranger_cdap.config import named
from ranger_cdap.errors import LeaseHeld
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.lease import lease
directory, name, count = named(sys.argv[1]), sys.argv[2], int(sys.argv[3])
done = 0
while done < count:
    try:
        with lease(directory) as held:
            ledger = DeltaLedger(directory, "cdap")
            ledger.hold(held)
            ledger.notes.add_files(name, [f"{name}-{done}"])
            print(f"{name}-{done}", flush=True)
            done += 1
    except LeaseHeld:
        time.sleep(0.02)
"""


def test_no_acknowledged_commit_of_several_processes_is_lost(store: StoreUrl) -> None:
    at = store / "ledger"
    names = ["a", "b", "c"]
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(at), name, "5"], stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    try:
        said = [line for process in processes for line in process.communicate(timeout=500)[0].split()]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0, 0]
    from spark_sync.ledger.delta_ledger import DeltaLedger

    notes = DeltaLedger(at, "cdap").notes
    assert sorted(said) == sorted(path for name in names for path in notes.files_read(name))
    assert len(said) == 15


@pytest.mark.cluster
def test_no_credential_is_left_anywhere(
    ranger: Ranger, s3: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    store = StoreUrl(s3, "secret")
    settings = settings_in(ranger, store)
    take_baseline(settings)
    deliver(store, FIRST)
    assert not run(settings).trouble
    said = [str(status(settings, now=NOW))]
    wrong = "wrong-marked-cluster-secret-0123456789"
    monkeypatch.setattr(stores, "_handler", stores._handler.__wrapped__)
    for name, value in (("AWS_SECRET_ACCESS_KEY", wrong), ("AWS_ENDPOINT_URL", "http://127.0.0.1:1")):
        monkeypatch.setenv(name, value)
        for call in (run, lambda s: status(s, now=NOW), lambda s: list(examine_ledger(s.sync.state_dir))):
            with suppress(RangerCdapError):
                said.append(str(call(settings)))
                continue
            with pytest.raises(RangerCdapError) as raised:
                call(settings)
            said.append(str(raised.value))
    monkeypatch.undo()
    kept = [stores.open_file(store / each.name).read() for each in stores.entries(store, below=True) if each.size]
    captured = capfd.readouterr()
    everything = "\n".join([*said, caplog.text, captured.out, captured.err]).encode() + b"".join(kept)
    assert (len(kept) > 20, len(said)) == (True, 7)
    assert b"cluster-secret" not in everything
    assert SECRET.encode() not in everything


@pytest.mark.parametrize("nth", [1, 2, 5])
def test_a_store_that_fails_spoils_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    """A repair reads nothing, or everything: what a store does not answer is not lost."""
    (tmp_path / "store").mkdir()
    store = StoreUrl("file://", str(tmp_path / "store").lstrip("/"))
    tables = LedgerTables(store / "ledger")
    tables.write("files", batches(FILES, [{"source": "s", "path": "p"}]))
    calls = 0

    def failing(call: Any) -> Any:
        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls >= nth:
                raise OSError("Generic S3 error\n \x1b[31m↳\x1b[0m Connection refused")
            return call(*args, **named)

        return wrapped

    with monkeypatch.context() as patch:
        for module in ("ledger_health", "salvage"):
            patch.setattr(f"spark_sync.ledger.{module}.open_file", failing(stores.open_file))
        with pytest.raises(SyncError, match="cannot be repaired: Generic S3 error: Connection refused") as raised:
            salvage(store / "ledger", NOW)
        assert not isinstance(raised.value, LedgerSpoiled)
        calls = 0
        assert "cannot be read" in list(examine_ledger(store / "ledger"))[-1].seen
    assert [row["path"] for row in LedgerTables(store / "ledger").query("SELECT path FROM files")] == ["p"]
    assert not stores.is_there(store / "ledger" / f"files.spoiled-{NOW}")


def test_a_store_that_is_away_is_an_error_in_a_sentence(ranger: Ranger) -> None:
    settings = settings_in(ranger, StoreUrl("hdfs://127.0.0.1:1", "x"))
    with pytest.raises((SyncError, RangerCdapError), match=r"hdfs://127.0.0.1:1/x.*Connection refused"):
        run(settings)
    with pytest.raises(SyncError, match="Connection refused") as raised:
        status(settings, now=NOW)
    assert not isinstance(raised.value, LedgerSpoiled)
    (found,) = examine_ledger(settings.sync.state_dir)
    assert (found.health, "Connection refused" in found.seen) == (Health.FAILED, True)
