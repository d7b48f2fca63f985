"""Grants in somebody else's policy: only where nothing is denied, only what was not there, and taken out exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant, held
from ranger_cdap.ranger_model.policy import Policy, PolicyItemCondition, PolicyResource
from ranger_cdap.ranger_model.schedule import ValiditySchedule
from spark_sync.grants.plan import PlanSettings, RevokeMerged, plan
from spark_sync.grants.unmanaged import merge_obstacle, removal_obstacle
from spark_sync.grants.writer import carry_out
from spark_sync.ledger.life import Life, State
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.grants.fixtures import ALL, Watched, foreign, gone, item, life, resource, send, wants

GRANT = Grant({"instance": "cdap", "namespace": "ns1", "dataset": "kv"}, "alice", ALL)
PLAIN = Policy(
    id=7, name="theirs", resources=resource(namespace="ns1", dataset="kv"), policy_items=[item("bob", "read")]
)

NOT_TO_ADD_TO: dict[str, dict[str, Any]] = {
    "a deny item for the creator": {"deny_policy_items": [item("alice", "write")]},
    "a deny item for somebody else": {"deny_policy_items": [item("bob", "write")]},
    "an exception": {"allow_exceptions": [item("alice", "read")]},
    "an exception of a denial": {"deny_exceptions": [item("bob", "read")]},
    "deny all else": {"is_deny_all_else": True},
    "a sync job that is not this one": {"policy_labels": [CREATORS_LABEL]},
}
NOT_IN_REACH: dict[str, dict[str, Any]] = {
    "a condition": {"conditions": [PolicyItemCondition(type="_expression", values=["true"])]},
    "an item with a condition": {
        "policy_items": [item("bob", "read", conditions=[PolicyItemCondition(type="_expression", values=["true"])])]
    },
    "a validity period": {"validity_schedules": [ValiditySchedule(start_time="2026/01/01 00:00:00")]},
    "an override": {"policy_priority": 1},
    "switched off": {"is_enabled": False},
    "a mask": {"policy_type": 1},
    "a zone": {"zone_name": "z"},
    "more resources": {"additional_resources": [resource(namespace="ns2")]},
    "another resource": {"resources": resource(namespace="ns1", dataset="*")},
    "all but the resource": {
        "resources": {**PLAIN.resources, "dataset": PolicyResource(values=["kv"], is_excludes=True)}
    },
    "a delegated administrator": {"policy_items": [item("alice", "read", delegate_admin=True)]},
}


def merging(ranger: Ranger, before: Life, **given: Any) -> Life:
    (after,) = send(ranger, before, merge_into_foreign=True, **given)
    return after


def merged(ranger: Ranger, before: Life | None = None) -> Life:
    """A life all of whose grant is in somebody else's policy."""
    return merging(ranger, merging(ranger, before or life()))


def rights(policy: Policy) -> dict[str, frozenset[str]]:
    users = {user for one in policy.policy_items for user in one.users}
    return {user: held(policy, user) for user in users}


@pytest.mark.parametrize("fields", (NOT_TO_ADD_TO | NOT_IN_REACH).values(), ids=NOT_TO_ADD_TO | NOT_IN_REACH)
def test_only_a_policy_that_plainly_allows_is_added_to(fields: dict[str, Any]) -> None:
    assert merge_obstacle(PLAIN, GRANT) is None
    assert merge_obstacle(msgspec.structs.replace(PLAIN, **fields), GRANT)


@pytest.mark.parametrize("fields", NOT_IN_REACH.values(), ids=NOT_IN_REACH)
def test_what_revoke_does_not_reach_is_left_to_a_person(fields: dict[str, Any]) -> None:
    assert removal_obstacle(PLAIN, GRANT) is None
    assert removal_obstacle(msgspec.structs.replace(PLAIN, **fields), GRANT)


@pytest.mark.parametrize("fields", NOT_TO_ADD_TO.values(), ids=NOT_TO_ADD_TO)
def test_a_policy_that_is_not_plain_is_left_as_it_is(ranger: Ranger, fields: dict[str, Any]) -> None:
    theirs = foreign(ranger, **fields)
    blocked = merging(ranger, life())
    assert blocked.state is State.BLOCKED
    assert f"policy {theirs.id} (`theirs`) already exists and nothing is added to it because it" in blocked.reason
    assert (blocked.merged, ranger.policies()) == ((), [theirs])
    assert merging(ranger, gone(blocked)).state is State.CLOSED
    assert ranger.policies() == [theirs]


def test_with_two_policies_of_the_resource_nothing_is_added_and_nothing_taken_out(ranger: Ranger) -> None:
    """Grant REST would change whichever of them it finds first: here perhaps the one that overrides a denial."""
    theirs = foreign(ranger)
    applied = merged(ranger)
    before = ranger.policies()
    override = foreign(ranger, name="override", policy_priority=1, deny_policy_items=[item("alice", "write")])
    kept = merging(ranger, gone(applied))
    assert kept.state is State.CLOSING
    assert f"policy {theirs.id} is not the only policy for its resource (see policy {override.id})" in kept.reason
    blocked = merging(ranger, wants(applied, "read"))
    assert blocked.state is State.BLOCKED
    blocked = merging(ranger, life())
    assert (blocked.state, blocked.merged) == (State.BLOCKED, ())
    assert ranger.policies() == [*before, override]


