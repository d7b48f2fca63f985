"""Which policies are accepted, where the recording does not show it, and when two are of the same resources."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.testing.admin.model.documents import AdminPolicy
from ranger_cdap.testing.admin.model.validation import RULES, failure, failure_text
from ranger_cdap.testing.admin.rules.policy_rules import Neighbour, Neighbours, check_policy, signature
from tests.testing.admin.documents import ALICE_READS, OURS, policy

ALONE = Neighbours(by_name=lambda _: None, by_signature=lambda _: None)
NAMES = st.text("abcxyz*?_-.$ü1", min_size=1, max_size=5)
VALUES = st.lists(NAMES, min_size=1, max_size=4, unique=True)
LEVELS = ("instance", "namespace", "dataset")

BROKEN = [
    ({"isAuditEnabled": False, "policyItems": []}, 3008, None),
    ({"policyItems": [{"users": ["alice"], "accesses": [{"type": "fly"}]}]}, 3022, None),
    ({"policyItems": [{"users": ["alice"], "accesses": [{"type": "read", "isAllowed": False}]}]}, 3023, None),
    ({"denyPolicyItems": [{"accesses": [{"type": "read"}]}]}, 3020, None),
    ({"allowExceptions": [{"users": ["alice"]}]}, 3002, None),
    ({"policyPriority": 2}, 3030, None),
    ({"resources": {"instance": {"values": ["cdap"], "isRecursive": True}}}, 3017, "instance"),
    ({"resources": {"instance": {"values": []}}}, 3026, "instance"),
    ({"resources": {"instance": {"values": ["cdap"]}, "dataset": {"values": ["d"]}}}, 3025, "missing mandatory"),
    ({"additionalResources": [{"instance": {"values": []}}]}, 3026, "instance"),
    ({"resources": {"instance": {"values": ["a", "b", "a"]}}}, 3056, "instance"),
    ({"denyPolicyItems": [{"users": ["bob", ""], "accesses": [{"type": "_ALL"}]}]}, 3053, None),
    ({"policyItems": [{"groups": ["null"], "accesses": [{"type": "read"}]}]}, 3054, None),
    ({"policyItems": [{"roles": ["NULL"], "accesses": [{"type": "read"}]}]}, 3055, None),
    ({"additionalResources": [{}]}, 3012, "missing mandatory"),
    ({"policyType": 1}, 3011, "incompatible"),
]


@pytest.mark.parametrize(("fields", "code", "subfield"), BROKEN, ids=[str(code) for _, code, _ in BROKEN])
def test_a_broken_policy_is_told_which_rule(fields: dict[str, Any], code: int, subfield: str | None) -> None:
    found = list(check_policy(policy(**fields), OURS, ALONE, may_exclude=True))
    assert [(row.code, row.subfield) for row in found] == [(code, subfield)]


def test_a_good_policy_breaks_no_rule() -> None:
    assert list(check_policy(policy(), OURS, ALONE, may_exclude=True)) == []
    denies = policy(denyPolicyItems=[ALICE_READS], policyItems=[], isAuditEnabled=False, policyPriority=1)
    assert list(check_policy(denies, OURS, ALONE, may_exclude=True)) == []


def test_excludes_need_an_administrator() -> None:
    excludes = policy(
        resources={"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"], "isExcludes": True}}
    )
    assert [row.code for row in check_policy(excludes, OURS, ALONE, may_exclude=False)] == [3016]
    assert list(check_policy(excludes, OURS, ALONE, may_exclude=True)) == []


def test_a_value_must_match_the_expression_of_its_level() -> None:
    resources = [
        msgspec.structs.replace(level, validation_reg_ex="[a-z]+[0-9]") if level.name == "namespace" else level
        for level in OURS.resources
    ]
    strict = msgspec.structs.replace(OURS, resources=resources)
    assert list(check_policy(policy(), strict, ALONE, may_exclude=True)) == []
    wrong = policy(resources={"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1x"]}})
    assert [row.code for row in check_policy(wrong, strict, ALONE, may_exclude=True)] == [3018]


def test_two_policies_of_one_name_or_resource_are_told_together() -> None:
    same = Neighbours(by_name=lambda _: Neighbour(2962, "p"), by_signature=lambda _: Neighbour(7, "q"))
    found = list(check_policy(policy(), OURS, same, may_exclude=True, name_field="id/name"))
    assert [(row.code, row.field) for row in found] == [(3006, "id/name"), (3010, "resources")]
    assert "policy-id=[2,962]" in failure_text(found)
    assert failure_text(found).startswith("(0) Validation failure: error code[3006]")
    assert " (1) Validation failure: error code[3010]" in failure_text(found)
    asleep = policy(isEnabled=False)
    assert [row.code for row in check_policy(asleep, OURS, same, may_exclude=True)] == [3006]


@pytest.mark.parametrize("code", RULES)
def test_every_rule_can_be_told(code: int) -> None:
    text = str(failure(code, 1, 2, 3))
    assert f"error code[{code}]" in text
    assert "{" not in text


# Signatures


@given(st.permutations(LEVELS), st.lists(VALUES, min_size=3, max_size=3), st.randoms(use_true_random=False))
def test_the_order_of_levels_and_values_does_not_change_a_signature(
    levels: list[str], values: list[list[str]], shuffler: Any
) -> None:
    by_level = dict(zip(LEVELS, values, strict=True))
    shuffled = {
        level: PolicyResource(values=shuffler.sample(by_level[level], len(by_level[level]))) for level in levels
    }
    straight = {level: PolicyResource(values=by_level[level]) for level in LEVELS}
    assert signature(AdminPolicy(resources=shuffled)) == signature(AdminPolicy(resources=straight))


@given(VALUES, VALUES, st.booleans(), st.booleans(), st.sampled_from([0, 1]), st.sampled_from([0, 1]))
def test_what_differs_in_resources_or_priority_differs_in_signature(
    one: list[str], other: list[str], excludes: bool, excludes_too: bool, priority: int, priority_too: int
) -> None:
    def sign(values: list[str], is_excludes: bool, level: int) -> str:
        resource = PolicyResource(values=values, is_excludes=is_excludes)
        return signature(AdminPolicy(resources={"instance": resource}, policy_priority=level))

    same = (sorted(one), excludes, priority) == (sorted(other), excludes_too, priority_too)
    assert (sign(one, excludes, priority) == sign(other, excludes_too, priority_too)) == same
