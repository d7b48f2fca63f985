"""Ranger's Policy Decision Point, over a socket: decisions, what a caller may say, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.service.http.limits import ServiceLimits
from tests.authz.fixtures import Json, policy
from tests.service.fixtures import Answer, World, serving
from tests.service.record_services import people, records, things

CDAP = [policy(1, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"])]
RECORDS = {"serviceName": "records"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(
        CDAP, tmp_path_factory.mktemp("pdp"), others=[records(), things(), people()], limits=ServiceLimits(batch=6)
    ) as running:
        yield running


def access(name: str, *permissions: str, action: str = "", **resource: Any) -> Json:
    return {"resource": {"name": name, **resource}, "permissions": permissions, "action": action}


def authorize(world: World, user: Any, what: Any, context: Any = RECORDS, *, caller: str = "delegate") -> Answer:
    said = {"name": user} if isinstance(user, str) else user
    return world.ask(caller, "POST", "/authz/v1/authorize", {"user": said, "access": what, "context": context})


def decision(answer: Answer) -> tuple[str, int]:
    assert answer.status == 200, answer.body
    (result,) = answer.json["permissions"].values()
    assert result["access"]["decision"] == answer.json["decision"]
    return answer.json["decision"], result["access"]["policy"]["id"]


ALICE, BOB, CAROL = "alice", "bob", "carol"
HOUSE = {"place": "home"}
AUDITOR = {"name": "dan", "groups": ["auditors"]}

DECISIONS = [
    # user, access, context; decision, policy
    (ALICE, access("record:record-1", "read"), {}, "ALLOW", 1),
    (BOB, access("record:record-1", "read"), {}, "ALLOW", 1),
    (BOB, access("record:record-1", "write"), {}, "DENY", -1),
    (BOB, access("field:record-1/name", "read"), {}, "ALLOW", 1),
    (BOB, access("field:record-1/secret", "read"), {}, "DENY", 3),
    (ALICE, access("record:record-1", "fly"), {}, "DENY", -1),
    (ALICE, access("record:record-1/more", "read"), {}, "DENY", -1),
    # the scope of a name: things below count, or not
    (CAROL, access("field:record-3/name", "read"), {}, "ALLOW", 4),
    (CAROL, access("record:record-3", "read"), {}, "DENY", -1),
    (CAROL, access("record:record-3", "read", nameMatchScope="SELF"), {}, "DENY", -1),
    (CAROL, access("record:record-3", "read", nameMatchScope="SELF_OR_ANY_DESCENDANT"), {}, "ALLOW", 4),
    (CAROL, access("record:record-3", "write", nameMatchScope="SELF_OR_ANY_DESCENDANT"), {}, "DENY", -1),
    # what a delegate says
    (AUDITOR, access("record:owned", "read"), {}, "ALLOW", 5),
    ("dan", access("record:owned", "read"), {}, "DENY", -1),
    ("dan", access("record:owned", "read", attributes={"OWNER": "dan"}), {}, "ALLOW", 5),
    ("dan", access("record:owned", "read", attributes={"OWNER": "eve"}), {}, "DENY", -1),
    (ALICE, access("record:record-2", "write", attributes={"status": "active"}), {}, "ALLOW", 2),
    (ALICE, access("record:record-2", "write", attributes={"status": "archived"}), {}, "DENY", -1),
    (ALICE, access("record:record-2", "write", attributes={"status": ["active"]}), {}, "DENY", -1),
    (ALICE, access("record:record-2", "write"), {}, "DENY", -1),
    ({"name": "eve", "attributes": {"role": "admin"}}, access("record:record-2", "write"), {}, "ALLOW", 2),
    # circumstances
    (ALICE, access("record:house", "read"), {"additionalInfo": HOUSE}, "ALLOW", 7),
    (ALICE, access("record:house", "read"), {"additionalInfo": {"place": "away"}}, "DENY", -1),
    (ALICE, access("record:house", "read"), {}, "DENY", -1),
    (ALICE, access("record:of-red", "read"), {"additionalInfo": HOUSE | {"token:TEAM": "red"}}, "ALLOW", 7),
    (ALICE, access("record:old", "read"), {"accessTime": 1_560_000_000_000}, "ALLOW", 6),
    (ALICE, access("record:old", "read"), {"accessTime": 1_760_000_000_000}, "DENY", -1),
    (ALICE, access("record:old", "read"), {"accessTime": 0}, "DENY", -1),
    (ALICE, access("record:old", "read"), {}, "DENY", -1),
    (ALICE, access("record:new", "read"), {"accessTime": 1_560_000_000_000}, "DENY", -1),
    (ALICE, access("record:new", "read"), {"accessTime": -1}, "ALLOW", 8),
    (ALICE, access("record:new", "read"), {"accessTime": None}, "ALLOW", 8),
    # services: the name counts; of a type the first; CDAP is one of them
    (ALICE, access("record:record-1", "read"), {"serviceName": "", "serviceType": "record"}, "ALLOW", 1),
    (ALICE, access("record:record-1", "read"), {"serviceType": "thing"}, "ALLOW", 1),
    (ALICE, access("dataset:cdap/ns1/kv", "read"), {"serviceName": "", "serviceType": "cdap"}, "ALLOW", 1),
    (ALICE, access("dataset:cdap/ns1/kv", "write"), {"serviceName": "", "serviceType": "cdap"}, "DENY", -1),
    (ALICE, access("dataset:cdap/ns2/kv", "read"), {"serviceName": "", "serviceType": "cdap"}, "DENY", -1),
    # nothing to decide by
    (ALICE, access("thing:t", "use"), {"serviceName": "things"}, "NOT_DETERMINED", -1),
]  # fmt: skip


@pytest.mark.parametrize(("user", "what", "context", "verdict", "by"), DECISIONS)
def test_decisions(world: World, user: Any, what: Json, context: Json, verdict: str, by: int) -> None:
    assert decision(authorize(world, user, what, RECORDS | context)) == (verdict, by)


def test_an_answer_holds_nothing_empty(world: World) -> None:
    body = {"requestId": "q1", "user": {"name": "bob"}, "access": access("record:record-1", "read", "write"), "new": 1}
    answer = world.ask("delegate", "POST", "/authz/v1/authorize", body | {"context": RECORDS}, X_Request_Id="r-17")
    assert answer.headers["x-request-id"] == "r-17"
    assert answer.json == {
        "requestId": "q1",
        "decision": "DENY",
        "permissions": {
            "read": {"permission": "read", "access": {"decision": "ALLOW", "policy": {"id": 1, "version": 2}}},
            "write": {"permission": "write", "access": {"decision": "DENY", "policy": {"id": -1}}},
        },
    }


SUB_RESOURCES = [
    # user, fields, permissions; by permission: decision, policy, and that of each field
    ("bob", ["name"], ["read"], {"read": ("ALLOW", 1, ["ALLOW"])}),
    ("bob", ["name", "secret"], ["read"], {"read": ("DENY", 3, ["ALLOW", "DENY"])}),
    ("bob", ["secret", "name"], ["read"], {"read": ("DENY", 3, ["DENY", "ALLOW"])}),
    (
        "alice", ["name", "secret"], ["read", "write"],
        {"read": ("ALLOW", 1, ["ALLOW", "ALLOW"]), "write": ("ALLOW", 1, ["ALLOW", "ALLOW"])},
    ),
    (
        "bob", ["secret", "name"], ["write", "read"],
        {"write": ("DENY", -1, ["DENY", "DENY"]), "read": ("DENY", 3, ["DENY", "ALLOW"])},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("user", "fields", "permissions", "expected"), SUB_RESOURCES)
def test_on_a_resource_with_sub_resources_those_decide(
    world: World, user: str, fields: list[str], permissions: list[str], expected: dict[str, Any]
) -> None:
    names = [f"field:{field}" for field in fields]
    answer = authorize(world, user, access("record:record-1", *permissions, subResources=names)).json
    assert {
        permission: (
            result["access"]["decision"],
            result["access"]["policy"]["id"],
            [result["subResources"][name]["access"]["decision"] for name in names],
        )
        for permission, result in answer["permissions"].items()
    } == expected
    assert answer["decision"] == ("DENY" if any(row[0] == "DENY" for row in expected.values()) else "ALLOW")


READ_1, WRITE_1, SECRET = (
    access("record:record-1", "read"),
    access("record:record-1", "write"),
    access("field:record-1/secret", "read"),
)

MULTI = [
    ("bob", [READ_1, READ_1], "ALLOW", ["ALLOW", "ALLOW"]),
    ("bob", [READ_1, WRITE_1], "PARTIAL", ["ALLOW", "DENY"]),
    ("bob", [WRITE_1, SECRET], "DENY", ["DENY", "DENY"]),
    ("alice", [READ_1, access("record:record-1", "read", "delete"), SECRET], "PARTIAL", ["ALLOW", "DENY", "ALLOW"]),
]


@pytest.mark.parametrize(("user", "accesses", "verdict", "each"), MULTI)
def test_several_accesses_have_one_decision_if_they_share_it(
    world: World, user: str, accesses: list[Json], verdict: str, each: list[str]
) -> None:
    body = {"requestId": "q", "user": {"name": user}, "accesses": accesses, "context": RECORDS}
    answer = world.ask("delegate", "POST", "/authz/v1/authorizeMulti", body).json
    assert (answer["requestId"], answer["decision"]) == ("q", verdict)
    assert [result["decision"] for result in answer["accesses"]] == each
    assert not any("requestId" in result for result in answer["accesses"])


# --- who may say what ---------------------------------------------------------------------------------------------

ME = {"name": "evaluate"}
FORBIDDEN = [
    ({"name": "alice"}, READ_1, {}),
    ({"name": "Evaluate"}, READ_1, {}),
    (ME | {"groups": ["auditors"]}, READ_1, {}),
    (ME | {"roles": ["keeper"]}, READ_1, {}),
    (ME | {"attributes": {"role": "admin"}}, READ_1, {}),
    (ME, access("record:record-1", "read", attributes={"OWNER": "evaluate"}), {}),
    (ME, access("record:record-1", "read", attributes={"status": "active"}), {}),
    (ME, access("record:of-red", "read"), {"additionalInfo": HOUSE | {"token:TEAM": "red"}}),
    (ME, access("record:record-2", "write"), {"additionalInfo": {"subject.role": "admin"}}),
    (ME, access("record:record-2", "write"), {"additionalInfo": {"resource.status": "active"}}),
]


@pytest.mark.parametrize(("user", "what", "context"), FORBIDDEN)
def test_who_is_no_delegate_asks_about_himself_and_says_no_more(
    world: World, user: Json, what: Json, context: Json
) -> None:
    answer = authorize(world, user, what, RECORDS | context, caller="evaluate")
    assert (answer.status, answer.json) == (403, {"code": "FORBIDDEN", "message": "evaluate is not authorized"})
    body = {"user": user, "accesses": [READ_1, what], "context": RECORDS | context}
    assert world.ask("evaluate", "POST", "/authz/v1/authorizeMulti", body).status == 403


def test_about_himself_everybody_may_ask(world: World) -> None:
    assert decision(authorize(world, ME, READ_1, caller="evaluate")) == ("ALLOW", 1)
    assert decision(authorize(world, ME, WRITE_1, caller="evaluate")) == ("DENY", -1)
    empty = ME | {"groups": [], "roles": [], "attributes": {}}
    house = RECORDS | {"additionalInfo": HOUSE}
    assert decision(authorize(world, empty, access("record:house", "read"), house, caller="evaluate")) == ("ALLOW", 7)


def test_nobody_says_which_roles_somebody_has(world: World) -> None:
    answer = authorize(world, {"name": "dan", "roles": ["keeper"]}, access("record:owned", "read"))
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST")
    assert "Ranger's role definitions" in answer.json["message"]


def test_nobody_unknown_gets_an_answer(world: World) -> None:
    answer = world.ask(None, "POST", "/authz/v1/authorize", {})
    assert (answer.status, answer.json) == (401, {"code": "UNAUTHORIZED", "message": "Authentication required"})


# --- what is refused ----------------------------------------------------------------------------------------------


def refused(world: World, body: Any, path: str = "authorize") -> str:
    answer = world.ask("delegate", "POST", f"/authz/v1/{path}", body)
    assert (answer.status, answer.json["code"]) == (400, "BAD_REQUEST"), answer.body
    message: str = answer.json["message"]
    return message


WHOLE = {"user": {"name": "alice"}, "access": READ_1, "context": RECORDS}
SCOPES = "SELF, SELF_OR_ANY_DESCENDANT"
REFUSALS = [
    ({"user": None}, "missing user info"),
    ({"user": {"name": " "}}, "missing user info"),
    ({"access": None}, "AUTHZ-400-00-004: missing access info"),
    ({"access": {"permissions": ["read"]}}, "AUTHZ-400-00-005: missing resource info"),
    ({"access": access("", "read")}, "AUTHZ-400-00-006: missing resource name"),
    (
        {"access": access("record:r", "read", subResources=["field:f"], nameMatchScope="SELF_OR_ANY_DESCENDANT")},
        "AUTHZ-400-00-007: invalid name match scope SELF_OR_ANY_DESCENDANT. "
        "For resource with sub-resources, valid scopes are [SELF]",
    ),
    (
        {"access": access("record:r", "read", nameMatchScope="SELF_OR_ANY_CHILD")},
        f"AUTHZ-400-00-007: invalid name match scope SELF_OR_ANY_CHILD. For a resource, valid scopes are [{SCOPES}]",
    ),
    ({"context": None}, "AUTHZ-400-00-008: missing access context"),
    ({"access": access("tree:oak", "read")}, "AUTHZ-400-00-009: tree: resource type not found"),
    ({"access": access("record-1", "read")}, "AUTHZ-400-00-009: record-1: resource type not found"),
    (
        {"access": access("record:r", "read", subResources=["record:s"])},
        "AUTHZ-400-00-010: s: invalid resource value for type record",
    ),
    ({"access": access("record:r", "read", "")}, "AUTHZ-400-00-011: : permission not found"),
    ({"access": access("record:r")}, "AUTHZ-400-00-012: permissions is empty. Nothing to authorize"),
    ({"context": {}}, "AUTHZ-400-00-013: service name or service type is mandatory"),
    ({"context": {"serviceName": "nope"}}, "AUTHZ-400-00-001: nope: service not found"),
    ({"access": access("record:", "read")}, "AUTHZ-400-00-016: invalid resource - empty"),
    (
        {"access": access("field:record-1", "read")},
        'AUTHZ-400-00-017: invalid resource "record-1" - does not match template "record/field"',
    ),
    (
        {"access": access("record:r", *(f"p{n}" for n in range(7)))},
        "the request needs more than 6 decisions",
    ),
    (
        {"access": access("record:r", "a", "b", subResources=[f"field:{n}" for n in range(4)])},
        "the request needs more than 6 decisions",
    ),
    (
        {"access": access("record:owned", "read", attributes={"OWNER": 7})},
        "the attribute `OWNER` must be the name of a user",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS)
def test_a_request_that_can_not_be_answered_is_told_why(world: World, change: Json, message: str) -> None:
    world.memory.records.clear()
    assert refused(world, WHOLE | change) == message
    assert world.memory.records == []


@pytest.mark.parametrize("accesses", [None, []])
def test_no_access_is_no_question(world: World, accesses: Any) -> None:
    body = {"user": {"name": "alice"}, "accesses": accesses, "context": RECORDS}
    assert refused(world, body, "authorizeMulti") == "AUTHZ-400-00-004: missing access info"


def test_one_wrong_access_of_several_decides_nothing(world: World) -> None:
    world.memory.records.clear()
    body = {"user": {"name": "alice"}, "accesses": [READ_1, access("tree:oak", "read")], "context": RECORDS}
    assert refused(world, body, "authorizeMulti") == "AUTHZ-400-00-009: tree: resource type not found"
    assert world.memory.records == []


GARBAGE = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"\xff",
    b'{"user": 1}',
    b'{"user": {"name": ["alice"]}}',
    b'{"context": {"accessTime": "now"}}',
    b'{"context": {"accessTime": 1.5}}',
    b'{"context": {"accessTime": 99999999999999999}}',
    b'{"access": {"permissions": "read"}}',
    b'{"access": {"permissions": [null]}}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_is_a_bad_request(world: World, body: bytes) -> None:
    for path in ("authorize", "authorizeMulti", "permissions"):
        refused(world, body, path)


def test_without_policies_there_is_no_answer(tmp_path: Path) -> None:
    with serving([], tmp_path, others=[records()]) as world:
        world.becomes(Snapshot(None, PolicyState.NOT_READY, "Ranger Admin was never reached"))
        of_cdap = authorize(world, "alice", READ_1, {"serviceName": next(iter(world.state.services))})
        by_type = authorize(world, "alice", READ_1, {"serviceType": "record"})
        of_records = authorize(world, "alice", READ_1)
    assert (of_cdap.status, of_cdap.json["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "Ranger Admin was never reached" in of_cdap.json["message"]
    # Of which type the first service is, is not known, so the second may not be the first of that type.
    assert by_type.status == 503
    assert decision(of_records) == ("ALLOW", 1)


def test_a_service_that_masks_data_is_not_decided_for(world: World, tmp_path: Path) -> None:
    person = access("person:eve", "see")
    answer = authorize(world, "alice", person, {"serviceName": "people"})
    assert (answer.status, answer.json["code"]) == (501, "NOT_IMPLEMENTED")
    with serving([], tmp_path, others=[people(), records()]) as other:
        assert decision(authorize(other, "alice", READ_1, {"serviceType": "record"})) == ("ALLOW", 1)
        assert authorize(other, "alice", person, {"serviceType": "person"}).status == 501
    with serving([], tmp_path, others=[people(masks=False)]) as other:
        assert decision(authorize(other, "alice", person, {"serviceName": "people"})) == ("ALLOW", 1)


# --- audit and figures --------------------------------------------------------------------------------------------


def test_each_decision_is_audited_and_counted(world: World) -> None:
    world.memory.records.clear()
    before = _counted(world)
    what = access("record:record-1", "read", "write", action="SHOW", subResources=["field:name", "field:secret"])
    authorize(world, "bob", what, RECORDS | {"clientIpAddress": "10.1.2.3", "accessTime": 1})
    assert [
        (r.repo, r.repoType, r.reqUser, r.access, r.action, r.resType, r.resource, r.result, r.policy, r.cliIP)
        for r in world.memory.records
    ] == [
        ("records", 900, "bob", "SHOW", "read", "field", "record-1/name", 1, 1, "10.1.2.3"),
        ("records", 900, "bob", "SHOW", "read", "field", "record-1/secret", 0, 3, "10.1.2.3"),
        ("records", 900, "bob", "SHOW", "write", "field", "record-1/name", 0, -1, "10.1.2.3"),
        ("records", 900, "bob", "SHOW", "write", "field", "record-1/secret", 0, -1, "10.1.2.3"),
    ]
    # When it happened, nobody else says.
    assert all(r.evtTime > 1 for r in world.memory.records)
    assert _counted(world) == before + 1


def _counted(world: World) -> float:
    wanted = 'ranger_cdap_decisions_total{interface="pdp",result="denied"} '
    lines = world.ask(None, "GET", "/metrics").body.decode().splitlines()
    return sum(float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted))
