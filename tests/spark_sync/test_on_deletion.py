"""Whole runs with rights of others on a deleted entity: `sync.on_deletion`, the audit, and what is reported."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemCondition, PolicyResource
from spark_sync.grants.rights_of_others import RIGHTS_LEFT
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import MANUAL, State
from spark_sync.reconcile.drift import Drift
from spark_sync.reconcile.reconcile import reconcile
from spark_sync.status import status
from tests.spark_sync.conftest import WITHOUT_SPARK, Ranger
from tests.spark_sync.grants.fixtures import DATASET, MemoryLedger, Watched, foreign, gone, item, life, pushed, send
from tests.spark_sync.test_job import NOW, deliver, recorded, run, source, take_baseline

DS1 = "/v3/namespaces/ns1/data/datasets/ds1"
ON_IT = {"namespace": "ns1", "dataset": "ds1"}
LATER = NOW + 3_600_000
SCRIPT = [PolicyItemCondition(type="_expression", values=["true"])]


def named(**levels: str) -> dict[str, PolicyResource]:
    return {level: PolicyResource(values=[value]) for level, value in {"instance": "cdap", **levels}.items()}


def rights_of(*users: str) -> list[PolicyItem]:
    return [item(user, "read", "write") for user in users]


@pytest.fixture
def deployed(ranger: Ranger, settings_for: Callable[..., Settings], tmp_path: Path) -> Callable[..., Settings]:
    """A run after which alice has a dataset on which bob and others have rights; then the records of its deletion."""

    def make(**sync: Any) -> Settings:
        directory = tmp_path / "records"
        directory.mkdir()
        settings = settings_for(d=source(directory))
        audit = AuditSettings(sinks=("file",), file=tmp_path / "audit.jsonl", spool_dir=tmp_path / "spool")
        settings = replaced(settings, sync=replaced(settings.sync, **sync), audit=audit)
        take_baseline(settings)
        deliver(directory, "1.jsonl", [recorded("/v3/namespaces/ns1", method="PUT"), recorded(DS1, method="PUT")])
        run(settings, WITHOUT_SPARK)
        for writer, policy in (
            (ranger.admin, {"name": "shared", "policy_items": rights_of("bob")}),
            (
                ranger.sync,
                {
                    "name": "denying",
                    "policy_items": rights_of("alice"),
                    "deny_policy_items": [item("svc", "read")],
                    "additional_resources": [named(**ON_IT)] * 2,
                },
            ),
            (
                ranger.admin,
                {
                    "name": "limited",
                    "policy_items": rights_of("bob"),
                    "conditions": SCRIPT,
                    "additional_resources": [named(**ON_IT)] * 4,
                },
            ),
        ):
            writer.create_policy(Policy(service=ranger.service, resources=named(**ON_IT), **policy))  # type: ignore[arg-type]
        deliver(directory, "2.jsonl", [recorded(DS1, method="DELETE")])
        return settings

    return make


def held(ranger: Ranger) -> dict[str, tuple[bool, list[str]]]:
    """Of each policy that people wrote, whether it is enabled, and whom it allows something."""
    return {
        policy.name: (policy.is_enabled, [user for each in policy.policy_items for user in each.users])
        for policy in ranger.policies()
        if not policy.name.startswith("alice created")
    }


def test_by_default_rights_of_others_stay_and_status_lists_them(
    ranger: Ranger, deployed: Callable[..., Settings]
) -> None:
    settings = deployed()
    run(settings, WITHOUT_SPARK)
    report = run(settings, WITHOUT_SPARK, now=LATER)
    assert held(ranger) == {"shared": (True, ["bob"]), "denying": (True, ["alice"]), "limited": (True, ["bob"])}
    (left,) = [each for each in report.waiting if each.state is State.CLOSED]
    assert [name in left.reason for name in ("user `bob`", "`shared`", "`denying`", "`limited`")] == [True] * 4
    assert [each for each in status(settings, now=LATER).waiting if each.state is State.CLOSED] == [left]
    for policy in ranger.policies():
        if policy.name in ("shared", "denying", "limited") and policy.id is not None:
            ranger.admin.delete_policy(policy.id)
    assert all(RIGHTS_LEFT not in each.reason for each in run(settings, WITHOUT_SPARK, now=2 * LATER - NOW).waiting)


def test_revoke_exact_takes_allow_items_only_and_each_removal_is_in_the_audit(
    ranger: Ranger, deployed: Callable[..., Settings]
) -> None:
    settings = deployed(on_deletion="revoke-exact")
    report = run(settings, WITHOUT_SPARK)
    assert held(ranger) == {"shared": (False, []), "denying": (True, []), "limited": (True, ["bob"])}
    (denying,) = [policy for policy in ranger.policies() if policy.name == "denying"]
    assert [each.users for each in denying.deny_policy_items] == [["svc"]]
    (left,) = [each for each in report.waiting if each.state is State.CLOSED]
    assert "(`shared`) has no items left and is disabled" in left.reason
    assert "(`limited`)" in left.reason
    assert settings.audit.file is not None
    records = [json.loads(line) for line in settings.audit.file.read_text().splitlines()]
    assert {(each["access"], each["resource"], each["resType"]) for each in records} == {
        ("revoke", "cdap/ns1/ds1", "dataset")
    }
    assert sorted(each["reason"].rpartition("in ")[2] for each in records) == [
        "`denying`: read, write of alice",
        "`shared`: read, write of bob",
    ]
    version = ranger.policy_version()
    run(settings, WITHOUT_SPARK, now=LATER)
    assert ranger.policy_version() == version


def test_with_delegation_what_no_administrator_wrote_is_revoked_by_default(
    ranger: Ranger, deployed: Callable[..., Settings]
) -> None:
    run(deployed(delegate_admin=True), WITHOUT_SPARK)
    assert held(ranger) == {"shared": (True, ["bob"]), "denying": (True, []), "limited": (True, ["bob"])}


def test_report_keeps_what_a_creator_who_could_delegate_gave(ranger: Ranger, deployed: Callable[..., Settings]) -> None:
    run(deployed(delegate_admin=True, on_deletion="report"), WITHOUT_SPARK)
    assert held(ranger) == {"shared": (True, ["bob"]), "denying": (True, ["alice"]), "limited": (True, ["bob"])}


def test_rights_on_an_entity_that_was_deleted_are_drift(ranger: Ranger, deployed: Callable[..., Settings]) -> None:
    settings = deployed()
    run(settings, WITHOUT_SPARK)
    found = [each for each in reconcile(settings).left if each.drift is Drift.NO_SUCH_ENTITY]
    assert {(str(each.entity), each.policy.name if each.policy else "") for each in found} == {
        ("dataset:ns1.ds1", name) for name in ("shared", "denying", "limited")
    }


def test_the_next_creator_waits_until_others_have_lost_their_rights(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    theirs = foreign(ranger)
    ledger = MemoryLedger([gone(applied), life("bob", number=2)])
    edits = 0

    def edit(name: str, _: int) -> None:
        nonlocal edits
        if name == "list_policies" and edits < 9:
            edits += 1
            now = next(each for each in ranger.policies() if each.id == theirs.id)
            again = replaced(now, policy_items=rights_of("alice"), is_enabled=True)
            ranger.sync.update_policy(again)

    found = pushed(ranger, ledger, Watched(ranger.sync, before=edit), on_deletion="revoke-exact", delegate_admin=True)
    assert (found.trouble, ledger.states()) == ("", {State.CLOSING: 1, State.PENDING: 1})
    assert "again and again" in ledger.rows[DATASET, 1].reason
    edits = 9
    pushed(ranger, ledger, on_deletion="revoke-exact", delegate_admin=True)
    assert ledger.states() == {State.CLOSED: 1, State.APPLIED: 1}


def test_a_life_ended_by_hand_takes_no_right_of_others(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    foreign(ranger)
    ledger = MemoryLedger([replace(gone(applied), ended=Position(105, True, MANUAL, ""))])
    pushed(ranger, ledger, on_deletion="revoke-exact")
    assert ledger.rows[DATASET, 1].reason == ""
    assert held(ranger) == {"theirs": (True, ["bob"])}
