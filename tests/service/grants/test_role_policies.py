"""What a role gives by policies, and which of them name it at all."""

from __future__ import annotations

import json

from ranger_cdap.engine import PolicyEngine, decode_service_policies, decode_service_tags
from ranger_cdap.service.grants.entity_grants import policies_naming
from ranger_cdap.service.grants.role_book import RoleBook
from tests.authz.fixtures import Json, document, policy

TAG_DEF = {"name": "tag", "resources": [{"name": "tag", "level": 1}], "accessTypes": [{"name": "cdap:read"}]}


def naming(item_list: str, role: str) -> Json:
    empty = policy(7, {"namespace": "ns1", "dataset": "kv"}, [], [])
    return empty | {"policyItems": [], item_list: [{"roles": [role], "accesses": [{"type": "read"}]}]}


def found(policies: list[Json], tag_policies: list[Json] | None = None) -> list[int | None]:
    whole = document(policies)
    if tag_policies is not None:
        whole["tagPolicies"] = {"serviceName": "tags", "policies": tag_policies, "serviceDef": TAG_DEF}
    tags = decode_service_tags(b'{"serviceName": "cdapdev"}') if tag_policies is not None else None
    engine = PolicyEngine.build(decode_service_policies(json.dumps(whole).encode()), tags=tags)
    return [one.id if one is not None else None for one in policies_naming(engine, "devs")]


def test_a_role_is_found_in_every_list_of_a_policy() -> None:
    for item_list in ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"):
        assert found([naming(item_list, "devs")]) == [7], item_list
        assert found([naming(item_list, "other")]) == [], item_list


def test_a_role_is_found_in_policies_of_tags() -> None:
    tagged = naming("policyItems", "devs") | {"resources": {"tag": {"values": ["PII"]}}}
    assert found([], [tagged]) == [7]


def test_an_unreadable_policy_may_name_any_role() -> None:
    assert found([naming("policyItems", "other") | {"denyPolicyItems": 7}]) == [None]


def test_roles_are_had_by_name_by_group_and_by_roles_at_any_depth_and_circles_end() -> None:
    roles = [
        {"name": "a", "users": [{"name": "bob"}], "roles": [{"name": "c"}]},
        {"name": "b", "groups": [{"name": "crew"}], "roles": [{"name": "a"}]},
        {"name": "c", "roles": [{"name": "b"}]},
        {"name": "d", "users": None},
    ]
    book = RoleBook.of(json.dumps({"rangerRoles": roles}).encode())
    assert book.of_user("bob", ()) == {"a", "b", "c"}
    assert book.of_user("dave", ("crew",)) == book.of_group("crew") == {"a", "b", "c"}
    assert book.of_user("ann", ("ops",)) == book.of_group("ops") == frozenset()
    assert (book.containing("a"), book.containing("d")) == (("b",), ())
    assert RoleBook.of(b'{"serviceName": "cdapdev"}').roles == {}
