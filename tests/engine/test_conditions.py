"""Conditions: when they hold, when they fail, and when there is nothing to judge by."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine.compiled.conditions import PACKAGE, Circumstances, Outcome, Reading, compile_condition
from ranger_cdap.engine.model.wire import PolicyConditionDef

HOLDS, FAILS = Outcome.HOLDS, Outcome.FAILS
UNKNOWN_HOLDS, UNKNOWN_FAILS = Outcome.UNKNOWN_HOLDS, Outcome.UNKNOWN_FAILS

NINE = int(datetime(2026, 11, 21, 9, 0, tzinfo=UTC).timestamp() * 1000)
MIDNIGHT = int(datetime(2026, 11, 21, 0, 0, tzinfo=UTC).timestamp() * 1000)
PROJECT = {"attributeName": "project"}
ALWAYS_OVER = '{"endTime": "2001/01/01 00:00:00"}'
STILL_ON = '{"startTime": "2001/01/01 00:00:00"}'


def evaluate(
    kind: str, values: Sequence[str], options: dict[str, Any], circumstances: Circumstances, *, lenient: bool = False
) -> Outcome | None:
    definition = PolicyConditionDef(name="c", evaluator=PACKAGE + kind, evaluatorOptions=options)
    condition = compile_condition(definition, values, Reading(lenient=lenient))
    return condition(circumstances) if condition else None


def ip(text: str | None) -> Circumstances:
    return Circumstances(client_ip=text)


def at(time: int) -> Circumstances:
    return Circumstances(access_time=time)


def tagged(*tags: str) -> Circumstances:
    return Circumstances(tags=frozenset(tags))


CASES = [
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
    ("RangerTimeOfDayMatcher", ["9am-5pm"], {}, at(0), UNKNOWN_HOLDS),
    ("RangerTimeOfDayMatcher", ["noon"], {}, at(NINE), None),
    ("RangerTimeOfDayMatcher", ["9am-5pm", ""], {}, at(NINE), None),
    ("RangerContextAttributeValueInCondition", ["a"], PROJECT, Circumstances(context={"project": "a"}), HOLDS),
    ("RangerContextAttributeValueInCondition", ["a"], PROJECT, Circumstances(context={"project": "b"}), FAILS),
    ("RangerContextAttributeValueInCondition", ["a"], PROJECT, Circumstances(), UNKNOWN_HOLDS),
    ("RangerContextAttributeValueInCondition", [], PROJECT, Circumstances(context={"project": "b"}), HOLDS),
    ("RangerContextAttributeValueInCondition", [""], PROJECT, Circumstances(context={"project": "b"}), FAILS),
    ("RangerContextAttributeValueInCondition", ["a"], {}, Circumstances(), None),
    ("RangerContextAttributeValueNotInCondition", ["a"], PROJECT, Circumstances(context={"project": "a"}), FAILS),
    ("RangerContextAttributeValueNotInCondition", ["a"], PROJECT, Circumstances(context={"project": "b"}), HOLDS),
    ("RangerAccessedFromClusterCondition", ["c1"], {}, Circumstances(cluster_name="c1"), HOLDS),
    ("RangerAccessedFromClusterCondition", ["c1"], {}, Circumstances(cluster_name="c2"), FAILS),
    ("RangerAccessedFromClusterCondition", ["c1"], {}, Circumstances(), UNKNOWN_FAILS),
    ("RangerAccessedFromClusterCondition", [], {}, Circumstances(), HOLDS),
    ("RangerAccessedNotFromClusterCondition", ["c1"], {}, Circumstances(cluster_name="c1"), FAILS),
    ("RangerAccessedNotFromClusterCondition", ["c1"], {}, Circumstances(), UNKNOWN_HOLDS),
    ("RangerAccessedFromClusterTypeCondition", ["t"], {}, Circumstances(cluster_type="t"), HOLDS),
    ("RangerAccessedNotFromClusterTypeCondition", ["t"], {}, Circumstances(cluster_type="u"), HOLDS),
    ("RangerTagsAllPresentConditionEvaluator", [" PII ", "EU"], {}, tagged("PII", "EU", "X"), HOLDS),
    ("RangerTagsAllPresentConditionEvaluator", ["PII", "EU"], {}, tagged("PII"), FAILS),
    ("RangerTagsAllPresentConditionEvaluator", ["PII"], {}, tagged(), FAILS),
    ("RangerAnyOfExpectedTagsPresentConditionEvaluator", ["PII", "EU"], {}, tagged("EU"), HOLDS),
    ("RangerAnyOfExpectedTagsPresentConditionEvaluator", ["PII"], {}, tagged(), FAILS),
    ("RangerNoneOfExpectedTagsPresentConditionEvaluator", ["PII"], {}, tagged("PII"), FAILS),
    ("RangerNoneOfExpectedTagsPresentConditionEvaluator", ["PII"], {}, tagged(), HOLDS),
    ("RangerActionMatcher", ["getData"], {}, Circumstances(action="GETDATA"), HOLDS),
    ("RangerActionMatcher", ["get*"], {}, Circumstances(action="getData"), HOLDS),
    ("RangerActionMatcher", ["get"], {}, Circumstances(action="getData"), FAILS),
    ("RangerActionMatcher", ["get"], {}, Circumstances(action=" "), UNKNOWN_FAILS),
    ("RangerActionMatcher", ["*"], {}, Circumstances(), HOLDS),
    ("RangerActionMatcher", [" "], {}, Circumstances(), HOLDS),
    ("RangerValidityScheduleConditionEvaluator", [ALWAYS_OVER, STILL_ON], {}, at(NINE), HOLDS),
    ("RangerValidityScheduleConditionEvaluator", [ALWAYS_OVER], {}, at(NINE), FAILS),
    ("RangerValidityScheduleConditionEvaluator", [STILL_ON], {}, at(0), UNKNOWN_HOLDS),
    ("RangerValidityScheduleConditionEvaluator", [STILL_ON, "soon"], {}, at(NINE), None),
    ("RangerScriptConditionEvaluator", ["true"], {}, Circumstances(), None),
]


@pytest.mark.parametrize(("kind", "values", "options", "circumstances", "outcome"), CASES)
def test_a_condition(
    kind: str, values: list[str], options: dict[str, Any], circumstances: Circumstances, outcome: Outcome | None
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
def test_read_like_java(kind: str, values: list[str], circumstances: Circumstances, outcome: Outcome) -> None:
    assert evaluate(kind, values, {}, circumstances, lenient=True) is outcome


def test_a_condition_nobody_knows_cannot_be_evaluated() -> None:
    assert compile_condition(None, ["x"], Reading()) is None
    assert compile_condition(PolicyConditionDef(name="c", evaluator="com.example.Mine"), ["x"], Reading()) is None
    assert compile_condition(PolicyConditionDef(name="c", evaluator=PACKAGE + "Mine"), ["x"], Reading()) is None


@given(
    st.sampled_from(sorted({case[0] for case in CASES})),
    st.lists(st.text(max_size=8), max_size=3),
    st.builds(
        Circumstances,
        client_ip=st.none() | st.text(max_size=8),
        access_time=st.integers(-(2**63), 2**63 - 1),
        action=st.none() | st.text(max_size=4),
        cluster_name=st.none() | st.text(max_size=4),
        cluster_type=st.none() | st.text(max_size=4),
    ),
    st.booleans(),
)
def test_any_condition_answers_in_any_circumstances(
    kind: str, values: list[str], circumstances: Circumstances, lenient: bool
) -> None:
    outcome = evaluate(kind, values, PROJECT, circumstances, lenient=lenient)

    assert outcome is None or isinstance(outcome, Outcome)
