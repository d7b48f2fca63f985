"""Roles made and assigned by CDAP's own commands, in a CDAP whose grants and roles go to Ranger."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from apache_ranger.utils import API, HttpMethod, HTTPStatus

from ranger_cdap.testing import EmbeddedRanger
from tests.cdap_master.fixtures import World, bridge_world, wait_until
from tests.cdap_master.in_memory_cdap import missing_part

AUTHORIZATION = "/v3/security/authorization"
ROLE = f"{AUTHORIZATION}/roles/analysts"
NAMESPACE = "/v3/namespaces/default"
PRIVILEGE: dict[str, Any] = {
    "authorizable": {"entityType": "NAMESPACE", "entityParts": {"NAMESPACE": "default"}},
    "principal": {"name": "analysts", "type": "ROLE"},
    "permissions": [{"type": "STANDARD", "name": "GET"}],
}


@pytest.fixture(scope="module")
def role_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """rose administers the instance and the namespace, and may delegate there; gus is in the group crew."""
    if sentence := missing_part():
        pytest.skip(sentence)
    with bridge_world(tmp_path_factory.mktemp("roles")) as made:
        made.people(
            {"rose": ["ADMIN instance:", "ADMIN namespace:default", "READ namespace:default"], "gus": [], "una": []}
        )
        delegates(made.ranger, "rose")
        in_group(made.ranger, "gus", "crew")
        made.refresh()
        yield made


def delegates(ranger: EmbeddedRanger, user: str) -> None:
    for policy in ranger.admin.list_policies(ranger.service):
        items = [item for item in policy.policy_items if user in item.users and "namespace" in policy.resources]
        for item in items:
            item.delegate_admin = True
        if items:
            ranger.admin.update_policy(policy)


def in_group(ranger: EmbeddedRanger, user: str, group: str) -> None:
    http = ranger.admin._http
    http.fetch(API("service/xusers/secure/groups", HttpMethod.POST, HTTPStatus.OK), body={"name": group})
    found = http.call_api(API(f"service/xusers/users/userName/{user}", HttpMethod.GET, HTTPStatus.OK))
    member = {"name": group, "userId": found["id"]}
    http.fetch(API("service/xusers/groupusers", HttpMethod.POST, HTTPStatus.OK), body=member)


def test_a_role_from_its_creation_to_its_end(role_world: World) -> None:
    rose, gus, una = map(role_world.user, ("rose", "gus", "una"))

    denied = gus.ask(f"PUT {ROLE}")
    assert (denied.status_code, "gus needs ADMIN on the instance" in denied.text) == (403, True)
    rose.must(f"PUT {ROLE}")
    again = rose.ask(f"PUT {ROLE}")
    assert (again.status_code, "role analysts already exists" in again.text) == (409, True)
    missing = rose.ask(f"DELETE {AUTHORIZATION}/roles/nosuch")
    assert (missing.status_code, "there is no role nosuch" in missing.text) == (404, True)

    assert gus.ask(f"GET {NAMESPACE}").status_code == 403
    rose.must(f"PUT {AUTHORIZATION}/group/crew/roles/analysts")
    rose.must(f"POST {AUTHORIZATION}/privileges/grant", PRIVILEGE)
    assert (gus.ask(f"GET {NAMESPACE}").status_code, una.ask(f"GET {NAMESPACE}").status_code) == (200, 403)

    assert [role["name"] for role in rose.must(f"GET {AUTHORIZATION}/roles").json()] == ["analysts"]
    assert [role["name"] for role in gus.must(f"GET {AUTHORIZATION}/user/gus/roles").json()] == ["analysts"]
    others = una.ask(f"GET {AUTHORIZATION}/user/gus/roles")
    assert (others.status_code, "only una's own roles are shown" in others.text) == (403, True)
    (listed,) = gus.must(f"GET {AUTHORIZATION}/role/analysts/privileges").json()
    assert listed["authorizable"]["entityParts"] == {"NAMESPACE": "default"}

    used = rose.ask(f"DELETE {ROLE}")
    assert (used.status_code, "role analysts is used by policy" in used.text) == (403, True)
    rose.must(f"POST {AUTHORIZATION}/privileges/revoke", PRIVILEGE)
    wait_until(lambda: gus.ask(f"GET {NAMESPACE}").status_code == 403, "the extension forgets what was allowed")
    rose.must(f"DELETE {AUTHORIZATION}/group/crew/roles/analysts")
    rose.must(f"DELETE {ROLE}")
    assert rose.must(f"GET {AUTHORIZATION}/roles").json() == []
