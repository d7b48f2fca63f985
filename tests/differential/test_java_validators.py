"""Ranger Admin's own validators find nothing against our definition, nor against any policy that we write."""

from __future__ import annotations

import json
from itertools import combinations, product
from typing import Any

import msgspec
import pytest

from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_for
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.setup.service_setup import plan
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.testing.admin.model.documents import AdminPolicy
from ranger_cdap.testing.admin.rules.policy_rules import signature
from servicedef import service_definition
from spark_sync.grants.grant_policy import policy_for
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State
from tests.differential.java_engine import JavaEngine

pytestmark = pytest.mark.java

SERVICE = "cdapdev"


def sent(policy: Policy) -> dict[str, Any]:
    """The policy as it goes over the wire."""
    return dict(json.loads(msgspec.json.encode(policy)))


def set_up(**wanted: Any) -> list[Policy]:
    """The policies of `ranger-cdap setup` on an empty Ranger."""
    steps = plan(DesiredState(service=SERVICE, instance="cdap", **wanted), CurrentState(None, None, ()))
    made = [step for step in steps if step.kind == "policy" and step.change is StepChange.CREATE]
    return [msgspec.convert(step.wanted, Policy) for step in made]


def synchronised() -> list[Policy]:
    """What `ranger-cdap sync` writes: every type of entity, every set of access types, with and without delegation."""
    rights = [types for size in range(1, len(ACCESS_TYPES) + 1) for types in combinations(ACCESS_TYPES, size)]
    kinds = sorted(set(entity_types()) - {"instance"})
    policies = []
    for number, (kind, accesses, delegate_admin) in enumerate(product(kinds, rights, (False, True)), start=1):
        parts = [f"p{number}" for _ in entity_types()[kind].path[1:]]
        if kind == "program":
            parts[-1] = f"worker.{parts[-1]}"
        entity = EntityId(kind, tuple(parts))
        life = Life(entity, number, "alice", Position(1, False, "s", "1"), State.PENDING, accesses=accesses)
        grant = grant_for(entity, "alice", "cdap", accesses, non_creators=())
        policies.append(policy_for(life, grant, service=SERVICE, delegate_admin=delegate_admin))
    return policies


PEOPLE: dict[str, Any] = {"admin_users": ("alice",), "admin_groups": ("admins",)}
SETS: dict[str, list[Policy]] = {
    "set-up of administrators": set_up(**PEOPLE),
    "set-up of administrators and the master user": set_up(**PEOPLE, master_user="cdap"),
    "set-up of a master user who creates": set_up(master_user="cdap", master_may_create=True),
    "what the sync writes": synchronised(),
}


@pytest.mark.parametrize("policies", SETS.values(), ids=SETS)
def test_ranger_s_validators_accept_what_we_write(java: JavaEngine, policies: list[Policy]) -> None:
    against_definition, against_policies = java.validate(service_definition(), SERVICE, map(sent, policies))
    assert policies
    assert against_definition is None
    assert [(policy.name, text) for policy, text in zip(policies, against_policies, strict=True) if text] == []


BROKEN = [
    ({"name": "first"}, "error code[3006]"),
    ({"service": "other"}, "error code[3007]"),
    ({"resources": {"instance": {"values": ["cdap"]}}}, "error code[3010]"),
    ({"resources": {"namespace": {"values": ["ns1"]}}}, "error code[3012]"),
    ({"policyItems": [{"users": ["alice"], "accesses": [{"type": "fly"}]}]}, "error code[3022]"),
    ({"policyItems": [{"accesses": [{"type": "read"}]}]}, "error code[3020]"),
]


@pytest.mark.parametrize(("fields", "text"), BROKEN, ids=[text for _, text in BROKEN])
def test_the_validators_do_refuse(java: JavaEngine, fields: dict[str, Any], text: str) -> None:
    item = {"users": ["alice"], "accesses": [{"type": "read", "isAllowed": True}]}
    first = {
        "service": SERVICE,
        "name": "first",
        "resources": {"instance": {"values": ["cdap"]}},
        "policyItems": [item],
    }
    second = {**first, "name": "second", "resources": {"instance": {"values": ["other"]}}, **fields}
    _, (accepted, refused) = java.validate(service_definition(), SERVICE, [first, second])
    assert accepted is None
    assert text in str(refused)


def test_ranger_compares_lists_of_resources_only_as_a_whole(java: JavaEngine) -> None:
    item = {"users": ["alice"], "accesses": [{"type": "read", "isAllowed": True}]}
    one, other = (
        {
            level: {"values": [value]}
            for level, value in {"instance": "cdap", "namespace": "ns1", "dataset": name}.items()
        }
        for name in ("a", "b")
    )

    def listing(name: str, first: Any, *more: Any) -> dict[str, Any]:
        document = {"service": SERVICE, "name": name, "resources": first, "policyItems": [item]}
        return {**document, "additionalResources": more} if more else document

    accepted = [listing("1", one), listing("2", one, one), listing("3", one, other), listing("4", one, other, one)]
    again = [listing("5", one, one), listing("6", other, one)]
    _, found = java.validate(service_definition(), SERVICE, [*accepted, *again])
    assert found[:4] == [None] * 4
    assert all("error code[3010]" in str(text) for text in found[4:])


def test_ranger_compares_the_conditions_of_policies_too(java: JavaEngine) -> None:
    item = {"users": ["alice"], "accesses": [{"type": "read", "isAllowed": True}]}
    plain = {"service": SERVICE, "resources": {"instance": {"values": ["cdap"]}}, "policyItems": [item]}
    several = [
        {**plain, "name": f"{n}", "conditions": conditions}
        for n, conditions in enumerate(([], [{"type": "ip", "values": ["b", "a"]}], [{"type": "ip", "values": ["b"]}]))
    ]
    again = {**plain, "name": "again", "conditions": [{"type": "ip", "values": ["a", "b"]}]}
    _, found = java.validate(service_definition(), SERVICE, [*several, again])
    assert list(found[:3]) == [None] * 3
    assert "error code[3010]" in str(found[3])
    signs = [signature(msgspec.convert(policy, AdminPolicy)) for policy in (*several, again)]
    assert len(set(signs)) == 3
    assert signs[3] == signs[1]


def test_the_validators_do_refuse_a_definition(java: JavaEngine) -> None:
    definition = service_definition()
    definition["resources"][1]["parent"] = "nowhere"
    assert java.validate(definition, SERVICE, [])[0] is not None
