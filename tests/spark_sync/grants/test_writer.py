"""Plan and writer against the embedded Ranger Admin: what is ours is written and taken back, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import CREATORS_LABEL
from ranger_cdap.config import Secret
from ranger_cdap.errors import AdminUnreachable, PluginError, RequestRejected
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import LISTED, MOST_LISTED, content_of, guid_of, listed, overwritten
from spark_sync.grants.plan import CreateGrant, NoOp, RevokePolicy, former_contents, plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.refusals import RESOURCE_TAKEN
from spark_sync.grants.writer import carry_out
from spark_sync.ledger.life import DOUBTED_STATES, MANUAL_TERMS, State
from spark_sync.ledger.life_changes import restored
from spark_sync.reconcile.overrides import retry
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.grants.fixtures import (
    ALL,
    MemoryLedger,
    Watched,
    foreign,
    gone,
    item,
    life,
    look_at,
    pushed,
    resource,
    send,
    settings,
    steps,
    wants,
)
from tests.spark_sync.planning import planning


class Killed(BaseException):
    """What a test raises where the process would be killed."""


def test_a_pending_life_becomes_one_policy_for_one_user_on_one_entity(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    (policy,) = ranger.policies()
    assert (applied.state, applied.policy_id, applied.policy_version) == (State.APPLIED, policy.id, policy.version)
    assert (policy.guid, policy.policy_labels) == (guid_of(applied, "cdap"), [CREATORS_LABEL])
    assert {level: values.values for level, values in policy.resources.items()} == {
        "instance": ["cdap"],
        "namespace": ["ns1"],
        "dataset": ["kv"],
    }
    (item,) = policy.policy_items
    assert (item.users, item.groups, item.roles, item.delegate_admin) == (["alice"], [], [], False)
    assert {access.type for access in item.accesses} == set(ALL)
    others = (policy.deny_policy_items, policy.allow_exceptions, policy.deny_exceptions, policy.is_deny_all_else)
    assert others == ([], [], [], False)


def test_an_application_is_granted_with_its_programs(ranger: Ranger) -> None:
    send(ranger, life(entity=EntityId("application", ("ns1", "App"))))
    (policy,) = ranger.policies()
    assert policy.resources["program"].values == ["*"]


def test_a_kill_between_post_and_commit_heals_without_a_second_policy(ranger: Ranger) -> None:
    (first,) = send(ranger, life())
    version = ranger.policy_version()
    (second,) = send(ranger, life())
    assert second == first
    assert ranger.policy_version() == version


def test_ours_is_taken_back_when_the_entity_is_gone(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    (closed,) = send(ranger, gone(applied))
    assert closed.state is State.CLOSED
    assert ranger.policies() == []
    assert send(ranger, gone(applied)) == [closed]


def test_ours_is_taken_back_even_if_its_user_was_configured_as_a_non_creator_since(ranger: Ranger) -> None:
    (step,) = plan([life()], planning(ranger.service))
    applied = carry_out(step, ranger.sync).life
    (take_back,) = plan([gone(applied)], planning(ranger.service, "alice"))
    assert carry_out(take_back, ranger.sync).life.state is State.CLOSED
    assert ranger.policies() == []


# An edit by a person, how they took the right by it (empty: they did not), and whose items are left after the life.
EDITS: dict[str, tuple[Callable[[Policy], None], str, list[list[str]] | None]] = {
    "another user": (lambda policy: policy.policy_items[0].users.append("bob"), "", [["bob"]]),
    "another item": (lambda policy: policy.policy_items.append(item("bob", "read")), "", [["bob"]]),
    "another name": (lambda policy: setattr(policy, "name", "renamed"), "", []),
    "a description": (lambda policy: setattr(policy, "description", "mine now"), "", []),
    "no audit": (lambda policy: setattr(policy, "is_audit_enabled", False), "", []),
    "fewer accesses": (lambda policy: policy.policy_items[0].accesses.pop(), "took execute of `alice` out of", None),
    "another user instead": (
        lambda policy: setattr(policy.policy_items[0], "users", ["bob"]),
        "took admin, execute, read, write of `alice` out of",
        [["bob"]],
    ),
    "a deny item": (
        lambda policy: policy.deny_policy_items.append(item("alice", "write")),
        "denies `alice` in",
        [],
    ),
    "disabled": (lambda policy: setattr(policy, "is_enabled", False), "disabled", []),
}


def edit_ours(ranger: Ranger, edit: Callable[[Policy], None]) -> Policy:
    (policy,) = ranger.policies()
    edit(policy)
    ranger.admin.update_policy(policy)
    (edited,) = ranger.policies()
    return edited


@pytest.mark.parametrize(("edit", "taken", "left"), EDITS.values(), ids=EDITS)
def test_of_an_edited_policy_the_end_of_the_life_takes_exactly_what_was_ours(
    ranger: Ranger, edit: Callable[[Policy], None], taken: str, left: list[list[str]] | None
) -> None:
    (applied,) = send(ranger, life())
    edited = edit_ours(ranger, edit)
    (closed,) = send(ranger, gone(applied))
    assert closed.state is State.CLOSED
    rest = ranger.policies()
    if left is None:
        assert rest == []
        return
    (policy,) = rest
    assert [item.users for item in policy.policy_items] == left
    assert policy == edited or CREATORS_LABEL not in policy.policy_labels
    kept = (policy.name, policy.description, policy.resources, policy.deny_policy_items)
    assert kept == (edited.name, edited.description, edited.resources, edited.deny_policy_items)
    assert policy.is_enabled is (edited.is_enabled and bool(policy.items()))
    assert policy.items() or policy.is_audit_enabled  # Ranger refuses it otherwise
    (again,) = send(ranger, gone(applied))
    assert (again.state, ranger.policies()) == (State.CLOSED, rest)


@pytest.mark.parametrize(("edit", "taken", "left"), EDITS.values(), ids=EDITS)
def test_a_right_that_a_person_took_is_not_written_again_until_retried(
    ranger: Ranger, edit: Callable[[Policy], None], taken: str, left: list[list[str]] | None
) -> None:
    (applied,) = send(ranger, life())
    edited = edit_ours(ranger, edit)
    (after,) = send(ranger, wants(applied, *ALL))
    assert ranger.policies() == [edited]
    if not taken:
        assert (after.state, after.taken, after.applied) == (State.APPLIED, "", applied.applied)
        return
    assert (after.state, after.taken) == (State.BLOCKED, after.reason)
    assert after.reason.startswith("taken: ")
    assert f" {taken} policy {edited.id} (`{edited.name}`)" in after.reason
    (again,) = send(ranger, wants(after, "read"))
    assert (again.state, again.reason, ranger.policies()) == (State.BLOCKED, after.reason, [edited])
    retried = retry(after)
    assert retried is not None
    (given,) = send(ranger, retried)
    assert (given.state, given.taken) == (State.APPLIED, "")
    assert edited in ranger.policies()
    (closed,) = send(ranger, gone(given))
    assert closed.state is State.CLOSED
    assert not any("alice" in one.users for policy in ranger.policies() for one in policy.policy_items)


@pytest.mark.parametrize("kill", [None, "update_policy"])
@pytest.mark.parametrize(("edit", "taken", "left"), EDITS.values(), ids=EDITS)
def test_a_doubt_that_ends_leaves_what_a_person_took_and_gives_back_the_rest(
    ranger: Ranger, edit: Callable[[Policy], None], taken: str, left: list[list[str]] | None, kill: str | None
) -> None:
    def die(name: str, _: int) -> None:
        if name == kill:
            raise Killed

    (applied,) = send(ranger, life())
    edited = edit_ours(ranger, edit)
    ledger = MemoryLedger([applied.become(State.SUSPENDED, revoke=True)])
    with suppress(Killed):
        pushed(ranger, ledger, Watched(ranger.sync, after=die))
    assert not any("alice" in one.users for policy in ranger.policies() for one in policy.policy_items)

    (doubted,) = ledger.rows.values()
    ledger.rows[doubted.entity, doubted.number] = restored(doubted)
    pushed(ranger, ledger)
    (after,) = ledger.rows.values()
    if taken:
        assert (after.state, f" {taken} policy {edited.id} " in after.reason) == (State.BLOCKED, True)
    else:
        assert (after.state, after.reason) == (State.APPLIED, "")
    given = any("alice" in one.users for policy in ranger.policies() for one in policy.policy_items)
    assert given is not bool(taken)


@pytest.mark.parametrize("state", DOUBTED_STATES)
def test_the_grant_of_a_life_in_doubt_is_revoked_once(ranger: Ranger, state: State) -> None:
    (applied,) = send(ranger, life())
    (doubted,) = send(ranger, applied.become(state, revoke=True))
    assert (doubted.state, doubted.revoke, ranger.policies()) == (state, False, [])
    assert steps(ranger, doubted) == []


@pytest.mark.parametrize("blocked", [False, True])
def test_what_a_person_gives_back_after_a_doubt_is_brought_up_to_date(ranger: Ranger, *, blocked: bool) -> None:
    (applied,) = send(ranger, life())
    disabled = edit_ours(ranger, lambda policy: setattr(policy, "is_enabled", False))
    planning = plan_settings(settings(ranger, delegate_admin=True))
    ledger = MemoryLedger([applied])

    def look() -> None:
        seen = look_at(ledger, ranger.sync, planning).changed
        ledger.record(seen)

    if not blocked:
        look()
    (taken,) = ledger.rows.values()
    ledger.rows[taken.entity, 1] = restored(taken.become(State.SUSPENDED, revoke=True))
    if blocked:
        pushed(ranger, ledger, delegate_admin=True)
    ranger.admin.update_policy(msgspec.structs.replace(disabled, is_enabled=True))
    for _ in range(2):
        look()
        pushed(ranger, ledger, delegate_admin=True)
    (after,) = ledger.rows.values()
    (policy,) = ranger.policies()
    assert (after.state, after.taken) == (State.APPLIED, "")
    assert [item.users for item in policy.policy_items] == [["alice"]]


def test_a_policy_moved_to_another_resource_is_the_persons_and_a_new_one_is_written(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    elsewhere = resource(namespace="ns2", dataset="kv")

    def move(policy: Policy) -> None:
        policy.resources, policy.additional_resources = elsewhere, [elsewhere]

    moved = edit_ours(ranger, move)
    (given,) = send(ranger, wants(applied, *ALL))
    assert (given.state, given.copy) == (State.APPLIED, 1)
    (new,) = (policy for policy in ranger.policies() if policy.id != moved.id)
    assert (new.id, new.guid) == (given.policy_id, guid_of(given, "cdap"))
    assert new.guid != moved.guid
    (closed,) = send(ranger, gone(given))
    assert (closed.state, ranger.policies()) == (State.CLOSED, [moved])


@pytest.mark.parametrize("times", [1, 2, 3])
def test_another_policy_on_the_resource_is_no_obstacle_and_left_alone(ranger: Ranger, times: int) -> None:
    on = resource(namespace="ns1", dataset="kv")
    theirs = foreign(ranger, additional_resources=[on] * (times - 1))
    (applied,) = send(ranger, life())
    assert applied.state is State.APPLIED
    (ours,) = (policy for policy in ranger.policies() if policy.id != theirs.id)
    assert ours.additional_resources == [on] * (2 if times == 2 else 1)
    assert send(ranger, life()) == [applied]
    (closed,) = send(ranger, gone(applied))
    assert (closed.state, ranger.policies()) == (State.CLOSED, [theirs])


def test_another_policy_that_has_our_name_is_no_obstacle_and_left_alone(ranger: Ranger) -> None:
    (give,) = steps(ranger, life())
    assert isinstance(give, CreateGrant)
    theirs = foreign(ranger, name=give.policy.name, resources=resource(instance="other"))
    (applied,) = send(ranger, life())
    assert applied.state is State.APPLIED
    (closed,) = send(ranger, gone(applied))
    assert (closed.state, ranger.policies()) == (State.CLOSED, [theirs])


def test_an_unknown_user_stays_pending_until_ranger_knows_him(ranger: Ranger) -> None:
    (waiting,) = send(ranger, life("stranger"))
    assert waiting.state is State.PENDING
    assert waiting.reason == "unknown user: Ranger has no `stranger`"
    assert ranger.policies() == []


@pytest.mark.parametrize("creator", ["{USER}", "{OWNER}", "public", "*", "a,b", "", "root"], ids=repr)
def test_an_unsafe_creator_never_reaches_ranger(ranger: Ranger, creator: str) -> None:
    (step,) = steps(ranger, life(creator))
    assert isinstance(step, NoOp)
    assert step.done.state is State.BLOCKED


@pytest.mark.parametrize("name", ["*", "{OWNER}", "a,b", "a?", ""], ids=repr)
def test_an_unsafe_entity_never_reaches_ranger(ranger: Ranger, name: str) -> None:
    (step,) = steps(ranger, life(entity=EntityId("dataset", ("ns1", name))))
    assert isinstance(step, NoOp)
    assert step.done.state is State.BLOCKED


def test_a_change_of_the_profile_changes_our_policy_by_one_version(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    (changed,) = send(ranger, wants(applied, "read"))
    (policy,) = ranger.policies()
    assert [access.type for access in policy.policy_items[0].accesses] == ["read"]
    assert (changed.state, changed.applied) == (State.APPLIED, ("read",))
    assert (changed.policy_id, changed.policy_version) == (applied.policy_id, applied.policy_version + 1)
    assert policy.version == changed.policy_version
    # The same once more, as after a kill between PUT and commit: nothing is sent.
    watched = Watched(ranger.sync)
    assert send(ranger, wants(applied, "read"), by=watched) == [changed]
    assert watched.writes == []
    (closed,) = send(ranger, gone(changed))
    assert (closed.state, ranger.policies()) == (State.CLOSED, [])


def test_a_profile_that_gives_nothing_any_more_takes_back(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    (known,) = send(ranger, wants(applied))
    assert (known.state, known.reason) == (State.KNOWN, "the profile grants its creator no access")
    assert (known.applied, known.policy_id, ranger.policies()) == ((), -1, [])


def test_a_change_of_the_profile_changes_only_ours_in_an_edited_policy(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    edited = edit_ours(ranger, lambda policy: policy.policy_items[0].users.append("bob"))
    (changed,) = send(ranger, wants(applied, "read"))
    (policy,) = ranger.policies()
    assert (changed.state, changed.applied, policy.guid) == (State.APPLIED, ("read",), edited.guid)
    assert {(one.users[0], access.type) for one in policy.policy_items for access in one.accesses} == {
        ("alice", "read"),
        *(("bob", access) for access in ALL),
    }
    (known,) = send(ranger, wants(changed))
    (policy,) = ranger.policies()
    assert (known.state, [one.users for one in policy.policy_items]) == (State.KNOWN, [["bob"]])


def test_an_edit_between_read_and_write_is_reported_with_the_overwritten_version(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())

    def meddle(name: str, _: int) -> None:
        if name == "update_policy":
            (policy,) = ranger.policies()
            policy.description = "mine now"
            ranger.admin.update_policy(policy)

    (blocked,) = send(ranger, wants(applied, "read"), by=Watched(ranger.sync, before=meddle), delegate_admin=True)
    assert blocked.state is State.BLOCKED
    assert f"policy {applied.policy_id} was changed manually while version 3 was written, which replaced version 2" in (
        blocked.reason
    )
    # What was written is recorded, so that it can be taken back.
    (policy,) = ranger.policies()
    (step,) = steps(ranger, wants(applied, "read"), delegate_admin=True)
    assert isinstance(step, CreateGrant)
    assert step.terms != applied.terms
    assert (blocked.applied, blocked.written, blocked.terms) == (("read",), content_of(policy), step.terms)
    assert (blocked.policy_id, blocked.policy_version) == (policy.id, policy.version)
    (closed,) = send(ranger, gone(blocked))
    assert (closed.state, ranger.policies()) == (State.CLOSED, [])


def test_a_policy_that_a_person_lists_more_often_than_we_would_follows_the_profile(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    (policy,) = ranger.policies()
    ranger.admin.update_policy(listed(policy, MOST_LISTED + 2))
    (changed,) = send(ranger, wants(applied, "read"))
    assert (changed.state, changed.applied) == (State.APPLIED, ("read",))


@pytest.mark.parametrize(("code", "tries"), [(3999, 1), (RESOURCE_TAKEN, MOST_LISTED - LISTED + 1)])
def test_a_change_that_ranger_refuses_is_tried_once_or_listed_ten_times(ranger: Ranger, code: int, tries: int) -> None:
    (applied,) = send(ranger, life())

    def refuse(name: str, _: int) -> None:
        if name == "update_policy":
            raise RequestRejected("no", reason_codes=(code,))

    watched = Watched(ranger.sync, before=refuse)
    (failed,) = send(ranger, wants(applied, "read"), by=watched)
    assert (failed.state, watched.writes) == (State.FAILED, ["update_policy"] * tries)
    assert failed == replace(wants(applied, "read"), state=State.FAILED, reason="no")


def test_a_new_grant_that_ranger_refuses_has_failed_with_its_reason(ranger: Ranger) -> None:
    def refuse(name: str, _: int) -> None:
        if name == "create_policy":
            raise RequestRejected("policy is invalid", reason_codes=(3999,))

    (failed,) = send(ranger, life(), by=Watched(ranger.sync, before=refuse))
    assert failed == replace(life(), state=State.FAILED, reason="policy is invalid")


SETTINGS = planning("cdap", "root")
FORMER = [
    # what the ledger has of a life, and how many contents its policy may have had
    ({}, 0),
    ({"terms": SETTINGS.terms}, 1),
    ({"terms": SETTINGS.terms, "written": "other"}, 2),
    ({"written": "other"}, 1),
    ({"terms": MANUAL_TERMS}, 0),
    ({"terms": SETTINGS.terms, "accesses": ()}, 0),
]


@pytest.mark.parametrize(("fields", "contents"), FORMER)
def test_what_was_sent_by_terms_in_the_ledger_may_be_replaced(fields: dict[str, Any], contents: int) -> None:
    assert len(set(former_contents(life(**fields), SETTINGS))) == contents


def test_what_was_sent_before_a_kill_is_what_plugins_left_to_this_user() -> None:
    planning = replace(SETTINGS, resultant=lambda _, user, given: ("read",) if user == "alice" else given)
    (step,) = plan([life()], planning)
    assert isinstance(step, CreateGrant)
    assert list(former_contents(life(terms=planning.terms), planning)) == [content_of(step.policy)]


VERSIONS = [
    # read, answered, what was replaced
    (2, 3, ""),
    (2, 4, "version 3"),
    (2, 5, "everything since version 2"),
    (None, 1, ""),
    (None, 2, "version 1"),
]


@pytest.mark.parametrize(("read", "answered", "replaced"), VERSIONS)
def test_a_version_in_between_was_replaced(read: int | None, answered: int, replaced: str) -> None:
    reason = overwritten(Policy(id=7, version=read), Policy(id=7, version=answered))
    told = f"edited: policy 7 was changed manually while version {answered} was written, which replaced {replaced}; "
    assert reason.startswith(told) if replaced else not reason


def test_a_policy_deleted_by_hand_is_not_made_again(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    ranger.admin.delete_policy(applied.policy_id)
    (blocked,) = send(ranger, wants(applied, "read"))
    assert blocked.reason == blocked.taken == f"taken: policy {applied.policy_id} was deleted"
    assert (blocked.state, ranger.policies()) == (State.BLOCKED, [])
    (closed,) = send(ranger, gone(blocked))
    assert closed.state is State.CLOSED


def test_a_policy_deleted_by_hand_in_the_moment_we_delete_it_is_deleted(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())

    def meddle(name: str, _: int) -> None:
        if name == "delete_policy":
            ranger.admin.delete_policy(applied.policy_id)

    (closed,) = send(ranger, gone(applied), by=Watched(ranger.sync, before=meddle))
    assert closed.state is State.CLOSED


def test_what_was_written_under_other_settings_is_still_ours(ranger: Ranger) -> None:
    (applied,) = send(ranger, life(), delegate_admin=True)
    (changed,) = send(ranger, wants(applied, *ALL))
    (policy,) = ranger.policies()
    assert [(one.users, one.groups, one.delegate_admin) for one in policy.policy_items] == [(["alice"], [], False)]
    assert changed.state is State.APPLIED
    (closed,) = send(ranger, gone(applied.become(State.APPLIED, written=changed.written)))
    assert (closed.state, ranger.policies()) == (State.CLOSED, [])


def test_where_a_plugin_fails_nothing_is_sent_and_the_grant_waits(ranger: Ranger) -> None:
    def fails(*_: object) -> tuple[str, ...]:
        raise PluginError("a plugin failed")

    (step,) = steps(ranger, life(), resultant=fails)
    assert step == NoOp(life(), life(reason="a plugin failed"))
    (applied,) = send(ranger, life())
    (closed,) = send(ranger, gone(applied), resultant=fails)
    assert (closed.state, ranger.policies()) == (State.CLOSED, [])


def test_what_plugins_leave_is_granted_and_nothing_if_they_leave_nothing(ranger: Ranger) -> None:
    (applied,) = send(ranger, life(), resultant=lambda *_: ("read",))
    (policy,) = ranger.policies()
    assert applied.applied == ("read",)
    assert [access.type for access in policy.policy_items[0].accesses] == ["read"]
    (known,) = send(ranger, applied.become(State.PENDING), resultant=lambda *_: ())
    assert (known.state, known.reason) == (State.KNOWN, "a plugin grants its creator no access")
    assert ranger.policies() == []


def test_a_grant_sent_before_a_kill_is_revoked_whatever_plugins_say_now(ranger: Ranger) -> None:
    send(ranger, life())
    (closed,) = send(ranger, life(state=State.CLOSING), resultant=lambda *_: ("read",))
    assert (closed.state, ranger.policies()) == (State.CLOSED, [])


def test_a_person_takes_nothing_that_a_plugin_kept_from_a_grant_sent_before_a_kill(ranger: Ranger) -> None:
    send(ranger, life(), resultant=lambda *_: ("read",))
    edit_ours(ranger, lambda policy: policy.policy_items[0].users.append("bob"))
    (applied,) = send(ranger, life(), resultant=lambda *_: ("read",))
    assert (applied.state, applied.taken, applied.applied) == (State.APPLIED, "", ("read",))


def test_lives_of_one_entity_are_sent_in_their_order_and_have_policies_of_their_own(ranger: Ranger) -> None:
    first, second = life(number=1, state=State.CLOSING), life("bob", number=2)
    planned = steps(ranger, second, first)
    assert [type(step) for step in planned] == [RevokePolicy, CreateGrant]
    assert guid_of(first, "cdap") != guid_of(second, "cdap") != guid_of(second, "other")


def test_names_that_look_alike_have_different_guids() -> None:
    assert guid_of(life(entity=EntityId("dataset", ("ns", "a.b"))), "c") != guid_of(
        life(entity=EntityId("dataset", ("ns.a", "b"))), "c"
    )


def test_a_failure_of_ranger_admin_is_no_outcome(ranger: Ranger) -> None:
    with RangerAdmin(AdminConnection("http://127.0.0.1:9", username="sync", password=Secret("x"), attempts=1)) as away:
        for step in steps(ranger, life(), life(state=State.CLOSING)):
            with pytest.raises(AdminUnreachable):
                carry_out(step, away)


def test_what_was_written_is_taken_back_whatever_the_settings_say_now(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    (closed,) = send(ranger, applied.become(State.CLOSING), delegate_admin=True)
    assert closed.state is State.CLOSED
    assert ranger.policies() == []
