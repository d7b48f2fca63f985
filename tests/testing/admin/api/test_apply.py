"""`apply`, the upserts of `POST policy`, and delegated administrators, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.admin.caller import V2, Caller, policy

APPLY = f"{V2}/policy/apply"


def access(*types: str, users: tuple[str, ...] = ("bob",), **more: Any) -> dict[str, Any]:
    return {"users": list(users), "accesses": [{"type": name, "isAllowed": True} for name in types], **more}


def stored(admin: Caller, name: str) -> dict[str, Any]:
    status, answer = admin("GET", f"{V2}/service/cdapdev/policy/{name}")
    assert status == 200
    return dict(answer)


UPSERTS = [
    # path, its id is the old one's, its name is the sent one's, users after it
    (APPLY, True, False, {"alice", "bob"}),
    (f"{APPLY}?mergeIfExists=false", True, True, {"bob"}),
    (f"{V2}/policy?mergeIfExists=true", True, False, {"alice", "bob"}),
    (f"{V2}/policy?updateIfExists=true", True, True, {"bob"}),
    (f"{V2}/policy?mergeIfExists=true&updateIfExists=true", True, False, {"alice", "bob"}),
    (f"{V2}/policy?deleteIfExists=true", False, True, {"bob"}),
]


@pytest.mark.parametrize(("path", "same_id", "sent_name", "users"), UPSERTS)
def test_an_upsert_finds_the_policy_of_the_same_resources(
    cdapdev: Caller, path: str, same_id: bool, sent_name: bool, users: set[str]
) -> None:
    _, old = cdapdev("POST", f"{V2}/policy", policy("old"))
    status, new = cdapdev("POST", path, policy("new", policyItems=[access("write")]))
    assert status == 200
    assert (new["id"] == old["id"], new["name"] == "new") == (same_id, sent_name)
    assert {user for item in new["policyItems"] for user in item["users"]} == users
    assert len(cdapdev("GET", f"{V2}/service/cdapdev/policy")[1]) == 1


def test_without_one_it_is_made_and_a_taken_name_gets_the_time_behind_it(cdapdev: Caller) -> None:
    first = cdapdev("POST", APPLY, policy("p", "ns1"))[1]
    second = cdapdev("POST", APPLY, policy("p", "ns2"))[1]
    assert first["name"] == "p"
    assert second["name"].removeprefix("p").isdigit()


def test_an_upsert_by_name_is_a_plain_create(cdapdev: Caller) -> None:
    cdapdev("POST", f"{V2}/policy", policy("p"))
    status, answer = cdapdev(
        "POST", f"{V2}/policy?updateIfExists=true&policyMatchingAlgorithm=matchByName", policy("p")
    )
    assert (status, "error code[3006]" in answer["msgDesc"]) == (400, True)


def test_what_apply_denies_is_no_longer_allowed_and_the_other_way_round(cdapdev: Caller) -> None:
    cdapdev("POST", f"{V2}/policy", policy("p", policyItems=[access("read", "write", users=("alice", "bob"))]))
    cdapdev("POST", APPLY, policy("p", policyItems=[], denyPolicyItems=[access("read")]))
    denied = stored(cdapdev, "p")
    assert denied["policyItems"] == [
        access("read", "write", users=("alice",), delegateAdmin=False),
        access("write", delegateAdmin=False),
    ]
    assert denied["denyPolicyItems"] == [access("read", delegateAdmin=False)]
    cdapdev("POST", APPLY, policy("p", policyItems=[access("read")]))
    allowed = stored(cdapdev, "p")
    assert "denyPolicyItems" not in allowed
    assert "allowExceptions" not in allowed


# Delegated administrators

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
    ("POST", APPLY, policy("q", "dev1", user="bob"), 200),
    ("POST", APPLY, policy("other", "prod1", user="bob"), 403),
    ("PUT", f"{V2}/service/cdapdev/policy/q", policy("q", "dev9"), 200),
    ("PUT", f"{V2}/service/cdapdev/policy/q", policy("q", "prod"), 403),
    ("PUT", f"{V2}/service/cdapdev/policy/others", policy("others", "dev8"), 403),
    ("GET", f"{V2}/service/cdapdev/policy/q", None, 200),
    ("GET", f"{V2}/service/cdapdev/policy/others", None, 403),
    ("DELETE", f"{V2}/policy?servicename=cdapdev&policyname=others", None, 403),
    ("DELETE", f"{V2}/policy?servicename=cdapdev&policyname=q", None, 204),
    ("POST", f"{V2}/policy?deleteIfExists=true", policy("t", "prod1"), 403),
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
