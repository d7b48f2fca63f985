"""A ledger that was lost, found again by what stands in Ranger; and people's commands on a real ledger."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import Inventory, read_inventory
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput, LeaseHeld, LedgerLost
from spark_sync.ledger.ledger_tables import TABLES
from spark_sync.ledger.ledger_version import note_versions
from spark_sync.ledger.life import State
from spark_sync.reconcile.drift import Drift
from spark_sync.reconcile.repair import RepairAction
from tests.spark_sync.conftest import WITHOUT_SPARK, Ranger
from tests.spark_sync.recorded_lines import JOURNAL, write_watermark
from tests.spark_sync.test_job import NOW, again, all_lives, deliver, ledger_of, recorded, run, source, take_baseline

NS1, NS2, DS1 = EntityId("namespace", ("ns1",)), EntityId("namespace", ("ns2",)), EntityId("dataset", ("ns1", "ds1"))
URIS = {NS1: "/v3/namespaces/ns1", NS2: "/v3/namespaces/ns2", DS1: "/v3/namespaces/ns1/data/datasets/ds1"}
HOUR = 3_600_000


def created(entity: EntityId) -> list[dict[str, Any]]:
    return recorded(URIS[entity], method="PUT")


def deleted(entity: EntityId) -> list[dict[str, Any]]:
    """Long after everything else."""
    return again(recorded(URIS[entity], method="DELETE"), "alice", 99, by=11 * HOUR)


TAKEN = max(created(entity)[-1]["record"]["ended"] for entity in URIS) + HOUR


def inventory_of(path: Path, *entities: EntityId) -> Inventory:
    header = {"v": 1, "instance": "cdap", "taken": datetime.fromtimestamp(TAKEN / 1000, UTC).isoformat()}
    deliver(path.parent, path.name, [header, *({"type": e.type, "parts": list(e.parts)} for e in entities)])
    return read_inventory(path, instance="cdap", now=NOW)


def reconciled(settings: Settings, **given: Any) -> Any:
    from spark_sync.reconcile.reconcile import reconcile

    return reconcile(settings, **given)


def copy_tables(source: Path, target: Path) -> None:
    for name in sorted(TABLES.keys() - {"notes"}):
        shutil.rmtree(target / name, ignore_errors=True)
        shutil.copytree(source / name, target / name)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    path = tmp_path / "inbox"
    path.mkdir()
    return path


def test_a_ledger_restored_from_yesterday(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Path, tmp_path: Path
) -> None:
    from spark_sync.reconcile.baseline import take_baseline as take

    settings = settings_for(data_plane=source(inbox))
    state, yesterday = settings.sync.state_dir, tmp_path / "yesterday"
    take_baseline(settings)
    deliver(inbox, "1.jsonl", [created(NS1)])
    run(settings)
    copy_tables(state, yesterday)
    deliver(inbox, "2.jsonl", [created(NS2), created(DS1)])
    run(settings)
    grants, version = ranger.grants(), ranger.policy_version()
    assert grants == {"ns1": "alice", "ns2": "alice", "ds1 ns1": "alice"}

    copy_tables(yesterday, state)
    for command in (lambda: run(settings), lambda: reconciled(settings)):
        with pytest.raises(LedgerLost, match="sync baseline"):
            command()

    listed = inventory_of(tmp_path / "inventory.jsonl", NS1, NS2, DS1)
    take(settings, tmp_path / "inventory.jsonl", now=NOW)
    report = reconciled(settings, inventory=listed, action=RepairAction.ADOPT)
    assert [(found.drift, found.entity) for found in report.settled] == [
        (Drift.UNRECORDED, DS1),
        (Drift.UNRECORDED, NS2),
    ]
    assert report.left == ()
    assert (ranger.grants(), ranger.policy_version()) == (grants, version)
    assert reconciled(settings, inventory=listed).left == ()

    assert run(settings).wrote_nothing
    touched = [again(created(entity), "bob", n) for n, entity in enumerate(URIS)]
    deliver(inbox, "3.jsonl", touched)
    assert run(settings).wrote_nothing
    assert (ranger.grants(), ranger.policy_version()) == (grants, version)

    deliver(inbox, "4.jsonl", [deleted(DS1)])
    run(settings)
    assert ranger.grants() == {"ns1": "alice", "ns2": "alice"}


def test_what_people_did_in_ranger_and_what_they_say_about_it(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Path, tmp_path: Path
) -> None:
    from spark_sync.ledger.lease import lease
    from spark_sync.reconcile import manual
    from spark_sync.status import status

    settings = settings_for(data_plane=source(inbox))
    take_baseline(settings)
    deliver(inbox, "1.jsonl", [created(entity) for entity in URIS])
    run(settings)
    edited = next(policy for policy in ranger.policies() if "dataset" in policy.resources)
    edited.is_enabled = False
    ranger.admin.update_policy(edited)
    (deleted_by_hand,) = (policy for policy in ranger.policies() if "created namespace ns1" in policy.name)
    ranger.admin.delete_policy(deleted_by_hand.id or -1)
    gone = inventory_of(tmp_path / "inventory.jsonl", NS1, DS1)
    report = reconciled(settings, inventory=gone)
    assert [(found.drift, found.entity) for found in report.left] == [
        (Drift.EDITED, DS1),
        (Drift.MISSING, NS1),
        (Drift.ENTITY_DELETED, NS2),
    ]
    version = ranger.policy_version()
    report = reconciled(settings, action=RepairAction.ADOPT, entities=[NS1])
    assert [(found.drift, found.entity) for found in report.settled] == [(Drift.MISSING, NS1)]
    report = reconciled(settings, inventory=gone, action=RepairAction.REVOKE)
    assert [(found.drift, found.entity) for found in report.settled] == [(Drift.ENTITY_DELETED, NS2)]
    assert [(found.drift, found.entity) for found in report.left] == [(Drift.EDITED, DS1)]
    assert ranger.policy_version() == version
    run(settings)
    assert ranger.grants() == {}
    with pytest.raises(InvalidInput, match=r"knows `dataset:ns1\.other`"):
        reconciled(settings, entities=[EntityId("dataset", ("ns1", "other"))])

    manual.override(settings, NS1, "bob", now=NOW)
    manual.override(settings, DS1, "bob", now=NOW)
    run(settings)
    assert ranger.grants() == {"ns1": "bob", "ds1 ns1": "bob"}
    manual.override(settings, NS1, None, now=NOW)
    first = created(NS2)
    young = again(first, "alice", 99, by=NOW - 1 - first[-1]["record"]["ended"])
    deliver(inbox, "2.jsonl", ["garbage", young])
    run(settings)
    assert ranger.grants() == {"ds1 ns1": "bob"}
    assert [life.creator for life in all_lives(settings) if life.entity == NS1] == ["bob", None]
    assert manual.retry(settings, []) == []
    ((before, after, _),) = manual.retry(settings, [DS1])
    assert (before, after.state) == (after, State.APPLIED)
    with pytest.raises(InvalidInput, match="is not in the ledger"):
        manual.retry(settings, [EntityId("dataset", ("ns1", "other"))])
    with lease(settings.sync.state_dir), pytest.raises(LeaseHeld):
        manual.override(settings, DS1, None, now=NOW)

    found = status(settings, now=NOW)
    newest = max(created(entity)[-1]["record"]["started"] for entity in URIS)
    assert (found.newest, found.lag, found.held_back) == (newest, NOW - newest, 2)  # a check and its record
    assert (found.waiting, found.dead_letters) == ((), 1)


def test_a_clock_that_is_far_ahead_is_reported(settings_for: Callable[..., Settings], inbox: Path) -> None:
    from spark_sync.status import status

    settings = settings_for(data_plane=source(inbox))
    journal, record = again(created(NS1), "alice", 99)
    deliver(inbox, "1.jsonl", [journal, record | {"received": NOW + 365 * 24 * HOUR}])
    write_watermark(inbox, NOW + 365 * 24 * HOUR)
    run(settings, WITHOUT_SPARK)
    found = status(settings, now=NOW)
    assert (found.clocks_ahead, found.silent, found.ahead) == (("data-plane",), ("data-plane",), 1)
    assert found.held_back == 0


def test_right_after_a_run_nothing_that_it_decided_is_held_back(
    ranger: Ranger, settings_for: Callable[..., Settings], inbox: Path
) -> None:
    """The watermark lets a creation of a second ago be decided, although the hold-back is two minutes."""
    from spark_sync.status import status

    settings = settings_for(data_plane=source(inbox))
    ledger = ledger_of(settings)
    ledger.enter_baseline(0, [], journals={"data-plane": JOURNAL})
    note_versions(ledger)
    first = created(NS1)
    deliver(inbox, "1.jsonl", [again(first, "alice", 99, by=NOW - 1_000 - first[-1]["record"]["ended"])])
    write_watermark(inbox, NOW)
    run(settings, WITHOUT_SPARK)
    assert ranger.grants() == {"ns1": "alice"}
    found = status(settings, now=NOW)
    assert found.held_back == 0
    assert found.lag is not None
    assert found.lag < 60_000
