"""Where ledger, inventory and Ranger disagree, and what each action makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replaced

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess
from spark_sync.grants.grant_policy import content_of
from spark_sync.grants.observe import observed
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.drift import RELEASED, survey
from spark_sync.reconcile.inventory import listings
from spark_sync.reconcile.repair import RepairAction, Repairs, actions, repair_all
from tests.spark_sync.grants.fixtures import item, resource
from tests.spark_sync.reconcile.drift_fixtures import ALL, APP, KV, SETTINGS, changed, find_drift, inventory, ours, row

WIDENED = ours(policy_items=[*ours().policy_items, item("bob", "read")])
EDITED = ours(policy_items=[item("bob", "read")])
APPLIED, KNOWN = row(State.APPLIED), row(State.KNOWN, creator=None)

CASES: dict[str, tuple[list[Life], list[Policy], Inventory | None, list[str]]] = {
    "all is well": ([APPLIED], [ours()], inventory(KV), []),
    "an application, with its programs": ([row(State.APPLIED, APP)], [ours(APP)], inventory(APP), []),
    "nothing sent yet": ([row(State.PENDING)], [], inventory(KV), []),
    "sent, but the run was killed before it wrote that down": ([row(State.PENDING)], [ours()], inventory(KV), []),
    "somebody else's policy": ([], [replaced(ours(), guid="6a0e2a3c-2f0f-4b52-8e2f-0b6a5c1d7e3f")], None, []),
    "a policy without a guid": ([], [replaced(ours(), guid="")], None, []),
    "gone": ([APPLIED], [ours()], inventory(), ["entity_deleted 1"]),
    "gone before it was granted": ([row(State.PENDING)], [], inventory(), ["entity_deleted 1"]),
    "gone while it was stuck": ([row(State.BLOCKED)], [ours()], inventory(), ["entity_deleted 1"]),
    "created after the inventory": ([APPLIED], [ours()], inventory(taken=300), []),
    "gone, but nothing was granted": ([KNOWN], [], inventory(), []),
    "gone, as the ledger knows": ([row(State.CLOSED)], [], inventory(), []),
    "deleted by hand": ([APPLIED], [], inventory(KV), ["missing 1"]),
    "deleted by hand, noticed": ([row(State.BLOCKED)], [], None, ["missing 1"]),
    "never allowed": ([row(State.BLOCKED, policy_id=-1, written="")], [], None, []),
    "somebody added": ([APPLIED], [WIDENED], None, []),
    "renamed": ([APPLIED], [ours(name="renamed")], None, []),
    "edited": ([APPLIED], [EDITED], None, ["edited 1"]),
    "edited, noticed": ([row(State.BLOCKED)], [EDITED], None, ["edited 1"]),
    "switched off": ([APPLIED], [ours(is_enabled=False)], None, ["edited 1"]),
    "its label taken off": ([APPLIED], [ours(policy_labels=[])], None, []),
    "denied": ([APPLIED], [ours(deny_policy_items=[item("alice", "read")])], None, ["edited 1"]),
    "edited and its entity gone": ([row(State.CLOSING)], [EDITED], None, []),
    "to be taken back, not sent yet": ([row(State.CLOSING)], [ours()], None, []),
    "to be taken back, never written down": ([row(State.CLOSING, written="", policy_id=-1)], [ours()], None, []),
    "not in the ledger": ([], [ours()], None, ["unrecorded 1"]),
    "not in the ledger, label taken off": ([], [ours(policy_labels=[])], None, ["unrecorded 1"]),
    "not in the ledger, its fifth life": ([], [ours(number=5)], None, ["unrecorded 5"]),
    "not in the ledger, an application": ([], [ours(APP)], None, ["unrecorded 1"]),
    "known by a new baseline": ([KNOWN], [ours()], None, ["unrecorded 1"]),
    "known by a new baseline, by another number": ([KNOWN], [ours(number=2)], None, ["unrecorded 2"]),
    "of another instance": ([], [ours(resources=resource(instance="test", namespace="ns1", dataset="kv"))], None, []),
    "our guid on another entity": ([], [ours(resources=resource(namespace="ns1", dataset="other"))], None, []),
    "created again since the ledger was copied": (
        [APPLIED], [ours(number=2, policy_id=8)], None, ["unrecorded 2", "missing 1"],
    ),
    "of a life that is closed": ([row(State.CLOSED)], [ours()], None, ["stale 1"]),
    "of a life before the one that is applied": (
        [row(State.APPLIED, number=2)], [ours(), ours(number=2)], None, ["stale 1"],
    ),
    "two that are not in the ledger": ([], [ours(), ours(number=2, policy_id=8)], None, ["unrecorded 2", "stale 1"]),
    "left to people": ([replace(KNOWN, reason=RELEASED)], [EDITED], None, []),
    "left to people, entity gone": ([row(State.CLOSED, reason=RELEASED)], [EDITED], None, []),
    "not in the ledger, but it exists": ([], [], inventory(KV), ["unknown 0"]),
    "perhaps created": ([row(State.UNCONFIRMED)], [], inventory(KV), ["unknown 0"]),
    "deleted after the inventory": ([row(State.CLOSED)], [], inventory(KV, taken=300), []),
    "deleted before the inventory, and there again": ([row(State.CLOSED)], [], inventory(KV), ["unknown 0"]),
    "a program, which nobody creates": ([], [], inventory(EntityId("program", ("ns1", "a", "worker.w"))), []),
    "what is never granted": ([], [], inventory(EntityId("namespace", ("system",))), []),
}  # fmt: skip


@pytest.mark.parametrize(("lives", "policies", "listed", "found"), CASES.values(), ids=CASES)
def test_drift(lives: list[Life], policies: list[Policy], listed: Inventory | None, found: list[str]) -> None:
    drift = find_drift(lives, policies, listed, SETTINGS)
    assert [f"{finding.drift} {finding.number}" for finding in drift] == found


def test_an_entity_without_a_creator_is_no_drift() -> None:
    assert find_drift([KNOWN, APPLIED], [ours()], None, SETTINGS) == []


def test_whatever_can_be_created_an_inventory_can_list() -> None:
    """Otherwise its grants would be taken for gone."""
    assert {kind.name for kind in load_creations().entities} <= {listing.entity for listing in listings()}


TWO_USERS = ours(policy_items=[item("alice", "read"), item("bob", "read")])
ONLY_GROUPS = ours(policy_items=[PolicyItem(groups=["staff"], accesses=[PolicyItemAccess(type="read")])])
AGAIN = [row(State.CLOSED), row(State.KNOWN, number=2, creator=None)]

# What the ledger says afterwards: number, state, creator and reason's first word; or that the action does not fit.
NO = "does not fit"
ADOPT, RELEASE, REVOKE = RepairAction

REPAIRS: dict[str, tuple[RepairAction, list[Life], list[Policy], Inventory | None, str]] = {
    "edited: adopt": (ADOPT, [APPLIED], [EDITED], None, "1 applied alice"),
    "edited, noticed: adopt": (ADOPT, [row(State.BLOCKED)], [EDITED], None, "1 applied alice"),
    "edited: release": (RELEASE, [APPLIED], [EDITED], None, "1 known alice released"),
    "edited: revoke": (REVOKE, [APPLIED], [EDITED], None, NO),
    "missing: adopt": (ADOPT, [APPLIED], [], None, "1 known alice its"),
    "missing: release": (RELEASE, [APPLIED], [], None, "1 known alice its"),
    "missing: revoke": (REVOKE, [APPLIED], [], None, NO),
    "gone: adopt": (ADOPT, [APPLIED], [ours()], inventory(), NO),
    "gone: release": (RELEASE, [APPLIED], [ours()], inventory(), "1 closed alice released"),
    "gone: revoke": (REVOKE, [APPLIED], [ours()], inventory(), "1 closing alice"),
    "gone and edited: revoke": (REVOKE, [APPLIED], [EDITED], inventory(), "1 closing alice"),
    "unrecorded: adopt": (ADOPT, [KNOWN], [ours()], None, "1 applied alice"),
    "unrecorded, other number: adopt": (ADOPT, [KNOWN], [ours(number=3)], None, "3 applied alice"),
    "unrecorded, earlier life: adopt": (ADOPT, AGAIN, [ours(number=2)], None, "1 closed alice, 2 applied alice"),
    "unrecorded, listed: adopt": (ADOPT, [], [ours()], inventory(KV), "1 applied alice"),
    "unrecorded, perhaps gone: adopt": (ADOPT, [], [ours()], None, NO),
    "unrecorded, gone: adopt": (ADOPT, [KNOWN], [ours()], inventory(), NO),
    "unrecorded, two users: adopt": (ADOPT, [KNOWN], [TWO_USERS], None, NO),
    "unrecorded, a group: adopt": (ADOPT, [KNOWN], [ONLY_GROUPS], None, NO),
    "unrecorded, created again: adopt": (
        ADOPT, [APPLIED], [ours(number=2, user="bob")], None, "1 closing alice, 2 applied bob",
    ),
    "unrecorded, both there: adopt": (
        ADOPT, [APPLIED], [ours(), ours(number=2, user="bob", policy_id=8)], None, NO,
    ),
    "unrecorded: release": (RELEASE, [KNOWN], [ours()], None, "1 known - released"),
    "unrecorded, perhaps gone: release": (RELEASE, [], [ours()], None, "1 closed - released"),
    "unrecorded: revoke": (REVOKE, [KNOWN], [ours()], None, "1 closing alice, 2 known - its"),
    "unrecorded, perhaps gone: revoke": (REVOKE, [], [ours()], None, "1 closing alice"),
    "unrecorded, two users: revoke": (REVOKE, [KNOWN], [TWO_USERS], None, "1 closing alice, 2 known - its"),
    "unrecorded, a group: revoke": (REVOKE, [KNOWN], [ONLY_GROUPS], None, NO),
    "leftover: adopt": (ADOPT, [row(State.CLOSED)], [ours()], None, NO),
    "leftover: release": (RELEASE, [row(State.CLOSED)], [ours()], None, "1 closed alice released"),
    "leftover: revoke": (REVOKE, [row(State.CLOSED)], [WIDENED], None, "1 closing alice"),
    "two unrecorded: revoke": (
        REVOKE, [], [ours(), ours(number=2, policy_id=8)], None, "1 closing alice, 2 closing alice",
    ),
    "unknown: adopt": (ADOPT, [], [], inventory(KV), NO),
}  # fmt: skip


@pytest.mark.parametrize(("action", "lives", "policies", "listed", "after"), REPAIRS.values(), ids=REPAIRS)
def test_repair(
    action: RepairAction, lives: list[Life], policies: list[Policy], listed: Inventory | None, after: str
) -> None:
    repairs = repaired(action, lives, policies, listed)
    if after == NO:
        assert repairs.changes == ()
        assert action not in actions(repairs.left[0])
        return
    assert ", ".join(map(told, changed(lives, repairs.changes))) == after
    assert not repairs.left or action is ADOPT


def repaired(action: RepairAction, lives: list[Life], policies: list[Policy], listed: Inventory | None) -> Repairs:
    return repair_all(survey(lives, policies, listed, SETTINGS), SETTINGS, action)


def told(life: Life) -> str:
    return f"{life.number} {life.state} {life.creator or '-'} {life.reason.partition(':')[0].partition(' ')[0]}".strip()


def test_a_taken_right_that_is_adopted_counts_as_what_was_written() -> None:
    taken = row(State.BLOCKED, taken="taken: `admin` disabled policy 7", reason="taken: `admin` disabled policy 7")
    disabled = ours(is_enabled=False)
    (change,) = repaired(ADOPT, [taken], [disabled], None).changes
    life = change.after
    assert (life.state, life.taken) == (State.APPLIED, "")
    assert observed(life, disabled, SETTINGS) == life


def test_what_is_adopted_is_remembered_as_it_stands() -> None:
    policy = ours(policy_items=[item("alice", "write", "read")], version=12)  # two were taken
    (change,) = repaired(ADOPT, [APPLIED], [policy], None).changes
    life = change.after
    assert (life.applied, life.written) == (("read", "write"), content_of(policy))
    assert (life.policy_id, life.policy_version) == (7, 12)


def test_what_is_adopted_in_place_of_a_known_life_began_with_it_and_replaces_it() -> None:
    dropped, change = repaired(ADOPT, [KNOWN], [ours(number=3)], None).changes
    assert dropped == LedgerChange(KNOWN, None)
    life = change.after
    assert (life.begun, life.accesses) == (KNOWN.begun, ALL)
