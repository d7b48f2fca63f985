"""Plan and writer against the embedded Ranger Admin: what is ours is written and taken back, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Secret
from ranger_cdap.engine.wire import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.errors import AdminUnreachable
from ranger_cdap.policies.ranger_admin import RangerAdmin
from spark_sync.event import Position
from spark_sync.grant_policy import guid_of
from spark_sync.life import Life, State
from spark_sync.plan import Give, PlanSettings, Settle, Step, TakeBack, plan
from spark_sync.writer import carry_out
from tests.spark_sync.conftest import Ranger

ALL = ("read", "write", "admin", "execute")
DATASET = EntityId("dataset", ("ns1", "kv"))
BEGUN = Position(101, False, "test", "1")
ENDED = Position(105, True, "test", "2")


def life(
    creator: str = "alice",
    entity: EntityId = DATASET,
    *,
    number: int = 1,
    state: State = State.PENDING,
) -> Life:
    ended = ENDED if state in (State.CLOSING, State.CLOSED) else None
    return Life(entity, number, creator, BEGUN, state, ended=ended, accesses=ALL)


def steps(ranger: Ranger, *lives: Life) -> list[Step]:
    return list(plan(lives, PlanSettings("cdap", ranger.service, frozenset({"root"}))))


def send(ranger: Ranger, *lives: Life) -> list[Life]:
    return [carry_out(step, ranger.sync) for step in steps(ranger, *lives)]


def gone(applied: Life) -> Life:
    return replace(applied, state=State.CLOSING, ended=ENDED)


def foreign(ranger: Ranger, user: str = "bob", **changes: object) -> Policy:
    resources = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
    policy = Policy(
        name="theirs",
        service=ranger.service,
        resources={level: PolicyResource(values=[value]) for level, value in resources.items()},
        policyItems=[PolicyItem(accesses=[PolicyItemAccess(type="read")], users=[user])],
    )
    for name, value in changes.items():
        setattr(policy, name, value)
    return ranger.admin.create_policy(policy)


def test_a_pending_life_becomes_one_policy_for_one_user_on_one_entity(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    (policy,) = ranger.policies()
    assert (applied.state, applied.policy_id, applied.policy_version) == (State.APPLIED, policy.id, policy.version)
    assert policy.guid == guid_of(applied, "cdap")
    assert {level: values.values for level, values in policy.resources.items()} == {
        "instance": ["cdap"],
        "namespace": ["ns1"],
        "dataset": ["kv"],
    }
    (item,) = policy.policyItems
    assert (item.users, item.groups, item.roles, item.delegateAdmin) == (["alice"], [], [], False)
    assert {access.type for access in item.accesses} == set(ALL)
    others = (policy.denyPolicyItems, policy.allowExceptions, policy.denyExceptions, policy.isDenyAllElse)
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
    (step,) = plan([life()], PlanSettings("cdap", ranger.service))
    applied = carry_out(step, ranger.sync)
    (take_back,) = plan([gone(applied)], PlanSettings("cdap", ranger.service, frozenset({"alice"})))
    assert carry_out(take_back, ranger.sync).state is State.CLOSED
    assert ranger.policies() == []


EDITS: dict[str, Callable[[Policy], None]] = {
    "another user": lambda policy: policy.policyItems[0].users.append("bob"),
    "fewer accesses": lambda policy: policy.policyItems[0].accesses.pop(),
    "a deny item": lambda policy: policy.denyPolicyItems.append(
        PolicyItem(accesses=[PolicyItemAccess(type="write")], users=["alice"])
    ),
    "switched off": lambda policy: setattr(policy, "isEnabled", False),
    "another name": lambda policy: setattr(policy, "name", "renamed"),
    "a description": lambda policy: setattr(policy, "description", "mine now"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_policy_edited_by_hand_is_left_alone(ranger: Ranger, edit: Callable[[Policy], None]) -> None:
    (applied,) = send(ranger, life())
    (policy,) = ranger.policies()
    edit(policy)
    ranger.admin.update_policy(policy)
    before = ranger.policies()
    (kept,) = send(ranger, gone(applied))
    assert kept.state is State.CLOSING
    assert kept.reason.startswith(f"edited: policy {policy.id} ")
    if policy.isEnabled:  # beside a disabled policy Ranger accepts another one on the same resource
        (again,) = send(ranger, life())
        assert again.state is State.BLOCKED
        assert again.reason.startswith(f"edited: policy {policy.id} ")
    assert ranger.policies() == before


def test_somebody_elses_policy_on_the_resource_is_left_alone_and_named(ranger: Ranger) -> None:
    theirs = foreign(ranger)
    (blocked,) = send(ranger, life())
    assert blocked.state is State.BLOCKED
    assert f"policy {theirs.id} (`theirs`)" in blocked.reason
    assert "add read, write, admin, execute for `alice`" in blocked.reason
    assert ranger.policies() == [theirs]
    (closed,) = send(ranger, gone(blocked))
    assert closed.state is State.CLOSED
    assert ranger.policies() == [theirs]


def test_somebody_elses_policy_that_has_our_name_is_left_alone(ranger: Ranger) -> None:
    (give,) = steps(ranger, life())
    assert isinstance(give, Give)
    theirs = foreign(ranger, name=give.policy.name, resources={"instance": PolicyResource(values=["other"])})
    (blocked,) = send(ranger, life())
    assert blocked.state is State.BLOCKED
    assert f"policy {theirs.id}" in blocked.reason
    assert ranger.policies() == [theirs]


def test_an_unknown_user_stays_pending_until_ranger_knows_him(ranger: Ranger) -> None:
    (waiting,) = send(ranger, life("stranger"))
    assert waiting.state is State.PENDING
    assert waiting.reason == "unknown user: Ranger has no `stranger`"
    assert ranger.policies() == []


@pytest.mark.parametrize("creator", ["{USER}", "{OWNER}", "public", "*", "a,b", "", "root"])
def test_an_unsafe_creator_never_reaches_ranger(ranger: Ranger, creator: str) -> None:
    (step,) = steps(ranger, life(creator))
    assert isinstance(step, Settle)
    assert step.life.state is State.BLOCKED


@pytest.mark.parametrize("name", ["*", "{OWNER}", "a,b", "a?", ""])
def test_an_unsafe_entity_never_reaches_ranger(ranger: Ranger, name: str) -> None:
    (step,) = steps(ranger, life(entity=EntityId("dataset", ("ns1", name))))
    assert isinstance(step, Settle)
    assert step.life.state is State.BLOCKED


def test_lives_of_one_entity_are_sent_in_their_order_and_have_policies_of_their_own(ranger: Ranger) -> None:
    first, second = life(number=1, state=State.CLOSING), life("bob", number=2)
    planned = steps(ranger, second, first)
    assert [type(step) for step in planned] == [TakeBack, Give]
    assert guid_of(first, "cdap") != guid_of(second, "cdap") != guid_of(second, "other")


def test_names_that_look_alike_have_different_guids() -> None:
    assert guid_of(life(entity=EntityId("dataset", ("ns", "a.b"))), "c") != guid_of(
        life(entity=EntityId("dataset", ("ns.a", "b"))), "c"
    )


def test_a_failure_of_ranger_admin_is_no_outcome(ranger: Ranger) -> None:
    with RangerAdmin("http://127.0.0.1:9", username="sync", password=Secret("x"), attempts=1) as away:
        for step in steps(ranger, life(), life(state=State.CLOSING)):
            with pytest.raises(AdminUnreachable):
                carry_out(step, away)
