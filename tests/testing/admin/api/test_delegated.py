"""Delegated administrators of policies, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.admin.caller import V2, Caller, policy


def access(*types: str, users: tuple[str, ...] = ("bob",), **more: Any) -> dict[str, Any]:
    return {"users": list(users), "accesses": [{"type": name, "isAllowed": True} for name in types], **more}


DELEGATED = [
    # method, path, body, status
    ("POST", f"{V2}/policy", policy("q", "dev1"), 200),
    ("POST", f"{V2}/policy", policy("r", "dev*"), 400),
    ("POST", f"{V2}/policy", policy("r", "dev?2"), 200),
    ("POST", f"{V2}/policy", policy("s", "prod"), 403),
    ("POST", f"{V2}/policy", policy("s", "*"), 403),
    ("POST", f"{V2}/policy", policy("s", "dev3", policyItems=[access("read", "write")]), 403),
    ("POST", f"{V2}/policy", policy("s", "dev3", denyPolicyItems=[access("write")]), 403),
    (
        "POST",
        f"{V2}/policy",
        policy("s", "dev3", additionalResources=[{"instance": {"values": ["cdap"]}, "namespace": {"values": ["x"]}}]),
        403,
    ),
    ("PUT", f"{V2}/service/cdapdev/policy/q", policy("q", "dev9"), 200),
    ("PUT", f"{V2}/service/cdapdev/policy/q", policy("q", "prod"), 403),
    ("PUT", f"{V2}/service/cdapdev/policy/others", policy("others", "dev8"), 403),
    ("GET", f"{V2}/service/cdapdev/policy/q", None, 200),
    ("GET", f"{V2}/service/cdapdev/policy/others", None, 403),
    ("DELETE", f"{V2}/policy?servicename=cdapdev&policyname=others", None, 403),
    ("DELETE", f"{V2}/policy?servicename=cdapdev&policyname=q", None, 204),
    ("POST", f"{V2}/service", {"name": "x", "type": "cdap"}, 403),
]


def test_a_delegated_administrator_changes_policies_within_what_was_delegated(cdapdev: Caller) -> None:
    delegated = policy("delegated", "dev*", policyItems=[access("read", delegateAdmin=True)])
    for body in (delegated, policy("others", "prod1")):
        assert cdapdev("POST", f"{V2}/policy", body)[0] == 200
    bob = cdapdev.as_user("bob")
    for method, path, body, status in DELEGATED:
        assert (method, path, body, bob(method, path, body)[0]) == (method, path, body, status)
    seen = [row["name"] for row in bob("GET", f"{V2}/service/cdapdev/policy")[1]]
    assert seen == ["delegated", "r"]
    assert cdapdev.as_user("alice")("GET", f"{V2}/service/cdapdev/policy") == (200, [])


@pytest.mark.parametrize("flag", ["mergeIfExists", "updateIfExists", "deleteIfExists"])
def test_a_flag_by_which_ranger_changes_another_policy_is_refused(cdapdev: Caller, flag: str) -> None:
    assert cdapdev("POST", f"{V2}/policy", policy("p"))[0] == 200
    before = cdapdev("GET", f"{V2}/service/cdapdev/policy")
    assert cdapdev("POST", f"{V2}/policy?{flag}=true", policy("p"))[0] == 400
    assert cdapdev("GET", f"{V2}/service/cdapdev/policy") == before
