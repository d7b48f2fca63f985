"""`enforce.outside = "predecessor"`: CDAP gets the answers of the old jar, and the audit has both.

The rule is stated a second time here, from CDAP's `AuthorizerWrapper` (6.11.1) and the binding's `RangerAuthorizer`,
and put to the engine: what the enforcer answers equals it on all recorded calls, whatever the policies.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.cdap.checks.predecessor import predecessor_rule
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import entity_type, parse_entity
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, MatchingScope, PolicyEngine
from tests.authz.fixtures import Memory, authorizer, engine, policy
from tests.docs.markdown_pages import ROOT

NOTHING = Enforcement(frozenset(), None, UnenforcedMode.PREDECESSOR)
EVERYTHING = Enforcement()
PEOPLE = ("alice", "eve")

RULES = [
    # CDAP's check; what the old jar asked for, or that it denied
    (CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.GET",)), ["READ dataset:ns1.kv"]),
    (CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.UPDATE",)), ["WRITE dataset:ns1.kv"]),
    (CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.DELETE",)), ["ADMIN dataset:ns1.kv"]),
    (CdapCheck("APPLICATION", ("ns1", "a", "-SNAPSHOT"), ("STANDARD.GET",)), ["VISIBLE application:ns1.a"]),
    (CdapCheck("APPLICATION", ("ns1", "a", "-SNAPSHOT"), ("STANDARD.UPDATE",)), ["ADMIN application:ns1.a"]),
    (CdapCheck("APPLICATION", ("ns1", "a", "-SNAPSHOT"), ("APPLICATION.EXECUTE",)), ["EXECUTE application:ns1.a"]),
    (
        CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.GET", "STANDARD.DELETE")),
        ["READ dataset:ns1.kv", "ADMIN dataset:ns1.kv"],
    ),
    (CdapCheck("NAMESPACE", ("ns1",), ("STANDARD.LIST",), "DATASET"), ["VISIBLE namespace:ns1"]),
    (CdapCheck("NAMESPACE", ("ns1",), ("STANDARD.CREATE",), "DATASET"), ["ADMIN namespace:ns1"]),
    (CdapCheck("NAMESPACE", ("ns1",), ("STANDARD.LIST",)), ["ADMIN namespace:ns1"]),
    (CdapCheck("NAMESPACE", ("ns1",), ()), ["VISIBLE namespace:ns1"]),
    (CdapCheck("KERBEROSPRINCIPAL", ("svc/h@R",), ("ACCESS.SET_OWNER",)), ["ADMIN principal:svc/h@R"]),
    (CdapCheck("INSTANCE", ("cdap",), ("STANDARD.GET",)), ["VISIBLE instance:"]),
    (
        CdapCheck("DATASET", ("ns1", "kv"), ("ACTION.READ", "ACTION.ADMIN")),
        ["READ dataset:ns1.kv", "ADMIN dataset:ns1.kv"],
    ),
    (CdapCheck("STREAM", ("ns1", "clicks"), ("ACTION.WRITE",)), ["WRITE stream:ns1.clicks"]),
    (CdapCheck("INSTANCE", ("",), ("STANDARD.GET",)), None),
    (CdapCheck("INSTANCE", ("other",), ("STANDARD.GET",)), None),
    (CdapCheck("SECUREKEY", ("ns1", "k"), ("STANDARD.GET",)), None),
    (CdapCheck("PROFILE", ("ns1", "p"), ("STANDARD.GET",)), None),
    (CdapCheck("SCHEDULE", ("ns1", "a", "-SNAPSHOT", "s"), ("STANDARD.GET",)), None),
    (CdapCheck("NO_SUCH_TYPE", ("ns1",), ("STANDARD.GET",)), None),
    (CdapCheck("DATASET", ("ns1",), ("STANDARD.GET",)), None),
]


@pytest.mark.parametrize(("check", "asked"), RULES)
def test_the_rule_is_one_action_on_the_entity_alone(check: CdapCheck, asked: list[str] | None) -> None:
    needs = predecessor_rule(check, "cdap").needs
    assert (needs is None) is (asked is None)
    assert [f"{action} {entity}" for entity, action in needs or ()] == (asked or [])


@cache
def recorded() -> tuple[CdapCheck, ...]:
    found: dict[CdapCheck, None] = {}
    for line in (ROOT / "tests" / "data" / "cdap-enforce-calls.jsonl").read_bytes().splitlines():
        for call in msgspec.json.decode(line)["calls"]:
            if "entity" in call:
                kind, parts = call["entity"]
                check = CdapCheck(kind, tuple(parts), tuple(call["permissions"]), call.get("child"), call.get("hint"))
                found[check] = None
    return tuple(found)


KINDS = {
    "NAMESPACE": "namespace", "ARTIFACT": "artifact", "APPLICATION": "application", "PROGRAM": "program",
    "DATASET": "dataset", "DATASET_MODULE": "dataset_module", "DATASET_TYPE": "dataset_type",
    "KERBEROSPRINCIPAL": "principal",
}  # fmt: skip


def old_resource(check: CdapCheck) -> tuple[str, tuple[str, ...]] | None:
    """The type and the values of the levels that the old jar put to Ranger; None if it asked nothing."""
    kind = KINDS.get(check.entity_type)
    if kind is None:
        return None
    parts = check.id_parts
    if kind == "program":
        parts = (parts[0], parts[1], f"{parts[3].lower()}.{parts[4]}")
    return kind, ("cdap", *parts)[: len(entity_type(kind).path)]


def old_access(check: CdapCheck, permission: str) -> str:
    """The access type that the old jar asked for."""
    on_data = check.entity_type == "DATASET"
    if check.child_type is None and permission == "STANDARD.GET" and on_data:
        return "read"
    if permission == ("STANDARD.GET" if check.child_type is None else "STANDARD.LIST"):
        return ANY_ACCESS
    if check.child_type is None and permission == "STANDARD.UPDATE" and on_data:
        return "write"
    if check.child_type is None and permission == "APPLICATION.EXECUTE":
        return "execute"
    return "admin"


def old_answer(policies: PolicyEngine, user: str, check: CdapCheck) -> bool:
    """What the old jar answered, asked of the engine alone."""
    asked = old_resource(check)
    if asked is None:
        return False
    kind, values = asked
    resource = dict(zip(entity_type(kind).path, values, strict=True))

    def allowed(access: str) -> bool:
        scope = MatchingScope.SELF_OR_DESCENDANTS if access == ANY_ACCESS else MatchingScope.SELF
        found = policies.evaluate(
            AccessRequest(resource=resource, access_type=access, user=user, matching_scope=scope, access_time=1)
        )
        return found.allowed and found.determined

    # The old jar allowed a check of no permission to everyone; here it takes a privilege.
    return (
        all(allowed(old_access(check, one)) for one in check.permissions) if check.permissions else allowed(ANY_ACCESS)
    )


RESOURCES: list[dict[str, str]] = [
    {"namespace": "ns1"}, {"namespace": "*"}, {"namespace": "ns1", "application": "*"},
    {"namespace": "ns1", "application": "?*", "program": "*"}, {"namespace": "ns1", "dataset": "kv"},
    {"namespace": "ns1", "dataset": "?*"}, {"namespace": "ns?", "artifact": "*"}, {"principal": "svc*"},
    {"namespace": "ns1", "secure_key": "*"}, {"namespace": "ns1", "dataset_type": "?*"}, {},
]  # fmt: skip
POLICIES = st.lists(
    st.tuples(
        st.sampled_from(RESOURCES),
        st.sets(st.sampled_from(["read", "write", "execute", "admin"]), min_size=1),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda one: str(one[0]),
)


def made(rows: list[tuple[dict[str, str], set[str], bool]]) -> list[dict[str, Any]]:
    """Policies of alice; some deny her WRITE."""
    deny = {"denyPolicyItems": [{"users": ["alice"], "accesses": [{"type": "write"}]}]}
    return [
        policy(n, where, ["alice"], sorted(what), **(deny if no else {})) for n, (where, what, no) in enumerate(rows)
    ]


@settings(max_examples=25)
@given(rows=POLICIES, profile=st.sampled_from(["default", "cdap-6", "004"]))
def test_cdap_gets_the_old_answers_and_the_audit_has_both(rows: Any, profile: str) -> None:
    policies = made(rows)
    plain, memory, ours = engine(policies), Memory(), Memory()
    shadow = AccessEnforcer(authorizer(policies, memory, profile=profile, enforcement=NOTHING), MasterCreate.DENY)
    enforcing = AccessEnforcer(authorizer(policies, ours, profile=profile, enforcement=EVERYTHING), MasterCreate.DENY)
    for check in recorded():
        for user in PEOPLE:
            memory.records.clear()
            ours.records.clear()
            old, new = old_answer(plain, user, check), enforcing.enforce(user, check).allowed
            answered = shadow.enforce(user, check)
            assert answered.allowed is old, (user, check)
            assert not answered.enforced
            assert not answered.lasting
            assert bool(answered.reason) is not old
            reported, enforced = (
                Counter((one.access, one.resource, one.result, one.policy) for one in sink.records)
                for sink in (memory, ours)
            )
            assert reported >= enforced, "a changed answer is recorded even if policies do not ask for it"
            assert reported == enforced or old is not new
            changes = {(one.result, one.predecessor) for one in memory.records if one.result != one.predecessor}
            assert changes == (({(1, 0)} if new else {(0, 1)}) if old is not new else set())


def test_an_operation_asked_by_its_name_is_enforced() -> None:
    policies = [policy(1, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["write"])]
    limited = authorizer(policies, enforcement=NOTHING)
    answer = limited.check("alice", (), "dataset.get", parse_entity("dataset:ns1.kv"))
    assert (answer.allowed, answer.enforced) == (False, True)


def test_without_policies_everything_is_denied() -> None:
    world = AccessEnforcer(authorizer(None, enforcement=NOTHING), MasterCreate.ALLOW)
    for check in recorded():
        answered = world.enforce("alice", check)
        assert not answered.allowed
        assert "not ready" in answered.reason
    assert not any(world.visible("alice", [("NAMESPACE", ("ns1",)), ("DATASET", ("ns1", "kv"))]).of_each)


def test_what_is_enforced_is_not_the_old_jar_s() -> None:
    policies = [policy(1, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"])]
    of_datasets = Enforcement(None, frozenset({"dataset"}), UnenforcedMode.PREDECESSOR)
    memory = Memory()
    world = AccessEnforcer(authorizer(policies, memory, enforcement=of_datasets), MasterCreate.DENY)
    check = CdapCheck("DATASET", ("ns1", "kv"), ("STANDARD.GET",))
    assert not world.enforce("eve", check).allowed
    assert world.enforce("alice", check).enforced
    assert [one.predecessor for one in memory.records] == [msgspec.UNSET] * len(memory.records)
    assert b"predecessor" not in msgspec.json.encode(memory.records)


def test_lists_show_what_the_old_jar_showed() -> None:
    policies = [
        policy(1, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["execute"]),
        policy(2, {"namespace": "ns1", "secure_key": "?*"}, ["alice"], ["read"]),
    ]
    world = AccessEnforcer(authorizer(policies, enforcement=NOTHING), MasterCreate.DENY)
    entities = [
        ("NAMESPACE", ("ns1",)), ("NAMESPACE", ("ns2",)), ("DATASET", ("ns1", "kv")), ("DATASET", ("ns1", "other")),
        ("SECUREKEY", ("ns1", "k")), ("PROFILE", ("ns1", "p")),
    ]  # fmt: skip
    seen = world.visible("alice", entities)
    assert (seen.of_each, seen.lasting) == ([True, False, True, False, False, False], False)


@pytest.mark.parametrize("mode", list(MasterCreate))
def test_the_user_cdap_runs_as_creates_by_policies_alone(mode: MasterCreate) -> None:
    check = CdapCheck("APPLICATION", ("ns1", "a", "-SNAPSHOT"), ("STANDARD.CREATE",))
    may = policy(1, {"namespace": "ns1", "application": "a"}, ["cdap"], ["admin"])
    for policies, allowed in (([], False), ([may], True)):
        world = AccessEnforcer(authorizer(policies, enforcement=NOTHING), mode)
        assert world.enforce("cdap", check).allowed is allowed


def test_a_creation_that_is_not_enforced_is_not_journalled() -> None:
    policies = [policy(1, {"namespace": "ns1", "dataset": "new"}, ["alice"], ["admin"])]
    world = AccessEnforcer(authorizer(policies, enforcement=NOTHING), MasterCreate.DENY)

    def journalled() -> str:
        raise AssertionError("only what is enforced proves a creation")

    check = CdapCheck("DATASET", ("ns1", "new"), ("STANDARD.CREATE",))
    assert world.enforce("alice", check, last_word=journalled).allowed
