"""Conditions: when they hold, when they fail, and when there is nothing to judge by."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.conditions import (
    PACKAGE,
    ConditionContext,
    ConditionOptions,
    ConditionOutcome,
    compile_condition,
)
from ranger_cdap.ranger_model.service_def import PolicyConditionDef

HOLDS, FAILS = ConditionOutcome.HOLDS, ConditionOutcome.FAILS
UNKNOWN_HOLDS, UNKNOWN_FAILS = ConditionOutcome.UNKNOWN_HOLDS, ConditionOutcome.UNKNOWN_FAILS

NINE = int(datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp() * 1000)
MIDNIGHT = int(datetime(2026, 11, 21, 0, 0, tzinfo=UTC).timestamp() * 1000)
PROJECT = {"attributeName": "project"}
ALWAYS_OVER = '{"endTime": "2001/01/01 00:00:00"}'
STILL_ON = '{"startTime": "2001/01/01 00:00:00"}'


def evaluate(
    kind: str, values: Sequence[str], options: dict[str, Any], circumstances: ConditionContext, *, lenient: bool = False
) -> ConditionOutcome | None:
    definition = PolicyConditionDef(name="c", evaluator=PACKAGE + kind, evaluator_options=options)
    condition = compile_condition(definition, values, ConditionOptions(lenient, {}))
    return condition(circumstances) if condition else None


def ip(text: str | None) -> ConditionContext:
    return ConditionContext(client_ip=text)


def at(time: int) -> ConditionContext:
    return ConditionContext(access_time=time)


def tagged(*tags: str) -> ConditionContext:
    return ConditionContext(tags=frozenset(tags))


CASES = [
    ("RangerContextAttributeValueInCondition", ["p"], {"attributeName": ""}, ConditionContext(context={"": "p"}), None),
    ("RangerIpMatcher", [], {}, ip("10.0.0.1"), HOLDS),
    ("RangerIpMatcher", ["*"], {}, ip(None), HOLDS),
    ("RangerIpMatcher", ["*.*"], {}, ip("10.0.0.1"), HOLDS),
    ("RangerIpMatcher", ["10.0.0.1"], {}, ip("10.0.0.1"), HOLDS),
    ("RangerIpMatcher", ["10.0.0.1"], {}, ip("10.0.0.11"), FAILS),
    ("RangerIpMatcher", ["10.0.0.*"], {}, ip("10.0.0.11"), HOLDS),
    ("RangerIpMatcher", ["10.*.*"], {}, ip("10.7.0.11"), HOLDS),
    ("RangerIpMatcher", ["10.*"], {}, ip("100.0.0.1"), FAILS),
    ("RangerIpMatcher", ["fe80::1"], {}, ip("FE80::1"), HOLDS),
    ("RangerIpMatcher", ["FE80::1"], {}, ip("fe80::1"), HOLDS),
    ("RangerIpMatcher", ["FE80::1"], {}, ip("fe80::12"), FAILS),
    ("RangerIpMatcher", ["fe80:*"], {}, ip("fe80:0::12"), HOLDS),
    ("RangerIpMatcher", ["10.0.0.1"], {}, ip(None), UNKNOWN_HOLDS),
    ("RangerIpMatcher", [""], {}, ip("10.0.0.1"), None),
    ("RangerTimeOfDayMatcher", [], {}, at(NINE), HOLDS),
    ("RangerTimeOfDayMatcher", ["9am-5pm"], {}, at(NINE), HOLDS),
    ("RangerTimeOfDayMatcher", ["9:01 A.M. - 5 p.m"], {}, at(NINE), FAILS),
    ("RangerTimeOfDayMatcher", ["8am-9am"], {}, at(NINE + 59_999), HOLDS),
    ("RangerTimeOfDayMatcher", ["8am-9am"], {}, at(NINE + 60_000), FAILS),
    ("RangerTimeOfDayMatcher", ["10pm-1am"], {}, at(MIDNIGHT), HOLDS),
    ("RangerTimeOfDayMatcher", ["12am-12pm"], {}, at(NINE), HOLDS),
    ("RangerTimeOfDayMatcher", ["10pm-1am"], {}, at(NINE), FAILS),
    ("RangerTimeOfDayMatcher", ["5am-5am"], {}, at(NINE), HOLDS),  # around the clock
    ("RangerTimeOfDayMatcher", ["9am-5pm"], {}, at(0), UNKNOWN_HOLDS),
    ("RangerTimeOfDayMatcher", ["noon"], {}, at(NINE), None),
    ("RangerTimeOfDayMatcher", ["9am-5pm", ""], {}, at(NINE), None),
    ("RangerContextAttributeValueInCondition", ["a"], PROJECT, ConditionContext(context={"project": "a"}), HOLDS),
    ("RangerContextAttributeValueInCondition", ["a"], PROJECT, ConditionContext(context={"project": "b"}), FAILS),
    ("RangerContextAttributeValueInCondition", ["a"], PROJECT, ConditionContext(), UNKNOWN_HOLDS),
    ("RangerContextAttributeValueInCondition", [], PROJECT, ConditionContext(context={"project": "b"}), HOLDS),
    ("RangerContextAttributeValueInCondition", [""], PROJECT, ConditionContext(context={"project": "b"}), FAILS),
    ("RangerContextAttributeValueInCondition", ["a"], {}, ConditionContext(), None),
    ("RangerContextAttributeValueNotInCondition", ["a"], PROJECT, ConditionContext(context={"project": "a"}), FAILS),
    ("RangerContextAttributeValueNotInCondition", ["a"], PROJECT, ConditionContext(context={"project": "b"}), HOLDS),
    ("RangerAccessedFromClusterCondition", ["c1"], {}, ConditionContext(cluster_name="c1"), HOLDS),
    ("RangerAccessedFromClusterCondition", ["c1"], {}, ConditionContext(cluster_name="c2"), FAILS),
    ("RangerAccessedFromClusterCondition", ["c1"], {}, ConditionContext(), UNKNOWN_FAILS),
    ("RangerAccessedFromClusterCondition", [], {}, ConditionContext(), HOLDS),
    ("RangerAccessedNotFromClusterCondition", ["c1"], {}, ConditionContext(cluster_name="c1"), FAILS),
    ("RangerAccessedNotFromClusterCondition", ["c1"], {}, ConditionContext(), UNKNOWN_HOLDS),
    ("RangerAccessedFromClusterTypeCondition", ["t"], {}, ConditionContext(cluster_type="t"), HOLDS),
    ("RangerAccessedNotFromClusterTypeCondition", ["t"], {}, ConditionContext(cluster_type="u"), HOLDS),
    ("RangerTagsAllPresentConditionEvaluator", [" PII ", "EU"], {}, tagged("PII", "EU", "X"), HOLDS),
    ("RangerTagsAllPresentConditionEvaluator", ["PII", "EU"], {}, tagged("PII"), FAILS),
    ("RangerTagsAllPresentConditionEvaluator", ["PII"], {}, tagged(), FAILS),
    ("RangerAnyOfExpectedTagsPresentConditionEvaluator", ["PII", "EU"], {}, tagged("EU"), HOLDS),
    ("RangerAnyOfExpectedTagsPresentConditionEvaluator", ["PII"], {}, tagged(), FAILS),
    ("RangerNoneOfExpectedTagsPresentConditionEvaluator", ["PII"], {}, tagged("PII"), FAILS),
    ("RangerNoneOfExpectedTagsPresentConditionEvaluator", ["PII"], {}, tagged(), HOLDS),
    ("RangerActionMatcher", ["getData"], {}, ConditionContext(action="GETDATA"), HOLDS),
    ("RangerActionMatcher", ["get*"], {}, ConditionContext(action="getData"), HOLDS),
    ("RangerActionMatcher", ["get"], {}, ConditionContext(action="getData"), FAILS),
    ("RangerActionMatcher", ["get"], {}, ConditionContext(action=" "), UNKNOWN_FAILS),
    ("RangerActionMatcher", ["*"], {}, ConditionContext(), HOLDS),
    ("RangerActionMatcher", [" "], {}, ConditionContext(), HOLDS),
    ("RangerValidityScheduleConditionEvaluator", [ALWAYS_OVER, STILL_ON], {}, at(NINE), HOLDS),
    ("RangerValidityScheduleConditionEvaluator", [ALWAYS_OVER], {}, at(NINE), FAILS),
    ("RangerValidityScheduleConditionEvaluator", [STILL_ON], {}, at(0), UNKNOWN_HOLDS),
    ("RangerValidityScheduleConditionEvaluator", [STILL_ON, "soon"], {}, at(NINE), None),
    ("RangerScriptConditionEvaluator", ["true"], {}, ConditionContext(), None),
]


@pytest.mark.parametrize(("kind", "values", "options", "circumstances", "outcome"), CASES)
def test_a_condition(
    kind: str,
    values: list[str],
    options: dict[str, Any],
    circumstances: ConditionContext,
    outcome: ConditionOutcome | None,
) -> None:
    assert evaluate(kind, values, options, circumstances) is outcome


# What we read strictly and Java does not.
LENIENT = [
    ("RangerIpMatcher", [""], ip("10.0.0.1"), HOLDS),
    ("RangerIpMatcher", ["FE80::1"], ip("fe80::12"), HOLDS),
    ("RangerTimeOfDayMatcher", ["noon"], at(NINE), HOLDS),
    ("RangerTimeOfDayMatcher", ["noon", "10am-11am"], at(NINE), FAILS),
    ("RangerValidityScheduleConditionEvaluator", ["soon"], at(NINE), HOLDS),
]


@pytest.mark.parametrize(("kind", "values", "circumstances", "outcome"), LENIENT)
def test_read_like_java(
    kind: str, values: list[str], circumstances: ConditionContext, outcome: ConditionOutcome
) -> None:
    assert evaluate(kind, values, {}, circumstances, lenient=True) is outcome


def test_a_condition_nobody_knows_cannot_be_evaluated() -> None:
    assert compile_condition(None, ["x"], ConditionOptions(False, {})) is None
    assert (
        compile_condition(
            PolicyConditionDef(name="c", evaluator="com.example.Mine"), ["x"], ConditionOptions(False, {})
        )
        is None
    )
    assert (
        compile_condition(PolicyConditionDef(name="c", evaluator=PACKAGE + "Mine"), ["x"], ConditionOptions(False, {}))
        is None
    )


@given(
    st.sampled_from(sorted({case[0] for case in CASES})),
    st.lists(st.text(max_size=8), max_size=3),
    st.builds(
        ConditionContext,
        client_ip=st.none() | st.text(max_size=8),
        access_time=st.integers(-(2**63), 2**63 - 1),
        action=st.none() | st.text(max_size=4),
        cluster_name=st.none() | st.text(max_size=4),
        cluster_type=st.none() | st.text(max_size=4),
    ),
    st.booleans(),
)
def test_any_condition_answers_in_any_circumstances(
    kind: str, values: list[str], circumstances: ConditionContext, lenient: bool
) -> None:
    outcome = evaluate(kind, values, PROJECT, circumstances, lenient=lenient)

    assert outcome is None or isinstance(outcome, ConditionOutcome)
