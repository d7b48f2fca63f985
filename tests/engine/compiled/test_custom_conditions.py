"""Conditions the engine does not know, added by a maker: they decide, and what goes wrong in them allows nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from ranger_cdap.engine import ConditionContext, EngineOptions, PolicyEngine
from ranger_cdap.engine.model.problem import ProblemCode
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import RANGER, SAFE, SHOP, asks, document, item, on, policy
from tests.engine.fixtures import engine as build

SCRIPT = "org.apache.ranger.plugin.conditionevaluator.RangerScriptConditionEvaluator"
IP = "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"
Maker = Callable[..., Any]


def judge(
    maker: Maker | None, side: str = "policyItems", *, kind: str = SCRIPT, options: EngineOptions = SAFE
) -> PolicyEngine:
    conditioned = item("alice", "read", conditions=[{"type": "script", "values": ["alice"]}])
    allow = [item("alice", "read")]
    made = policy(
        1, on(hall="h"), **({side: [conditioned]} if side == "policyItems" else {"denyPolicyItems": [conditioned]})
    )
    if side != "policyItems":
        made["policyItems"] = allow
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(document(made))),
        options=replace(options, conditions={kind: maker} if maker else {}),
    )


def user_is(values: tuple[str, ...], _: Any) -> Callable[[ConditionContext], bool]:
    return lambda c: c.user in values and c.resource == {"hall": "h"} and c.access_type == "read"


def test_an_added_condition_decides_and_is_no_problem() -> None:
    assert judge(user_is).evaluate(asks({"hall": "h"})).allowed
    assert not judge(lambda values, _: lambda c: False).evaluate(asks({"hall": "h"})).allowed
    assert judge(user_is).problems == ()
    assert [p.code for p in judge(None).problems] == [ProblemCode.UNUSABLE_CONDITION]
    assert not judge(None).evaluate(asks({"hall": "h"})).allowed


@pytest.mark.parametrize("known", [True, False])
def test_a_condition_is_told_whether_the_groups_are_known(known: bool) -> None:
    seen = []
    judge(lambda values, _: lambda c: seen.append(c.groups_known) or True).evaluate(
        asks({"hall": "h"}, groups_known=known)
    )
    assert set(seen) == {known}


def boom(*_: Any) -> Any:
    raise RuntimeError("broken plugin")


@pytest.mark.parametrize(
    "maker",
    [
        boom,
        lambda values, _: None,
        lambda values, _: boom,
        lambda values, _: lambda c: "yes",
        lambda values, _: lambda c: None,
    ],
    ids=["the maker raises", "no condition", "the condition raises", "no answer", "not judged"],
)
def test_whatever_goes_wrong_allows_nothing_and_denies(maker: Maker) -> None:
    assert not judge(maker).evaluate(asks({"hall": "h"})).allowed
    assert not judge(maker, "denyPolicyItems").evaluate(asks({"hall": "h"})).allowed


@pytest.mark.parametrize("maker", [boom, lambda values, _: None], ids=["the maker raises", "no condition"])
def test_what_a_maker_rejects_is_not_dropped_as_ranger_drops_what_it_does_not_know(maker: Maker) -> None:
    for side in ("policyItems", "denyPolicyItems"):
        engine = judge(maker, side, options=RANGER)
        (problem,) = engine.problems
        assert problem.message.endswith(": it allows nothing, and denials apply")
        assert not engine.evaluate(asks({"hall": "h"})).allowed
    (problem,) = judge(None, options=RANGER).problems
    assert problem.message.endswith(": it always holds")
    assert judge(None, options=RANGER).evaluate(asks({"hall": "h"})).allowed


def test_what_the_engine_knows_can_not_be_replaced() -> None:
    made = policy(1, on(hall="h"), [item("alice", "read", conditions=[{"type": "ip", "values": ["10.0.0.1"]}])])
    engine = PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(document(made))),
        options=EngineOptions(conditions={IP: lambda values, _: lambda c: True}),
    )
    assert not engine.evaluate(asks({"hall": "h"}, client_ip="10.0.0.2")).allowed


def of_any_resource(_: ConditionContext) -> bool:
    return True


of_any_resource.reads_resource = False  # type: ignore[attr-defined]

LOOKS = [
    # the conditions of a policy, and whether one may look at the requested resource
    ({}, ["ip"], False),
    ({SCRIPT: lambda values, _: of_any_resource}, ["ip", "script"], False),
    ({SCRIPT: user_is}, ["ip", "script"], True),
    ({SCRIPT: user_is}, ["ip"], False),
]


@pytest.mark.parametrize(("makers", "kinds", "looks"), LOOKS)
def test_values_of_an_open_level_are_told_unless_a_condition_may_look_at_them(
    makers: dict[str, Maker], kinds: list[str], looks: bool
) -> None:
    conditions = [{"type": kind, "values": ["10.0.0.1"]} for kind in kinds]
    made = policy(1, on(hall="h*"), [item("alice", "read", conditions=conditions)])
    engine = PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(document(made))), options=replace(SAFE, conditions=makers)
    )
    told = engine.named_values(asks({"hall": "x"}), ("hall",))
    assert (told is None) is looks


def test_where_denials_are_disabled_their_exceptions_are_not_looked_at() -> None:
    definition = {**SHOP, "options": {"enableDenyAndExceptionsInPolicies": "false"}}
    excepted = item("alice", "read", conditions=[{"type": "script", "values": ["alice"]}])
    made = policy(1, on(hall="h*"), [item("alice", "read")], denyExceptions=[excepted])
    engine = build(made, serviceDef=definition, options=replace(SAFE, conditions={SCRIPT: user_is}))
    assert engine.named_values(asks({"hall": "x"}), ("hall",)) is not None
