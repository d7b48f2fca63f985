"""Downloads and requests made to break the engine: huge, deep, doubled, in circles, or not what their type says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import AccessRequest, PolicyEngine, RequestTag
from ranger_cdap.engine.compiled import wildcard
from ranger_cdap.engine.compiled.cost import MAX_VALUE_LENGTH
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import RANGER, SAFE, asks, document, engine, item, on, policy
from tests.engine.whole_download import WHOLE, build

PUBLIC = [item("@public", "read")]
HUGE = "n" * 10_000_000
NAME = HUGE[:MAX_VALUE_LENGTH]
DEEP = "[" * 10_000 + "]" * 10_000

TEXTS = [
    # one policy as it stands in the download, and whether the hall may be read all the same
    (DEEP, False),
    ('{"id": 9, "denyPolicyItems": ' + DEEP + "}", False),
    ('{"id": 9, "policyItems": [{"users": ["\\ud800"]}]}', False),  # half a character
    ('{"id": 1e400}', False),
    ('{"id": 99999999999999999999999, "denyPolicyItems": [{}], "resources": {"hall": {"values": ["x"]}}}', True),
    (
        '{"id": 9, "policyPriority": 9999999999, "denyPolicyItems": [{}], "resources": {"hall": {"values": ["h"]}}}',
        False,
    ),
    ('{"id": 9, "isDenyAllElse": true, "isDenyAllElse": false}', True),  # of two equal keys the last one counts
    ("null", False),
    ('{"id": 9, "policyItems": null, "resources": null}', True),
]


@pytest.mark.parametrize(("text", "allowed"), TEXTS, ids=[text[:40] for text, _ in TEXTS])
def test_one_policy_of_any_text(text: str, allowed: bool) -> None:
    good = json.dumps(policy(1, on(hall="h"), PUBLIC))
    whole = json.dumps(document()).replace('"policies": []', f'"policies": [{good}, {text}]')
    try:
        judge = PolicyEngine.build(decode_service_policies(whole.encode()))
    except PolicySetError:
        assert not allowed
    else:
        assert judge.evaluate(asks({"hall": "h"})).allowed is allowed


@pytest.mark.parametrize("text", ["", "5", "NaN", "[]", "{", DEEP, '{"policies": [1' + ",1" * 999 + "]}", "\ufeff{}"])
@pytest.mark.parametrize("options", [SAFE, RANGER], ids=["safe", "ranger"])
def test_what_is_no_download_is_refused(text: str, options: Any) -> None:
    with pytest.raises(PolicySetError):
        PolicyEngine.build(decode_service_policies(text.encode()), options=options)


def test_huge_names_are_names_and_messages_stay_short() -> None:
    judge = engine(
        policy(1, on(hall=NAME), [item(NAME, "read")]),
        {**policy(2, on(hall="h"), [], [item("bob", HUGE)]), "name": HUGE},
        policy(3, {HUGE: {"values": [HUGE]}}, PUBLIC),
        policy(4, on(hall="h"), PUBLIC, conditions=[{"type": HUGE, "values": [HUGE]}]),
        policy(5, on(hall="h"), PUBLIC, validitySchedules=[{"startTime": HUGE, "timeZone": HUGE}]),
    )
    assert judge.evaluate(asks({"hall": NAME}, NAME)).allowed
    assert not judge.evaluate(asks({"hall": NAME[1:]}, NAME)).allowed
    assert {p.policy_id for p in judge.problems} == {2, 3, 4, 5}
    assert max(len(str(p)) for p in judge.problems) < 500


BAD_SCHEDULES = [
    {"startTime": "2020/99/99 99:99:99garbage"},
    {"startTime": "9" * 5000 + "/1/1 1:1:1"},
    {"endTime": "99999/1/1 1:1:1"},
    {"timeZone": "../../etc/passwd"},
    {"timeZone": "\0"},
    {"recurrences": [{"interval": {"days": 2**31 - 1}, "schedule": {}}]},
    {"recurrences": [{"interval": {"minutes": -5}, "schedule": {"hour": "*"}}]},
    {"recurrences": [{"interval": {"minutes": 1}, "schedule": {"hour": "9" * 5000}}]},
    {"recurrences": [{"interval": {"minutes": 1}, "schedule": {"hour": "1-2-3,,-,9-"}}]},
    {"recurrences": [{"interval": {"minutes": 1}}]},
]


@pytest.mark.parametrize("schedule", BAD_SCHEDULES, ids=[str(n) for n in range(len(BAD_SCHEDULES))])
@pytest.mark.parametrize("time", [0, 1, 1_700_000_000_000, -(10**15), 10**30])
def test_no_schedule_makes_a_decision_fail(schedule: Any, time: int) -> None:
    judge = engine(policy(1, on(hall="h"), PUBLIC), policy(2, on(hall="h"), [], PUBLIC, validitySchedules=[schedule]))
    decided = judge.evaluate(asks({"hall": "h"}, access_time=time))
    assert not (decided.allowed and judge.problems)  # what cannot be read denies


def test_roles_in_circles_have_the_same_members_at_any_size() -> None:
    names = [f"r{n}" for n in range(3000)]
    ring = [
        {"name": a, "users": [{"name": f"u{n}"}], "roles": [{"name": b}]}
        for n, (a, b) in enumerate(zip(names, [*names[1:], names[0]], strict=True))
    ]
    for role in ring[10:]:
        role["users"] = []
    judge = engine(policy(1, on(hall="h"), PUBLIC, [item("%r1500", "read")]), roles=ring)
    assert not judge.evaluate(asks({"hall": "h"}, "u3")).allowed
    assert judge.evaluate(asks({"hall": "h"}, "somebody")).allowed
    assert [p.code for p in judge.problems] == ["role-cycle"]


ODD_VALUES: list[Any] = [
    "", "*", "\0\r\n\x1b", "\ud800", HUGE[:1_000_000],
    (), ("",), ["h", "x"], ("h", "h"), ["h", 5], 5, None, {}, [[]], {"a"},
]  # fmt: skip


@pytest.mark.parametrize("access", ["read", "_any", "_admin", "", "\0"])
@pytest.mark.parametrize("odd", ODD_VALUES, ids=range(len(ODD_VALUES)))
def test_no_request_makes_a_decision_fail(odd: Any, access: str) -> None:
    judge = build(WHOLE)
    for where in ({"hall": odd}, {"hall": "h", "shelf": odd}, {odd if isinstance(odd, str) else "x": "h"}):
        for context in ({}, {"token:team": odd, "x": odd, 5: odd}):
            request = AccessRequest(where, access, "eve", context=context, tags=(RequestTag(type="SECRET"),))
            assert judge.evaluate(request).allowed is judge.explain(request).allowed
        judge.who_can(where)


class Counted(str):
    """A text that counts how often one of its characters is looked at."""

    looks = 0

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        Counted.looks += 1
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:
        Counted.looks += len(self)
        return super().__iter__()


CATASTROPHIC = ["*a" * 40, "*a" * 40 + "b", "*?" * 40, "a*" * 40 + "?b", "*" * 80 + "b"]


@pytest.mark.parametrize("pattern", CATASTROPHIC)
@pytest.mark.parametrize("value", ["a" * 300, "ab" * 150, "a" * 299 + "b"])
def test_matching_looks_at_each_character_a_few_times(pattern: str, value: str) -> None:
    assert looks(wildcard.matches, pattern, value) <= few_looks(pattern, value)
    assert looks(wildcard.matches_prefix, pattern, value) <= many_looks(pattern, value)


def looks(matches: Callable[[str, str], bool], pattern: str, value: str) -> int:
    """How often a character of pattern or value is looked at, but for what Python's own search does in linear time."""
    Counted.looks = 0
    matches(Counted(wildcard.normalise(pattern)), Counted(value))
    return Counted.looks