def test_it_is_switched_off_by_default(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    (blocked,) = send(ranger, life())
    assert (blocked.state, blocked.merged, ranger.policies()) == (State.BLOCKED, (), [theirs])


def test_missing_accesses_are_recorded_then_added_and_exactly_these_are_revoked(ranger: Ranger) -> None:
    theirs = foreign(ranger, policy_items=[item("bob", "read"), item("alice", "read"), item("svc", *ALL)])
    before = rights(theirs)
    watched = Watched(ranger.sync)
    intent = merging(ranger, life(), by=watched)
    assert (intent.state, intent.merged, intent.policy_id) == (State.PENDING, ("write", "admin", "execute"), theirs.id)
    assert ranger.policies() == [theirs]

    applied = merging(ranger, intent, by=watched)
    (policy,) = ranger.policies()
    assert (applied.state, applied.merged, applied.policy_version) == (State.APPLIED, intent.merged, policy.version)
    assert rights(policy) == before | {"alice": frozenset(ALL)}

    closed = merging(ranger, gone(applied), by=watched)
    (policy,) = ranger.policies()
    assert (closed.state, rights(policy)) == (State.CLOSED, before)
    assert watched.writes == ["create_policy", "grant_access", "revoke_access"]


def test_an_application_with_its_programs_too(ranger: Ranger) -> None:
    entity = EntityId("application", ("ns1", "App"))
    foreign(ranger, resources=resource(namespace="ns1", application="App", program="*"))
    applied = merged(ranger, life(entity=entity))
    assert (applied.state, held(ranger.policies()[0], "alice")) == (State.APPLIED, frozenset(ALL))
    assert merging(ranger, gone(applied)).state is State.CLOSED
    assert held(ranger.policies()[0], "alice") == frozenset()


def test_where_the_creator_has_all_already_nothing_is_sent_and_nothing_taken_out(ranger: Ranger) -> None:
    theirs = foreign(ranger, policy_items=[item("alice", *ALL)])
    applied = merging(ranger, life())
    assert (applied.state, applied.reason) == (State.APPLIED, f"already granted by policy {theirs.id}")
    assert merging(ranger, gone(applied)).state is State.CLOSED
    assert ranger.policies() == [theirs]


def test_a_merge_killed_before_its_record_is_not_sent_again_and_is_still_revoked(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    intent = merging(ranger, life())
    merging(ranger, intent)
    version = ranger.policy_version()
    applied = merging(ranger, intent)
    assert (applied.state, applied.merged) == (State.APPLIED, ALL)
    assert ranger.policy_version() == version
    assert merging(ranger, gone(intent)).state is State.CLOSED
    (policy,) = ranger.policies()
    assert rights(policy) == rights(theirs)


def test_taken_out_also_when_the_setting_is_off_again(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    (closed,) = send(ranger, gone(merged(ranger)))
    (policy,) = ranger.policies()
    assert (closed.state, rights(policy)) == (State.CLOSED, rights(theirs))


def test_a_change_of_the_profile_takes_out_and_adds(ranger: Ranger) -> None:
    foreign(ranger, policy_items=[item("bob", "read"), item("alice", "execute")])
    applied = merged(ranger, life(accesses=("read", "write")))
    pending = wants(applied, "write", "admin")
    for _ in range(3):
        pending = merging(ranger, pending)
    (policy,) = ranger.policies()
    assert (pending.state, pending.merged) == (State.APPLIED, ("write", "admin"))
    assert rights(policy)["alice"] == {"write", "admin", "execute"}
    merging(ranger, gone(pending))
    assert held(ranger.policies()[0], "alice") == {"execute"}


def test_what_a_person_took_out_is_not_added_again(ranger: Ranger) -> None:
    foreign(ranger)
    applied = merged(ranger, life(accesses=("read", "write")))
    (policy,) = ranger.policies()
    ranger.admin.update_policy(
        msgspec.structs.replace(policy, policy_items=[item("bob", "read"), item("alice", "read")])
    )
    before = ranger.policies()
    blocked = merging(ranger, wants(applied, "write", "admin"))
    assert (blocked.state, ranger.policies()) == (State.BLOCKED, before)
    assert blocked.reason == f"edited: write for `alice` was removed from policy {policy.id}"
    assert merging(ranger, gone(blocked)).state is State.CLOSED
    assert held(ranger.policies()[0], "alice") == frozenset()


def test_a_profile_that_gives_nothing_any_more_takes_out(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    known = merging(ranger, wants(merged(ranger)))
    assert (known.state, known.merged) == (State.KNOWN, ())
    assert rights(ranger.policies()[0]) == rights(theirs)


def before_the_grant(ranger: Ranger, theirs: Policy, change: Callable[[Policy], object]) -> Watched:
    """A Ranger where somebody does something between our look and our grant."""

    def meddle(name: str, _: int) -> None:
        if name == "grant_access" and (policy := ranger.admin.policy_by_id(theirs.id or -1)):
            change(policy)

    return Watched(ranger.sync, before=meddle)


def test_a_change_in_the_moment_of_our_grant_is_told_and_the_grant_taken_out_at_once(ranger: Ranger) -> None:
    theirs = foreign(ranger)

    def deny(policy: Policy) -> None:
        ranger.admin.update_policy(msgspec.structs.replace(policy, deny_policy_items=[item("alice", "write")]))

    blocked = merging(ranger, merging(ranger, life()), by=before_the_grant(ranger, theirs, deny))
    assert (blocked.state, blocked.merged) == (State.BLOCKED, ())
    assert f"policy {theirs.id} was modified concurrently (version 1 became 3)" in blocked.reason
    (policy,) = ranger.policies()
    assert (held(policy, "alice"), policy.deny_exceptions) == (frozenset(), [])
    assert merging(ranger, gone(blocked)).state is State.CLOSED
    assert ranger.policies() == [policy]


def test_a_policy_deleted_in_the_moment_of_our_grant_leaves_nothing_of_it_behind(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    deleting = before_the_grant(ranger, theirs, lambda policy: ranger.admin.delete_policy(policy.id or -1))
    pending = merging(ranger, merging(ranger, life()), by=deleting)
    assert (pending.state, pending.merged, pending.policy_id) == (State.PENDING, (), -1)
    assert all(not held(policy, "alice") for policy in ranger.policies())


def test_once_their_policy_is_gone_the_grant_gets_one_of_its_own(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    applied = merged(ranger)
    ranger.admin.delete_policy(theirs.id or -1)
    begun = merging(ranger, applied.become(State.PENDING))
    assert (begun.state, begun.merged, begun.policy_id) == (State.PENDING, (), -1)
    assert merging(ranger, begun).state is State.APPLIED
    assert merging(ranger, gone(applied)).state is State.CLOSED


LATER: dict[str, dict[str, Any]] = {
    "a denial for the creator": {"deny_policy_items": [item("alice", "write")]},
    "an exception for the creator": {"allow_exceptions": [item("alice", "write")]},
    "switched off": {"is_enabled": False},
    "another resource": {"resources": resource(namespace="ns1", dataset="kv2")},
}


@pytest.mark.parametrize("fields", LATER.values(), ids=LATER)
def test_what_a_person_changed_since_stays_and_he_is_told_what_to_take_out(
    ranger: Ranger, fields: dict[str, Any]
) -> None:
    theirs = foreign(ranger)
    applied = merged(ranger)
    (policy,) = ranger.policies()
    ranger.admin.update_policy(msgspec.structs.replace(policy, **fields))
    before = ranger.policies()
    kept = merging(ranger, gone(applied))
    assert kept.state is State.CLOSING
    assert kept.reason.startswith(f"policy {theirs.id} ")
    assert kept.reason.endswith("remove read, write, admin, execute for `alice` from it manually")
    assert ranger.policies() == before


def test_a_denial_for_somebody_else_stays_when_ours_is_taken_out(ranger: Ranger) -> None:
    foreign(ranger)
    applied = merged(ranger)
    (policy,) = ranger.policies()
    denied = [item("bob", "write")]
    ranger.admin.update_policy(msgspec.structs.replace(policy, deny_policy_items=denied))
    assert merging(ranger, gone(applied)).state is State.CLOSED
    (policy,) = ranger.policies()
    assert (policy.deny_policy_items, held(policy, "alice")) == (denied, frozenset())


def test_an_unknown_user_waits(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    waiting = merged(ranger, life("stranger"))
    assert (waiting.state, waiting.reason) == (State.PENDING, "unknown user: Ranger has no `stranger`")
    assert merging(ranger, waiting) == waiting
    assert ranger.policies() == [theirs]


def test_an_account_that_may_not_delegate_fails_this_grant_only(ranger: Ranger) -> None:
    foreign(ranger)
    intent = merging(ranger, life())
    settings = PlanSettings("cdap", ranger.service, grantor="bob", merge_into_foreign=True)
    (step,) = plan([intent], settings)
    failed = carry_out(step, ranger.sync).life
    assert (failed.state, failed.merged) == (State.FAILED, ALL)
    assert "necessary permission" in failed.reason
    applied = merging(ranger, intent)
    (step,) = plan([gone(applied)], settings)
    assert isinstance(step, RevokeMerged)
    kept = carry_out(step, ranger.sync).life
    assert (kept.state, kept.merged) == (State.CLOSING, ALL)
    assert "necessary permission" in kept.reason
