"""What cannot be evaluated never allows more: how far a policy that cannot be used reaches, in both modes.

Each row of `docs/reference/compatibility.md` is a case of `tests/differential/deliberate_differences.py`.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import AccessRequest, ElementScope, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import RANGER, SAFE, asks, document, engine, item, on, policy

H = {"hall": "h"}
BOX = {"hall": "h", "shelf": "s", "box": "b"}
HERE = on(hall="h")
EVERYBODY = item("@public", "read")
SCRIPT = [{"type": "script", "values": ["true"]}]
AT_HOME = [{"type": "ip", "values": ["10.0.0.1"]}]

CONDITIONS = [
    # policies, the request, allowed in safe mode, allowed as Java does
    ([policy(1, HERE, [item("alice", "read", conditions=SCRIPT)])], {}, False, True),
    ([policy(1, HERE, [item("alice", "read", conditions=[{"type": "unheard-of"}])])], {}, False, True),
    ([policy(1, HERE, [EVERYBODY], conditions=SCRIPT)], {}, False, True),
    ([policy(1, HERE, [EVERYBODY], [item("alice", "read", conditions=SCRIPT)])], {}, False, False),
    (
        [policy(1, HERE, [EVERYBODY], [EVERYBODY], denyExceptions=[item("alice", "read", conditions=SCRIPT)])],
        {},
        False,
        True,
    ),
    ([policy(1, HERE, [EVERYBODY], allowExceptions=[item("alice", "read", conditions=SCRIPT)])], {}, False, False),
    ([policy(1, HERE, [item("alice", "read", conditions=AT_HOME)])], {}, False, True),  # no client address
    ([policy(1, HERE, [item("alice", "read", conditions=AT_HOME)])], {"client_ip": "10.0.0.1"}, True, True),
    ([policy(1, HERE, [EVERYBODY], validitySchedules=[{"startTime": "2001/01/01 00:00:00"}])], {}, False, True),
    (
        [policy(1, HERE, [EVERYBODY], validitySchedules=[{"startTime": "tomorrow"}])],
        {"access_time": 1_700_000_000_000},
        False,
        True,
    ),
    ([policy(1, HERE, [EVERYBODY], [item("alice", "raed")])], {}, False, True),  # nobody knows `raed`
    ([policy(1, HERE, [EVERYBODY]), policy(2, on(hal="h"), [], [EVERYBODY])], {}, False, True),  # nor `hal`
]


@pytest.mark.parametrize(("policies", "more", "safe", "java"), CONDITIONS)
def test_what_cannot_be_evaluated(policies: Any, more: Any, safe: bool, java: bool) -> None:
    request = asks(H, **more)
    assert engine(*policies, options=SAFE).evaluate(request).allowed is safe
    assert engine(*policies, options=RANGER).evaluate(request).allowed is java


BROKEN = [
    # a policy that cannot be used, what it says, and who is denied by it: on the hall, on the box
    ({**policy(2, HERE), "policyItems": "all"}, "left out", False, False),
    ({**policy(2, HERE, [], [item("bob", "read")]), "policyItems": "all"}, "denies", True, False),
    ({**policy(2, HERE), "denyPolicyItems": 5}, "denies", True, False),
    ({**policy(2, HERE), "isDenyAllElse": []}, "denies", True, False),
    ({**policy(2, HERE, [], [EVERYBODY]), "resources": "h"}, "denies", True, True),
    ({**policy(2, HERE, [], [EVERYBODY]), "resources": {"hall": {"values": [[]]}}}, "denies", True, True),
    ({**policy(2, on(hall="x", shelf="s"), [], [EVERYBODY]), "name": []}, "denies", False, False),
    (policy(2, on(hall="h", shelf="${{USER.x}}"), [], [EVERYBODY]), "denies", True, True),
    (policy(2, {**on(hall="h"), "shelf": 7}, [], [EVERYBODY]), "denies", True, True),
    ({**policy(2, HERE, [], [EVERYBODY]), "id": "two"}, "denies", True, False),
    ({**policy(2, HERE, [], [EVERYBODY]), "name": 5, "isEnabled": False}, "", False, False),
    ("not a policy at all", "denies", True, True),
    (5, "denies", True, True),
]


@pytest.mark.parametrize(("broken", "effect", "hall", "box"), BROKEN)
def test_a_policy_that_cannot_be_used_hurts_only_where_it_points(
    broken: Any, effect: str, hall: bool, box: bool
) -> None:
    good = [policy(1, HERE, [EVERYBODY]), policy(3, on(hall="h", shelf="s", box="b"), [EVERYBODY])]
    judge = engine(*good, broken)
    assert judge.evaluate(asks(H)).allowed is not hall
    assert judge.evaluate(asks(BOX)).allowed is not box
    assert [effect in problem.message for problem in judge.problems] == ([True] if effect else [])


def test_a_policy_that_cannot_be_used_also_denies_what_the_request_is_a_beginning_of() -> None:
    judge = engine(policy(1, on(hall="h*"), [EVERYBODY]), policy(2, {**on(hall="hx"), "shelf": 7}, [], [EVERYBODY]))
    beginning = {"element_scopes": {"hall": ElementScope.SELF_OR_PREFIX}}
    assert not judge.evaluate(asks(H, **beginning)).allowed
    assert judge.evaluate(asks({"hall": "hy"}, **beginning)).allowed


def test_as_java_does_an_unreadable_policy_makes_the_whole_set_unusable() -> None:
    with pytest.raises(PolicySetError):
        engine({**policy(2, HERE), "policyItems": "all"}, options=RANGER)
    unreadable = {"recurrences": [{"schedule": {"hour": "noon"}, "interval": {"hours": 1}}]}
    with pytest.raises(PolicySetError):
        engine(policy(2, HERE, validitySchedules=[unreadable]), options=RANGER)


def test_two_policies_with_one_id_are_both_unusable() -> None:
    twice = [policy(1, HERE, [EVERYBODY]), policy(1, on(hall="g"), [EVERYBODY], [item("bob", "read")])]
    judge = engine(*twice)
    assert not judge.evaluate(asks(H)).allowed
    assert not judge.evaluate(asks({"hall": "g"})).allowed
    assert {p.policy_id for p in judge.problems} == {1}
    assert engine(*twice, options=RANGER).evaluate(asks({"hall": "g"})).allowed


def test_tag_policies_without_tags_are_refused() -> None:
    linked = {"serviceName": "tags", "serviceDef": {"name": "tag"}, "policies": []}
    raw = decode_service_policies(json.dumps(document(tagPolicies=linked)).encode())
    with pytest.raises(PolicySetError, match="provide them, too"):
        PolicyEngine.build(raw)
    assert not PolicyEngine.build(raw, options=RANGER).evaluate(asks(H)).allowed


def test_without_a_time_schedules_that_allow_fail_and_those_that_deny_hold() -> None:
    schedule = [{"endTime": "2001/01/01 00:00:00"}]
    judge = engine(policy(1, HERE, [EVERYBODY]), policy(2, HERE, [], [EVERYBODY], validitySchedules=schedule))
    assert not judge.evaluate(asks(H)).allowed
    assert judge.evaluate(asks(H, access_time=1_700_000_000_000)).allowed


CIRCLE = {"name": "x", "resources": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"serviceDef": None}, "have no service definition"),
        ({"serviceDef": CIRCLE}, "cycle"),
        ({"serviceDef": {"name": "x", "resources": [{"name": "a"}, {"name": "a"}]}}, "two resources"),
        ({"serviceName": "other"}, "not to `shop1`"),
    ],
)
def test_the_whole_set_is_refused_only_for_its_envelope(change: Any, says: str) -> None:
    raw = decode_service_policies(json.dumps({**document(), **change}).encode())
    with pytest.raises(PolicySetError, match=says):
        PolicyEngine.build(raw, service="shop1")


RICH = [
    policy(
        1,
        on(hall="h", shelf=["s", "t*"]),
        [item("alice @staff", "read", "write"), item("%lead", "own", conditions=AT_HOME)],
        [item("bob", "write")],
        denyExceptions=[item("@staff", "write", conditions=AT_HOME)],
        allowExceptions=[item("carol", "write")],
        conditions=[{"type": "ip", "values": ["10.0.0.1", "10.0.0.2"]}],
        validitySchedules=[
            {
                "startTime": "2020/01/01 00:00:00",
                "endTime": "2030/01/01 00:00:00",
                "timeZone": "UTC",
                "recurrences": [
                    {"schedule": {"minute": "0", "hour": "0-23", "dayOfMonth": "*"}, "interval": {"minutes": 59}}
                ],
            }
        ],
        additionalResources=[on(hall="g", shelf="*")],
        policyPriority=1,
        isAuditEnabled=True,
    ),
    policy(2, on(hall="*", shelf="*"), [item("@public", "read", "write", "own")]),
    policy(3, on(hall="h"), [item("@public", "read")], [item("alice", "write")], isDenyAllElse=True),
    policy(4, on(hall="*"), [item("@public", "read", "write", "own")]),
]
"""What the first and the third deny, the others allow."""
GARBAGE = [[], {}, "garbage", 1.5, [[]]]
REQUESTS = [
    AccessRequest(
        where,
        access,
        user,
        groups=frozenset(groups),
        access_time=1_700_000_000_000,
        client_ip=ip,
        roles=frozenset(roles) or None,
    )
    for where in (H, {"hall": "h", "shelf": "s"}, {"hall": "h", "shelf": "tt"}, {"hall": "g", "shelf": "x"})
    for access in ("read", "write", "own", "_any", "_admin")
    for user, groups, roles in (("alice", (), ()), ("bob", ("staff",), ()), ("carol", (), ("lead",)))
    for ip in ("10.0.0.1", "10.0.0.2", "10.9.9.9")
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += places(inner, (*path, key))
    return found


OPEN = {"users", "groups", "roles", "name", "version", "id", "values", "isExcludes", "policyPriority", "isAuditEnabled"}
"""Free values: another value there is another policy, not an unreadable one. Of these only wrong types are tried."""


@pytest.mark.parametrize("which", range(len(RICH)))
def test_making_any_part_of_a_policy_unreadable_never_turns_a_denial_into_an_allow(which: int) -> None:
    judge = engine(*RICH)
    denied = [r for r in REQUESTS if not judge.evaluate(r).allowed]
    tried = 0
    for path in places(RICH[which]):
        for garbage in GARBAGE:
            spoiled = deepcopy(RICH)
            holder: Any = spoiled[which]
            for step in path[:-1]:
                holder = holder[step]
            if readable(holder[path[-1]], garbage, path):
                continue
            holder[path[-1]] = garbage
            changed = engine(*spoiled)
            newly = [r for r in denied if changed.evaluate(r).allowed]
            assert newly == [], (path, garbage)
            tried += 1
    assert tried > 20


def readable(before: Any, garbage: Any, path: tuple[Any, ...]) -> bool:
    """Whether the change makes another policy instead of an unreadable one."""
    if OPEN & set(path) and isinstance(garbage, str | int | float | bool):
        return True
    return type(garbage) is type(before) and (garbage in ([], {}) or not isinstance(garbage, str))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab*{}", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(RICH[0])), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_whatever_is_among_the_policies_nothing_is_raised_and_nobody_is_let_in(odd: list[Any]) -> None:
    judge = engine(*odd)
    for request in REQUESTS[:6]:
        assert judge.evaluate(request).allowed is False