def few_looks(pattern: str, value: str) -> int:
    return 3 * (len(pattern) + len(value) + 1)


def many_looks(pattern: str, value: str) -> int:
    return 3 * (len(pattern) + 1) * (len(value) + 1)


@settings(deadline=None, derandomize=True, database=None, max_examples=200)
@given(st.text("ab*?", max_size=30), st.text("ab", max_size=40))
def test_so_it_is_for_every_pattern(pattern: str, value: str) -> None:
    assert looks(wildcard.matches, pattern, value) <= few_looks(pattern, value)
    assert looks(wildcard.matches_prefix, pattern, value) <= many_looks(pattern, value)


@pytest.mark.parametrize("end", ["a" * 500, "a?" * 250], ids=["letters", "question marks"])
def test_hundreds_of_patterns_that_nearly_fit_are_no_trouble(end: str) -> None:
    """Each was matched in pattern length times value length, a minute and more for one question."""
    values = [f"*{end}b{n}*c" for n in range(400)]
    judge = engine(policy(1, on(hall=values), PUBLIC), policy(2, on(hall="*"), PUBLIC))
    for question in ("a" * 1000, "a" * 1000 + "c"):
        assert judge.evaluate(asks({"hall": question})).allowed


@pytest.mark.parametrize("value", ["*a" * 2000, "a*" * 2000 + "b", "?*" * 2000])
def test_policies_of_catastrophic_patterns_load_and_decide(value: str) -> None:
    judge = engine(policy(1, on(hall=value), PUBLIC), policy(2, on(hall="*"), PUBLIC))
    assert judge.evaluate(asks({"hall": "a" * 1000})).allowed


LINEAR = [
    {"conditions": [{"type": "ip", "values": [".*" * 500_000 + "x"]}]},
    {"conditions": [{"type": "ip", "values": [":*" * 500_000 + "x"]}]},
]


@pytest.mark.parametrize("more", LINEAR, ids=["ip4", "ip6"])
def test_long_condition_values_are_read_once(more: Any) -> None:
    judge = engine(policy(1, on(hall="h"), PUBLIC, **more))
    assert not judge.evaluate(asks({"hall": "h"}, client_ip="10.0.0.1")).allowed


@pytest.mark.parametrize("filters", ["'\\" * 200_000, "'" + "\\'" * 200_000 + "\\", '"' * 200_001, "[" * 10_000])
def test_long_audit_filters_are_read_once(filters: str) -> None:
    judge = engine(policy(1, on(hall="h"), PUBLIC), serviceConfig={"ranger.plugin.audit.filters": filters})
    assert judge.evaluate(asks({"hall": "h"})).audited
    assert [p.code for p in judge.problems] == ["unreadable-audit-filters"]
