"""CDAP's own permission checks, answered as its extension point asks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.checks import CdapCheck, Unknown
from ranger_cdap.cdap.checks.master import REMEMBERED_FOR, MasterCreate
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import EntityId, from_cdap, parse_entity
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import load_profile
from tests.authz.fixtures import Memory, authorizer, policy

MASTER = "cdap"
POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice"], ["read", "write"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read", "write"]),
    policy(3, {"namespace": "ns1", "dataset": "kv"}, ["bob"], ["read"]),
    policy(4, {"namespace": "?*", "dataset": "?*"}, [MASTER], ["read", "write", "admin"]),
    policy(6, {"namespace": "?*"}, [MASTER], ["read"]),
]
KV = ("DATASET", ("ns1", "kv"))


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def check(kind: str, parts: tuple[str, ...], *permissions: str, **more: Any) -> CdapCheck:
    return CdapCheck(kind, parts, permissions, **more)


def enforcer(mode: MasterCreate = MasterCreate.PREVIEW, memory: Memory | None = None, **more: Any) -> AccessEnforcer:
    return AccessEnforcer(authorizer(POLICIES, memory, **more), mode, Clock())


APP = ("APPLICATION", ("ns1", "d812fc2c-e560-11f1-ab25-02fc00000001", "-SNAPSHOT"))
GET, CREATE, PREVIEW = "STANDARD.GET", "STANDARD.CREATE", "APPLICATION.PREVIEW"
EXECUTE_THERE = policy(5, {"namespace": "ns1", "application": "*", "program": "*"}, ["alice"], ["execute"])

CASES = [
    # who, check, allowed?
    ("alice", check(*KV, GET), True),
    ("bob", check("NAMESPACE", ("ns1",), GET), True),  # he sees it: he has something below
    ("eve", check("NAMESPACE", ("ns1",), GET), False),
    ("alice", check(*KV, "STANDARD.UPDATE", from_container=True), True),
    ("bob", check(*KV, "STANDARD.UPDATE", from_container=True), False),
    ("alice", check(*KV, "STANDARD.DELETE"), False),
    ("alice", check(*KV, GET, "STANDARD.DELETE"), False),
    ("bob", check(*KV), True),  # no permission at all: any privilege
    ("eve", check(*KV), False),
    ("alice", check("DATASET", ("ns1", "new"), CREATE), True),
    ("bob", check("DATASET", ("ns1", "new"), CREATE), False),
    ("alice", check(*KV, "FUTURE.TELEPORT"), False),
    ("alice", check("HOLOGRAM", ("ns1", "x"), GET), False),
]


@pytest.mark.parametrize(("user", "asked", "allowed"), CASES)
def test_a_check_is_decided_by_the_policies(user: str, asked: CdapCheck, allowed: bool) -> None:
    assert enforcer().enforce(user, asked).allowed is allowed


def test_the_entity_of_a_check_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[str] = []

    def counted(cdap_type: str, id_parts: Sequence[str]) -> EntityId:
        resolved.append(cdap_type)
        return from_cdap(cdap_type, id_parts)

    asked, _ = preview_world()
    monkeypatch.setattr("ranger_cdap.cdap.entity.from_cdap", counted)
    for user in ("alice", MASTER):
        for each in (check(*KV, GET), check(*APP, PREVIEW), check(*APP, CREATE)):
            asked.enforce(user, each)
            assert resolved == [each.entity_type], (user, each)
            resolved.clear()


def test_a_denial_is_a_sentence_with_what_is_missing() -> None:
    denied = enforcer().enforce("bob", check(*KV, "STANDARD.DELETE"))
    assert "bob needs ADMIN on dataset:ns1.kv" in denied.reason
    assert "dataset:ns1.kv" in {str(m.entity) for m in denied.missing}
    assert enforcer().enforce("alice", check(*KV, GET)).reason == ""


def test_what_a_list_shows_is_told_in_the_order_asked() -> None:
    asked = [("NAMESPACE", ("ns1",)), ("NAMESPACE", ("ns9",)), KV, ("DATASET", ("ns1", "other"))]
    assert enforcer().visible("alice", asked).of_each == [True, False, True, False]
    assert enforcer().visible("bob", asked).of_each == [False, False, True, False]
    assert enforcer().visible("eve", asked).of_each == [False] * 4
    assert enforcer().visible("bob", []).of_each == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (check("DATASET", ("ns1",), GET), "dataset"),
        (check("DATASET", ("ns1", "kv", "more"), GET), "dataset"),
        (check("DATASET", ("ns1", "k*"), GET), "`k*`"),
        (check("DATASET", ("ns1", "k?"), GET), "`k?`"),
        (check("DATASET", ("ns1", ""), GET), "dataset"),
        (check(*KV, "everything"), "`everything` is not a permission of CDAP"),
        (check("NAMESPACE", ("ns1",), CREATE, child_type="NAMESPACE"), "namespace"),
    ],
)
@pytest.mark.parametrize("user", ["alice", MASTER])
def test_what_is_no_check_is_denied_and_the_reason_says_why(user: str, asked: CdapCheck, said: str) -> None:
    memory = Memory()
    denied = enforcer(MasterCreate.ALLOW, memory=memory).enforce(user, asked)
    assert not denied.allowed
    assert said in denied.reason
    assert [(record.reqUser, record.result, record.reason) for record in memory.records] == [(user, 0, denied.reason)]


@pytest.mark.parametrize("parts", [("ns1",), ("ns1", "kv", "more"), ("ns1", "k*"), ("ns1", ""), ()])
def test_nobody_sees_what_is_no_entity_and_everybody_sees_the_rest(parts: tuple[str, ...]) -> None:
    assert enforcer().visible("alice", [("DATASET", parts), KV, ("DATASET", parts)]).of_each == [False, True, False]


def test_what_nobody_knows_is_counted() -> None:
    asked = enforcer()
    asked.enforce("alice", check(*KV, "FUTURE.TELEPORT"))
    asked.enforce("alice", check("HOLOGRAM", ("ns1", "x"), GET))
    asked.visible("alice", [("HOLOGRAM", ("ns1", "x"))])
    assert asked.unknown[Unknown.PERMISSION] == 1
    assert asked.unknown[Unknown.ENTITY_TYPE] == 2


def test_without_policies_everything_is_denied_also_to_the_master() -> None:
    asked = AccessEnforcer(authorizer(None), MasterCreate.ALLOW)
    assert not asked.enforce("alice", check(*KV, GET)).allowed
    assert not asked.enforce(MASTER, check("DATASET", ("ns1", "new"), CREATE)).allowed
    assert asked.visible("alice", [KV]).of_each == [False]


# The master user


@pytest.mark.parametrize(
    ("mode", "kind", "allowed"),
    [
        (MasterCreate.DENY, "ARTIFACT", False),
        (MasterCreate.PREVIEW, "ARTIFACT", False),
        (MasterCreate.ALLOW, "ARTIFACT", True),
        (MasterCreate.DENY, "DATASET_MODULE", False),
        (MasterCreate.PREVIEW, "DATASET_MODULE", False),
        (MasterCreate.PREVIEW, "DATASET_TYPE", False),
        (MasterCreate.ALLOW, "DATASET_MODULE", True),
    ],
)
def test_what_holds_code_the_master_makes_in_a_user_namespace_by_no_policy(
    mode: MasterCreate, kind: str, allowed: bool
) -> None:
    parts = ("ns1", "new", "1.0.0")[: 3 if kind == "ARTIFACT" else 2]
    everything = policy(7, {"namespace": "ns1", kind.lower(): "?*"}, [MASTER], ["read", "write", "admin", "execute"])
    asked = AccessEnforcer(authorizer([*POLICIES, everything]), mode)
    assert asked.enforce(MASTER, check(kind, parts, CREATE)).allowed is allowed


# Each privilege that a plan asks of the master user, and the checks of CDAP for which it is needed.
CHECKED_FOR = {
    "READ": [("STANDARD.GET", None, True)],
    "WRITE": [("STANDARD.UPDATE", None, True)],
    "ADMIN": [
        (CREATE, "DatasetInstanceService.create", False),
        ("STANDARD.DELETE", "DatasetInstanceService.drop", False),
    ],
}
RUNS = {
    "read_datasets": "dataset:ns1.source",
    "written_datasets": "dataset:ns1.sink",
    "created_datasets": "dataset:ns1.fresh",
    "local_datasets": "dataset:ns1.local.run1",
    "external_datasets": "dataset:ns1.outside",
}


def planned_of_the_master(profile: str) -> list[tuple[str, str, EntityId]]:
    """Every privilege that some row of the profile asks of the master user: the row, the action, the entity."""
    context = Context({role: (parse_entity(text),) for role, text in RUNS.items()}, master=MASTER)
    entities = map(
        parse_entity, ("namespace:ns1", "application:ns1.Shop", "program:ns1.Shop.spark.S", "dataset:ns1.kv")
    )
    return [
        (row.name, action, need.entity)
        for entity in entities
        for row in load_profile(profile).rows.values()
        if row.entity == entity.type
        for alternative in plan(row, entity, "ann", context)
        for need in alternative
        if need.capacity == "master" and isinstance(need.entity, EntityId)
        for action in need.actions
    ]


@pytest.mark.parametrize("mode", list(MasterCreate))
@pytest.mark.parametrize("profile", ["default", "004"])
def test_what_a_plan_asks_of_the_master_is_what_the_enforcer_asks(profile: str, mode: MasterCreate) -> None:
    planned = planned_of_the_master(profile)

    assert {action for _, action, _ in planned} == set(CHECKED_FOR)
    for row, action, entity in planned:
        where = {"namespace": entity.parts[0], entity.type: entity.parts[1]}
        others = [other for other in ("read", "write", "admin", "execute") if other != action.lower()]
        for permission, hint, container in CHECKED_FOR[action]:
            asks = check(entity.type.upper(), entity.parts, permission, hint=hint, from_container=container)
            by_setting = mode is MasterCreate.ALLOW and permission == CREATE
            for held, wanted in (([action.lower()], True), (others, by_setting)):
                world = authorizer([policy(1, where, [MASTER], held)], profile=profile, master=MASTER)
                assert AccessEnforcer(world, mode).enforce(MASTER, asks).allowed is wanted, (row, action, str(entity))


def test_everything_else_the_policies_decide_for_the_master_as_for_everybody() -> None:
    assert enforcer().enforce(MASTER, check(*KV, GET)).allowed
    assert not enforcer().enforce(MASTER, check("SECUREKEY", ("ns1", "key"), GET)).allowed
    assert not enforcer(MasterCreate.ALLOW).enforce(MASTER, check("NAMESPACE", ("ns1",), "STANDARD.DELETE")).allowed


def preview_world(memory: Memory | None = None) -> tuple[AccessEnforcer, Clock]:
    clock = Clock()
    return AccessEnforcer(authorizer([*POLICIES, EXECUTE_THERE], memory), MasterCreate.PREVIEW, clock), clock


def test_the_application_of_a_preview_somebody_was_allowed_is_made_once() -> None:
    asked, _ = preview_world()
    assert not asked.enforce(MASTER, check(*APP, CREATE)).allowed
    assert asked.enforce("alice", check(*APP, PREVIEW)).allowed
    assert asked.enforce(MASTER, check(*APP, CREATE)).allowed
    assert not asked.enforce(MASTER, check(*APP, CREATE)).allowed


def test_a_preview_that_was_denied_or_is_old_or_is_the_masters_own_allows_nothing() -> None:
    asked, clock = preview_world()
    assert not asked.enforce("bob", check(*APP, PREVIEW)).allowed
    assert not asked.enforce(MASTER, check(*APP, CREATE)).allowed
    asked.enforce(MASTER, check(*APP, PREVIEW))
    assert not asked.enforce(MASTER, check(*APP, CREATE)).allowed
    assert asked.enforce("alice", check(*APP, PREVIEW)).allowed
    clock.now += REMEMBERED_FOR / 1000
    assert not asked.enforce(MASTER, check(*APP, CREATE)).allowed


def test_an_upload_that_cdap_finishes_as_the_master_deploys_nothing() -> None:
    """By default a jar upload is asked of its user only for seeing the namespace (cdap-facts.md §3.6)."""
    asked, _ = preview_world()
    assert asked.enforce("bob", check("NAMESPACE", ("ns1",), GET)).allowed
    for kind, parts in (("ARTIFACT", ("ns1", "evil", "1.0.0")), APP, ("DATASET_MODULE", ("ns1", "evil"))):
        assert not asked.enforce(MASTER, check(kind, parts, CREATE)).allowed


def test_what_the_setting_decides_is_audited_and_reported_like_everything() -> None:
    memory = Memory()
    asked = check("DATASET_MODULE", ("ns1", "new"), CREATE)
    assert not enforcer(memory=memory).enforce(MASTER, asked).allowed
    (record,) = memory.records
    assert (record.reqUser, record.resource, record.result, record.policy) == (MASTER, "cdap/ns1/new", 0, -1)

    reporting = enforcer(enforcement=Enforcement(None, frozenset(), UnenforcedMode.REPORT)).enforce(MASTER, asked)
    assert (reporting.allowed, reporting.enforced) == (True, False)
