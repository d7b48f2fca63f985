"""Subjects that a search evaluates: every one that policies, roles or the user store name."""

from __future__ import annotations

from random import Random

import msgspec

from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.questions.permitted_subjects import StoredUsers, known_groups, known_roles, known_users
from tests.analysis.small_sets import Json, definition, engine, numbered, tagged


def store(**groups: list[str]) -> Documents:
    users = {"userGroupMapping": groups, "userAttrMapping": {"without_groups": {}}}
    return Documents(b"{}", b"{}", users=msgspec.json.encode(users))


def naming(**item: object) -> Json:
    return {"resources": {"base": {"values": ["a"]}}, "policyItems": [item | {"accesses": [{"type": "read"}]}]}


POLICIES = [
    naming(users=["alice", "{USER}", "{OWNER}"], groups=["staff", "public"]),
    naming(roles=["keeper"]) | {"isEnabled": False},
    naming(roles=["reader"]),
    {"resources": {"base": {"values": ["b"]}}, "denyPolicyItems": naming(users=["denied"])["policyItems"]},
]
ROLES = [
    {"name": "reader", "users": [{"name": "rita"}], "groups": [{"name": "readers"}], "roles": [{"name": "inner"}]},
    {"name": "unused", "users": [{"name": "ulf"}], "groups": [], "roles": []},
]
IN_A_ZONE = {"zoneName": "z", "resources": [{"base": ["z*"]}], "policies": numbered([naming(users=["zoe"])], 50)}
DOWNLOAD = {
    "serviceName": "s",
    "serviceDef": definition(False),
    "policies": numbered(POLICIES),
    "securityZones": {"z": IN_A_ZONE},
    "serviceConfig": {"ranger.plugin.super.users": "root", "ranger.plugin.super.groups": "wheel"},
}


def test_users_of_policies_zones_roles_super_users_and_the_store_are_known() -> None:
    judge = engine({"policies": DOWNLOAD, "roles": {"serviceName": "s", "rangerRoles": ROLES}})
    stored = StoredUsers().of(store(bob=["staff"], alice=[]))
    known = known_users(judge, stored, ("here", ""))
    assert known == ["alice", "bob", "denied", "here", "rita", "root", "ulf", "without_groups", "zoe"]
    assert known_groups(judge) == ["public", "readers", "staff", "wheel"]
    assert known_roles(judge) == ["inner", "reader", "unused"]


def test_users_of_tag_policies_are_known() -> None:
    policies, tags = tagged(Random(3), frozenset())
    policies["policies"] = numbered([{**naming(users=["tagger"]), "resources": {"tag": {"values": ["T"]}}}], 1000)
    download = DOWNLOAD | {"tagPolicies": policies}
    judge = engine({"policies": download, "roles": {"serviceName": "s", "rangerRoles": []}, "tags": tags})
    assert "tagger" in known_users(judge, frozenset())


def test_each_user_store_is_read_and_none_is_no_users() -> None:
    reader = StoredUsers()
    assert reader.of(None) == reader.of(Documents(b"{}", b"{}")) == frozenset()
    first, second = store(bob=[]), store(eve=[])
    for documents, name in ((first, "bob"), (first, "bob"), (second, "eve"), (first, "bob")):
        assert reader.of(documents) == {name, "without_groups"}
