"""A look-up of groups that failed: who may be in a group that loses something counts as being in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.fixtures import asks, engine, item, on, policy

HALL = on(hall="h")
READS = [item("alice", "read")]

CASES = [
    # what the policy holds beside alice's READ, and whether she still reads when nobody knows her groups
    ("a deny item for a group", {"denyPolicyItems": [item("@staff", "read")]}, False),
    ("a deny item for everybody but a group", {"denyPolicyItems": [item("@public", "read")]}, False),
    ("a deny item for a role, which may hold a group", {"denyPolicyItems": [item("%lead", "read")]}, False),
    ("an allow exception for a group", {"allowExceptions": [item("@staff", "read")]}, False),
    ("a deny item for another user and a group", {"denyPolicyItems": [item("bob @staff", "read")]}, False),
    ("a deny item for another user", {"denyPolicyItems": [item("bob", "read")]}, True),
    (
        "a deny item for a group from which she is excepted by name",
        {"denyPolicyItems": [item("@staff", "read")], "denyExceptions": [item("alice", "read")]},
        True,
    ),
    (
        "a deny item for a group from which another group is excepted",
        {"denyPolicyItems": [item("@staff", "read")], "denyExceptions": [item("@boss", "read")]},
        False,
    ),
]


@pytest.mark.parametrize(("what", "more", "allowed"), CASES, ids=[case[0] for case in CASES])
def test_less_knowledge_never_allows_more(what: str, more: dict[str, Any], allowed: bool) -> None:
    judge = engine(policy(1, HALL, READS, **more))
    assert judge.evaluate(asks({"hall": "h"}, groups_known=False)).allowed is allowed


def test_groups_that_are_known_still_allow() -> None:
    judge = engine(policy(1, HALL, [item("@staff", "read")]))
    assert judge.evaluate(asks({"hall": "h"}, "alice @staff", groups_known=False)).allowed
    assert not judge.evaluate(asks({"hall": "h"}, groups_known=False)).allowed


def test_a_group_that_loses_another_access_type_changes_nothing() -> None:
    judge = engine(policy(1, HALL, [item("alice", "own")], denyPolicyItems=[item("@staff", "read")]))
    assert judge.evaluate(asks({"hall": "h"}, access="own", groups_known=False)).allowed
    assert not judge.evaluate(asks({"hall": "h"}, access="read", groups_known=False)).allowed
