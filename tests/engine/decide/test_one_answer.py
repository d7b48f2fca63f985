"""`evaluate`, `explain` and `who_can` give one answer where a policy is unusable."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.engine import PolicyEngine, Verdict
from ranger_cdap.engine.model.request import AccessRequest, MatchingScope
from ranger_cdap.ranger_model.document import replaced
from tests.engine.fixtures import asks, engine, item, on, policy

READS = [item("@public", "read")]
OPEN = policy(1, on(hall="*", shelf="*", box="*"), READS)
UNKNOWN = {"nowhere": {"values": ["n"]}}
UNUSABLE = {
    "an unknown level below": policy(3, on(hall="h", shelf="s") | UNKNOWN, [], READS),
    "an unknown level below all shelves": policy(3, on(hall="h", shelf="*") | UNKNOWN, [], READS),
    "an unknown level in the hall": policy(3, on(hall="h") | UNKNOWN, [], READS),
    "an unreadable level": policy(3, on(hall="h") | {"shelf": {"values": 5}}, [], READS),
    "no known level": policy(3, UNKNOWN, [], READS),
    "an unreadable item": policy(3, on(hall="h", shelf="s"), [], READS, policyItems="all"),
    "an additional resource": policy(
        3, on(hall="x"), [], READS, additionalResources=[on(hall="h", shelf="s") | UNKNOWN]
    ),
}
CONDITIONAL = policy(9, on(hall="*"), [item("bob", "own", conditions=[{"type": "ip", "values": ["10.0.0.1"]}])])
HALL = {"hall": "h"}
PLACES: list[Any] = [
    HALL,
    {"hall": "x"},
    {"hall": "h", "shelf": "s"},
    {"hall": "h", "shelf": "t"},
    {"hall": "h", "shelf": "s", "box": "b"},
    {"hall": ("h",)},
]
BELOW = MatchingScope.SELF_OR_DESCENDANTS
QUESTIONS: list[AccessRequest] = [
    asks(where, **more)
    for where in PLACES
    for more in (
        {},
        {"access": "_any"},
        {"matching_scope": BELOW},
        {"matching_scope": BELOW, "ignore_descendant_deny": False},
    )
]

each_unusable = pytest.mark.parametrize("unusable", UNUSABLE.values(), ids=list(UNUSABLE))


@each_unusable
def test_evaluate_decides_as_explain(unusable: Any) -> None:
    judge = engine(OPEN, unusable)
    for request in QUESTIONS:
        assert judge.evaluate(request) == replaced(judge.explain(request), trace=()), request


@each_unusable
def test_evaluate_decides_as_who_can(unusable: Any) -> None:
    judge = engine(OPEN, unusable)
    for request in QUESTIONS:
        if request.access_type == "read" and request.ignore_descendant_deny:
            assert judge.evaluate(request).allowed is all_may_read(judge, request), request


def all_may_read(judge: PolicyEngine, request: AccessRequest) -> bool:
    entry = judge.who_can(request.resource, matching_scope=request.matching_scope).all_users.get("read")
    return entry is not None and entry.verdict is Verdict.ALLOWED


@each_unusable
def test_an_unrelated_conditional_policy_does_not_change_a_decision(unusable: Any) -> None:
    judge, beside = engine(OPEN, unusable), engine(OPEN, unusable, CONDITIONAL)
    for request in QUESTIONS:
        assert judge.evaluate(request).allowed is beside.evaluate(request).allowed, request


def test_a_denial_of_unknown_extent_below_does_not_deny_above() -> None:
    judge = engine(OPEN, UNUSABLE["an unknown level below"])
    assert judge.evaluate(asks(HALL)).allowed
    assert not judge.evaluate(asks({"hall": "h", "shelf": "s"})).allowed
    assert not judge.evaluate(asks(HALL, matching_scope=BELOW, ignore_descendant_deny=False)).allowed
