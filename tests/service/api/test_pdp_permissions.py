"""Ranger's PDP interface: the permissions of a resource."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ranger_cdap.service.http.limits import ServiceLimits
from tests.authz.fixtures import Json, policy
from tests.service.fixtures import World, serving
from tests.service.record_services import people, records, things

CDAP = [policy(1, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"])]
RECORDS = {"serviceName": "records"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(
        CDAP, tmp_path_factory.mktemp("pdp"), others=[records(), things(), people()], limits=ServiceLimits(batch=6)
    ) as running:
        yield running


def entry(permission: str, verdict: str, by: int) -> Json:
    return {"permission": permission, "access": {"decision": verdict, "policy": {"id": by}}}


def refused(world: World, body: Json) -> str:
    answer = world.ask("delegate", "POST", "/authz/v1/permissions", body)
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST"), answer.body
    message: str = answer.json["message"]
    return message


def test_permissions_of_a_resource(world: World) -> None:
    world.memory.records.clear()
    body = {"resource": {"name": "record:record-1"}, "context": RECORDS}
    answer = world.ask("delegate", "POST", "/authz/v1/permissions", body)
    assert (answer.status, answer.json) == (
        200,
        {
            "resource": {"name": "record:record-1"},
            "users": {
                "alice": {
                    "read": entry("read", "ALLOW", 1),
                    "write": entry("write", "ALLOW", 1),
                    "delete": entry("delete", "DENY", 1),  # under a condition only
                },
                "bob": {"read": entry("read", "ALLOW", 1)},
                "evaluate": {"read": entry("read", "ALLOW", 1)},
            },
        },
    )
    assert world.memory.records == []


def test_permissions_name_groups_roles_and_the_owner(world: World) -> None:
    body = {"resource": {"name": "record:owned", "attributes": {"OWNER": "dan"}}, "context": RECORDS}
    answer = world.ask("delegate", "POST", "/authz/v1/permissions", body).json
    expected = {"read": entry("read", "ALLOW", 5)}
    assert (answer["users"], answer["groups"], answer["roles"]) == (
        {"dan": expected},
        {"auditors": expected},
        {"keeper": expected},
    )


def test_permissions_are_for_delegates(world: World) -> None:
    body = {"resource": {"name": "record:record-1"}, "context": RECORDS}
    answer = world.ask("evaluate", "POST", "/authz/v1/permissions", body)
    assert (answer.status, answer.json["message"]) == (403, "evaluate is not authorized")


def test_permissions_look_at_one_resource(world: World) -> None:
    body = {"resource": {"name": "record:record-1", "subResources": ["field:secret"]}, "context": RECORDS}
    assert refused(world, body).startswith("`permissions` takes one resource")
    scope = {"resource": {"name": "record:record-1", "nameMatchScope": "ALL"}, "context": RECORDS}
    assert refused(world, scope).startswith("AUTHZ-400-00-007")
    assert refused(world, {"context": RECORDS}) == "AUTHZ-400-00-005: missing resource info"
