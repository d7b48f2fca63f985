"""A ledger with a spoiled file: the doctor names it, run and status end with one sentence, and nothing is granted."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import Settings
from ranger_cdap.doctor.finding import Health
from ranger_cdap.errors import LedgerLost, SyncError
from spark_sync.ledger.ledger_health import examine_ledger
from spark_sync.ledger.ledger_tables import TABLES
from spark_sync.ledger.life import State
from spark_sync.ledger.salvage import repair_ledger
from spark_sync.reconcile.baseline import enter_baseline
from spark_sync.reconcile.repair import RepairAction
from spark_sync.status import status
from tests.spark_sync.conftest import WITHOUT_SPARK, Ranger
from tests.spark_sync.reconcile.test_reconcile import DS1, NS1, created, inventory_of, reconciled
from tests.spark_sync.test_job import NOW, all_lives, deliver, run, source, take_baseline


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    some = slice(len(content) // 4, len(content) // 2)
    content[some] = bytes(byte ^ 0xFF for byte in content[some])
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


FAULTS: dict[str, Callable[[Path], Any]] = {
    "truncated": truncate, "flipped": flip, "emptied": empty, "deleted": Path.unlink
}  # fmt: skip
KINDS = {"data": "*.parquet", "log": "_delta_log/*.json"}


@pytest.fixture
def settings(settings_for: Callable[..., Settings], tmp_path: Path) -> Settings:
    """A ledger with known, applied and pending lives: the next run would grant."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    settings = settings_for(data_plane=source(inbox))
    take_baseline(settings)
    deliver(inbox, "1.jsonl", [created(NS1)])
    run(settings, WITHOUT_SPARK)
    deliver(inbox, "2.jsonl", [created(DS1)])
    run(settings, WITHOUT_SPARK, dry=True)
    return settings


def newest(directory: Path, pattern: str) -> Path:
    return max(directory.glob(pattern), key=lambda path: (path.stat().st_mtime_ns, path.name))


def test_a_ledger_in_order_is_well_and_grants(settings: Settings, ranger: Ranger) -> None:
    (finding,) = examine_ledger(settings.sync.state_dir)
    assert (finding.health, finding.seen) == (Health.WELL, "all files of the 6 tables can be read")
    assert ranger.grants() == {"ns1": "alice"}
    run(settings, WITHOUT_SPARK)
    assert ranger.grants() == {"ns1": "alice", "ds1 ns1": "alice"}


def test_without_a_ledger_there_is_nothing_to_look_at(settings_for: Callable[..., Settings]) -> None:
    assert list(examine_ledger(settings_for().sync.state_dir)) == []


@pytest.mark.parametrize(("table", "kind", "fault"), list(product(TABLES, KINDS, FAULTS)))
def test_any_spoiled_file_is_named_and_nothing_is_granted(
    settings: Settings, ranger: Ranger, table: str, kind: str, fault: str
) -> None:
    path = newest(settings.sync.state_dir / table, KINDS[kind])
    FAULTS[fault](path)
    (finding,) = examine_ledger(settings.sync.state_dir)
    is_lost = (kind, fault) == ("log", "deleted")
    if is_lost and table in ("files", "notes"):  # the last thing said there; without it something is done again
        assert finding.health is Health.WELL
        return
    assert finding.health is Health.FAILED
    assert f"`{path.parents[1] if is_lost else path}` " in f"{finding.seen} "
    for command in (lambda: run(settings, WITHOUT_SPARK), lambda: status(settings, now=NOW)):
        with pytest.raises(SyncError) as raised:
            command()
        text = str(raised.value)
        assert raised.value.code == ("ledger-lost" if is_lost else "ledger-spoiled")
        assert (f"table `{table}`" if is_lost else str(path)) in text
        assert "\n" not in text
        assert len(text) < 800
    # A page that no grant depends on need not be read before the grants.
    needless = {"ds1 ns1": "alice"} if (table, kind, fault) == ("ledger", "data", "flipped") else {}
    assert ranger.grants() in ({"ns1": "alice"}, {"ns1": "alice"} | needless)


@pytest.mark.parametrize(("table", "kind"), list(product(TABLES, KINDS)))
def test_after_a_repair_all_is_as_before_or_nothing_is_granted_until_a_baseline(
    settings: Settings, ranger: Ranger, tmp_path: Path, table: str, kind: str
) -> None:
    truncate(newest(settings.sync.state_dir / table, KINDS[kind]))
    (made,) = repair_ledger(settings.sync.state_dir, settings.cdap.instance, now=NOW)
    assert (made.table, bool(made.lost)) == (table, True)
    assert repair_ledger(settings.sync.state_dir, settings.cdap.instance, now=NOW) == []
    if made.lacks_facts:
        with pytest.raises(LedgerLost):
            run(settings, WITHOUT_SPARK)
        assert ranger.grants() == {"ns1": "alice"}
        listed = inventory_of(tmp_path / "inventory.jsonl", NS1, DS1)
        enter_baseline(settings, listed)
        reconciled(settings, inventory=listed, action=RepairAction.ADOPT)
        run(settings, WITHOUT_SPARK)
        assert ranger.grants()["ns1"] == "alice"
        assert ranger.grants().get("ds1 ns1", "alice") == "alice"
    else:
        run(settings, WITHOUT_SPARK)
        assert ranger.grants() == {"ns1": "alice", "ds1 ns1": "alice"}


@pytest.mark.parametrize("table", sorted(TABLES.keys() - {"files"}))
def test_a_table_that_is_gone_is_named(settings: Settings, ranger: Ranger, table: str) -> None:
    shutil.rmtree(settings.sync.state_dir / table)
    (finding,) = examine_ledger(settings.sync.state_dir)
    assert (finding.health, table in finding.seen) == (Health.FAILED, True)
    for command in (lambda: run(settings, WITHOUT_SPARK), lambda: status(settings, now=NOW)):
        with pytest.raises(SyncError, match=f"table `{table}` of the ledger in .* is not the one of the last run"):
            command()
    assert ranger.grants() == {"ns1": "alice"}


def test_no_flipped_bit_gives_a_life_to_another_user(settings: Settings) -> None:
    """Parquet has checksums only inside of its compression, so each page must be compressed with one."""
    path = newest(settings.sync.state_dir / "changes", "*.parquet")
    good, lives, chance = path.read_bytes(), all_lives(settings), random.Random(1)
    assert {State.PENDING, State.APPLIED, State.KNOWN} <= {life.state for life in lives}
    visible = [at for at in range(len(good)) if good.startswith(b"alice", at)]
    noticed = 0
    for at in [*visible, *chance.sample(range(len(good)), 60)]:
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << chance.randrange(3)]) + good[at + 1 :])
        try:
            assert all_lives(settings) == lives, at
        except SyncError:
            noticed += 1
    assert noticed > 10
