"""Two ledgers on one Ranger service: one that notices the other sends nothing until a person decides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES, CREATORS_LABEL, FORMER_LABEL, LEDGER_LABEL, grant_for
from ranger_cdap.config import Settings
from ranger_cdap.errors import LedgerLost
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, policy_for
from spark_sync.grants.ledger_mark import mark_of, own_mark
from spark_sync.reconcile.baseline import take_baseline as take
from spark_sync.reconcile.reconcile import reconcile
from spark_sync.reconcile.repair import RepairAction
from tests.spark_sync.conftest import Ranger, settings_of
from tests.spark_sync.grants.fixtures import life
from tests.spark_sync.test_job import NOW, RECORDING, deliver, inbox, ledger_of, recorded, run, source, take_baseline

__all__ = ["inbox"]

RECORDED = RECORDING / "baseline.jsonl"
MARK = f"{LEDGER_LABEL}0123abcd"
LATER = NOW + 120_000
NS1, NS2 = (recorded(f"/v3/namespaces/{name}", method="PUT") for name in ("ns1", "ns2"))


def ours(*labels: str, instance: str = "cdap", **changes: object) -> Policy:
    """A policy of the job with further labels."""
    of = life(entity=EntityId("dataset", ("ns1", "kv")))
    grant = grant_for(of.entity, "alice", instance, ACCESS_TYPES, non_creators=())
    written = policy_for(of, grant, service="cdapdev", delegate_admin=False)
    return replaced(written, policy_labels=[*written.policy_labels, *labels], **changes)


@pytest.mark.parametrize(
    ("policy", "mark"),
    [
        (ours(MARK), MARK),
        (ours("finance", MARK), MARK),
        (ours(), ""),
        (ours(MARK, instance="another"), ""),
        (ours(MARK, guid="3f0c2d1e-0000-4000-8000-000000000000"), ""),  # a person's copy
        (replaced(ours(), policy_labels=[FORMER_LABEL, MARK]), ""),  # a person's since
        (replaced(ours(), policy_labels=[CREATORS_LABEL, LEDGER_LABEL.upper()]), ""),
        (replaced(ours(MARK), resources={}), ""),
    ],
)
def test_whose_a_policy_is(policy: Policy, mark: str) -> None:
    assert mark_of(policy, "cdap") == mark


@given(st.lists(st.text(max_size=5).map(LEDGER_LABEL.__add__), max_size=3), st.lists(st.text(max_size=5), max_size=3))
def test_a_mark_is_no_content(marks: list[str], others: list[str]) -> None:
    assert content_of(ours(*others, *marks)) == content_of(ours(*others))


@pytest.fixture
def two(ranger: Ranger, tmp_path: Path, inbox: Callable[[str], Path]) -> tuple[Settings, Settings]:
    """The settings of two jobs, which read different events of one instance; each has something to grant."""
    found = []
    for name, request in (("one", NS1), ("two", NS2)):
        deliver(inbox(name), "1.jsonl", [request])
        settings = settings_of(ranger, tmp_path / name, data_plane=source(inbox(name)))
        take_baseline(settings)
        found.append(settings)
    first, second = found
    return first, second


def test_a_second_ledger_sends_nothing_until_a_person_says_that_the_first_is_gone(
    ranger: Ranger, two: tuple[Settings, Settings], tmp_path: Path
) -> None:
    first, second = two
    run(first)
    (policy,) = ranger.policies()
    mark = own_mark(ledger_of(first))
    assert (policy.policy_labels, ranger.grants()) == ([CREATORS_LABEL, mark], {"ns1": "alice"})

    for _ in range(2):
        with pytest.raises(LedgerLost) as told:
            run(second)
        assert f"policy {policy.id}" in str(told.value)
        assert f"`{mark}` of another ledger, and this one's is `{own_mark(ledger_of(second))}`" in str(told.value)
        assert ranger.policies() == [policy]

    reconcile(second, entities=[EntityId("namespace", ("ns2",))], action=RepairAction.ADOPT)
    with pytest.raises(LedgerLost):  # that was about one entity, not about a ledger
        run(second)
    take_inventory(second, tmp_path, RECORDED.read_text(encoding="utf-8") + '{"type": "namespace", "parts": ["ns1"]}\n')
    with pytest.raises(LedgerLost):
        run(second)
    reconcile(second, action=RepairAction.ADOPT)
    assert not run(second).trouble
    assert ranger.grants() == {"ns1": "alice", "ns2": "alice"}

    with pytest.raises(LedgerLost) as told:  # it was not gone
        run(first, now=LATER)
    assert f"`{own_mark(ledger_of(second))}` of another ledger" in str(told.value)


def take_inventory(settings: Settings, directory: Path, lines: str) -> None:
    (directory / "inventory.jsonl").write_text(lines, encoding="utf-8")
    take(settings, directory / "inventory.jsonl", now=LATER)


def test_ledgers_of_two_instances_share_a_service(
    ranger: Ranger, two: tuple[Settings, Settings], tmp_path: Path
) -> None:
    first, second = two
    second = replaced(second, cdap=replaced(second.cdap, instance="cdap2"))
    second = replaced(second, sync=replaced(second.sync, state_dir=tmp_path / "of cdap2"))
    take_inventory(second, tmp_path, RECORDED.read_text(encoding="utf-8").replace('"cdap"', '"cdap2"'))
    for settings in (first, second, first, second):
        assert not run(settings, now=LATER).trouble
    assert ranger.grants() == {"ns1": "alice"}, "the second one's events are of the first instance"


def test_a_copy_of_a_ledger_is_the_same_one(ranger: Ranger, two: tuple[Settings, Settings], tmp_path: Path) -> None:
    first, _ = two
    run(first)
    (tmp_path / "one").rename(tmp_path / "moved")
    moved = settings_of(ranger, tmp_path / "moved", data_plane=source(first.sync.sources[0].path))  # type: ignore[arg-type]
    assert not run(moved, now=LATER).trouble


def test_policies_of_people_get_no_mark(ranger: Ranger, two: tuple[Settings, Settings]) -> None:
    first, _ = two
    run(first)
    (policy,) = ranger.policies()
    item = replaced(policy.policy_items[0], users=["bob"])
    ranger.admin.update_policy(replaced(policy, policy_items=[*policy.policy_items, item]))
    assert not run(first, now=LATER).trouble
    (edited,) = ranger.policies()
    assert edited.policy_labels == policy.policy_labels
