"""Policies as a file: what travels, what differs, and that what travels means the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.changes.transfer import body, plan, portable
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.strict_text import parse_text, write_json
from ranger_cdap.ranger_model.decode import decode_service_policies

READ = {"type": "read", "isAllowed": True}


def policy(name: str = "kv", **more: Any) -> dict[str, Any]:
    return {
        "id": 7,
        "guid": "g",
        "version": 3,
        "service": "cdapdev",
        "serviceType": "cdap",
        "createdBy": "Admin",
        "createTime": 1,
        "resourceSignature": "s",
        "name": name,
        "isEnabled": True,
        "policyType": 0,
        "resources": {"instance": {"values": ["cdap"], "isExcludes": False, "isRecursive": False}},
        "policyItems": [{"users": ["alice"], "groups": [], "accesses": [READ], "delegateAdmin": False}],
        "denyPolicyItems": [],
        **more,
    }


def travelled(policies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The policies after an export and its reading."""
    exported = PolicyCollection.of_document({"policies": policies}).document()
    return list(PolicyCollection.of_document(parse_text(write_json(exported), ".json")).policies)


def test_what_only_the_server_knows_stays_there() -> None:
    assert portable(policy()) == {
        "name": "kv",
        "resources": {"instance": {"values": ["cdap"]}},
        "policyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}],
    }


@pytest.mark.parametrize(
    "more",
    [
        {"isEnabled": False},
        {"policyPriority": 1},
        {"isDenyAllElse": True},
        {"resources": {"instance": {"values": []}}},
        {"resources": {"instance": {"values": ["a"], "isExcludes": True}}},
        {"additionalResources": [{"instance": {"values": []}}]},
        {"policyItems": [{"users": ["bob"], "accesses": [{"type": "read", "isAllowed": False}]}]},
        {"options": {"unheard": {"of": [1]}}},
    ],
)
def test_what_people_write_travels(more: dict[str, Any]) -> None:
    (name,) = more
    (step,) = plan(travelled([policy(**more)]), [policy()])
    assert (step.change, step.detail) == (StepChange.UPDATE, f"differs in {name}")


def test_a_policy_is_known_by_name_and_zone() -> None:
    wanted = travelled([policy("a"), policy("b", zoneName="z"), policy("c")])
    there = [policy("a"), policy("b"), policy("c", isEnabled=False)]
    assert [str(step) for step in plan(wanted, there)] == [
        "keep policy `a`",
        "update policy `c`: differs in isEnabled",
        "create policy `b` in zone `z`",
        "keep policy `b`: is not in the file",
    ]


def test_a_replaced_policy_loses_what_the_file_does_not_have() -> None:
    there = policy(denyPolicyItems=[{"users": ["bob"], "accesses": [READ]}], description="old")
    (step,) = plan(travelled([policy()]), [there])
    sent = body(step, "another")
    assert (sent["id"], sent["service"], sent["version"]) == (7, "another", 3)
    assert "denyPolicyItems" not in sent
    assert "description" not in sent


values = st.lists(st.sampled_from(["a", "b", "*", ""]), max_size=2)
levels = st.fixed_dictionaries({"values": values}, optional={"isExcludes": st.booleans()})
items = st.lists(
    st.fixed_dictionaries(
        {"users": st.lists(st.sampled_from(["alice", "bob"]), max_size=2)},
        optional={
            "groups": st.just(["public"]),
            "accesses": st.lists(
                st.fixed_dictionaries(
                    {"type": st.sampled_from(["read", "write"])}, optional={"isAllowed": st.booleans()}
                ),
                max_size=2,
            ),
        },
    ),
    max_size=2,
)
written = st.fixed_dictionaries(
    {"resources": st.fixed_dictionaries({"instance": levels}, optional={"namespace": levels}), "policyItems": items},
    optional={"denyPolicyItems": items, "isDenyAllElse": st.booleans(), "policyPriority": st.sampled_from([0, 1])},
)


def decisions(policies: list[dict[str, Any]]) -> list[bool]:
    numbered = [{**one, "id": n, "name": f"p{n}"} for n, one in enumerate(policies, 1)]
    document = {
        "serviceName": "s",
        "policyVersion": 1,
        "serviceDef": servicedef.service_definition(),
        "policies": numbered,
    }
    engine = PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))
    where: list[dict[str, str]] = [
        {},
        {"instance": "a"},
        {"instance": "b", "namespace": "a"},
        {"instance": "b", "namespace": "c"},
    ]
    asked = [AccessRequest(r, access, user) for r in where for access in ("read", "write") for user in ("alice", "eve")]
    return [engine.evaluate(request).allowed for request in asked]


@given(st.lists(written, min_size=1, max_size=3))
def test_what_travels_decides_the_same(policies: list[dict[str, Any]]) -> None:
    named = [{**one, "name": f"p{n}"} for n, one in enumerate(policies, 1)]
    assert decisions(travelled(named)) == decisions(named)
