"""AuthZEN 1.0 over a socket: the cases of its certification scenario, written anew, and what Ranger and CDAP add."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.service.http.limits import ServiceLimits
from tests.authz.fixtures import Json, policy
from tests.service.fixtures import Answer, World, serving
from tests.service.record_services import DATA, people, records, things

CDAP = [
    policy(1, {"namespace": "ns1"}, ["alice", "evaluate"], ["read", "write"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice", "evaluate"], ["read"]),
]
CDAP[0]["policyItems"].append({"groups": ["analysts"], "accesses": [{"type": "read"}]})
CDAP[1]["policyItems"].append({"groups": ["analysts"], "accesses": [{"type": "read"}]})

SCENARIO = json.loads((DATA / "authzen_scenario.json").read_bytes())
OTHERS = (records(), things())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(CDAP, tmp_path_factory.mktemp("authzen"), others=OTHERS, limits=ServiceLimits(batch=4)) as running:
        yield running


def post(world: World, path: str, body: Any, *, caller: str | None = "delegate", **headers: str) -> Answer:
    return world.ask(caller, "POST", f"/access/v1/{path}", body, **headers)


def asking(user: str, action: str, name: str, **more: Any) -> Json:
    kind, _, id_ = name.partition(":")
    return {
        "subject": {"type": "user", "id": user},
        "action": {"name": action},
        "resource": {"type": kind, "id": id_},
    } | more


READ_1 = asking("alice", "read", "record:record-1")


def refused(answer: Answer, status: int = 400) -> str:
    """The message of an error, which is a JSON string."""
    assert answer.status == status, answer.body
    message = answer.json
    assert isinstance(message, str)
    return message


@pytest.mark.parametrize("case", SCENARIO, ids=lambda case: case["case"])
def test_scenario(world: World, case: Json) -> None:
    answer = post(world, case["path"], case["request"])
    assert (answer.status, answer.headers["content-type"]) == (case.get("status", 200), "application/json"), answer.body
    if "decisions" in case and (case["path"] == "evaluation" or case.get("single")):
        assert [answer.json["decision"]] == case["decisions"]
        assert "evaluations" not in answer.json
    elif "decisions" in case:
        assert [item["decision"] for item in answer.json["evaluations"]] == case["decisions"]
        assert "decision" not in answer.json


@pytest.mark.parametrize("path", ["evaluation", "evaluations"])
@pytest.mark.parametrize("body", [b"", b"{", b'"alice"', b"[]", b"null", b"\xff", b"[" * 100_000])
def test_2_4_what_is_no_request(world: World, path: str, body: bytes) -> None:
    assert refused(post(world, path, body))


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_2_4_3_a_body_that_is_not_called_json(world: World, kind: str) -> None:
    assert "application/json" in refused(post(world, "evaluation", READ_1, Content_Type=kind))
    assert post(world, "evaluation", READ_1, Content_Type="application/json; charset=utf-8").status == 200


def test_2_5_the_name_of_the_request_comes_back(world: World) -> None:
    assert post(world, "evaluation", READ_1, X_Request_ID="bfe9eb29-ab87").headers["x-request-id"] == "bfe9eb29-ab87"
    assert post(world, "evaluation", READ_1).headers["x-request-id"]
    assert post(world, "evaluation", {}, X_Request_ID="wrong").headers["x-request-id"] == "wrong"


def test_2_6_the_same_again_is_decided_the_same(world: World) -> None:
    assert [post(world, "evaluation", READ_1).json["decision"] for _ in range(3)] == [True] * 3


def test_6_discovery(world: World) -> None:
    answer = world.ask("delegate", "GET", "/.well-known/authzen-configuration")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    base = world.url
    assert answer.json == {
        "policy_decision_point": base,
        "access_evaluation_endpoint": f"{base}/access/v1/evaluation",
        "access_evaluations_endpoint": f"{base}/access/v1/evaluations",
    }
    for name, url in answer.json.items():
        if name != "policy_decision_point":
            assert world.ask("delegate", "POST", url.removeprefix(base), {}).status == 400


# --- what Ranger says besides -------------------------------------------------------------------------------------


def test_a_decision_names_the_policy_and_is_audited_under_its_name(world: World) -> None:
    world.memory.records.clear()
    context = post(world, "evaluation", READ_1 | {"context": {"clientIpAddress": "10.1.2.3"}}).json["context"]
    (record,) = world.memory.records
    assert context == {"policy": {"id": 1, "version": 2}, "policy_version": 7, "decision_id": record.id}
    assert (record.repo, record.reqUser, record.resource, record.access, record.result, record.cliIP) == (
        "records", "alice", "record-1", "read", 1, "10.1.2.3",
    )  # fmt: skip


def test_where_there_is_nothing_to_decide_by_the_answer_is_no(world: World) -> None:
    answer = post(world, "evaluation", asking("alice", "use", "thing:t")).json
    assert (answer["decision"], answer["context"]["reason_admin"]) == (False, {"ranger": "not-determined"})


CONTEXTS = [
    ({"serviceName": "records"}, True),
    ({"serviceType": "record"}, True),
    ({"accessTime": 1_560_000_000_000}, True),
    ({"accessTime": 0}, True),
]


@pytest.mark.parametrize(("context", "allowed"), CONTEXTS)
def test_the_context_may_say_who_decides_and_when(world: World, context: Json, allowed: bool) -> None:
    assert post(world, "evaluation", READ_1 | {"context": context}).json["decision"] is allowed
    old = asking("alice", "read", "record:old", context=context)
    assert post(world, "evaluation", old).json["decision"] is (context.get("accessTime", 0) > 0)


REFUSALS = [
    ({"context": {"serviceName": "nope"}}, "AUTHZ-400-00-001: nope: service not found"),
    ({"context": {"serviceName": "things"}}, "AUTHZ-400-00-009: record: resource type not found"),
    ({"context": {"accessTime": "now"}}, "`context` is not a valid access context"),
    ({"resource": {"type": "spaceship", "id": "x"}}, "AUTHZ-400-00-009: spaceship: resource type not found"),
    ({"resource": {"type": "field", "id": "x"}}, "AUTHZ-400-00-017: "),
    ({"resource": {"type": "record", "id": " "}}, "`resource.id` is missing"),
    ({"action": {"name": ""}}, "`action.name` is missing"),
    ({"subject": {"type": "group", "id": "public"}}, "Ranger decides about subjects of the type `user`, not `group`"),
    ({"subject": {"type": "user", "id": "a", "properties": {"roles": ["keeper"]}}}, "`roles` cannot be sent"),
    ({"subject": {"type": "user", "id": "a", "properties": {"groups": "g"}}}, "`subject.properties.groups` must be"),
    ({"subject": {"type": "user", "id": "a", "properties": {"groups": [1]}}}, "`subject.properties.groups` must be"),
]


@pytest.mark.parametrize(("change", "message"), REFUSALS)
def test_a_request_that_can_not_be_answered_is_told_why(world: World, change: Json, message: str) -> None:
    world.memory.records.clear()
    assert refused(post(world, "evaluation", READ_1 | change)).startswith(message)
    (item,) = post(world, "evaluations", {"evaluations": [READ_1 | change]}).json["evaluations"]
    assert item["decision"] is False
    assert item["context"]["error"]["status"] == 400
    assert item["context"]["error"]["message"].startswith(message)
    assert world.memory.records == []


def test_a_batch_has_an_end(world: World) -> None:
    assert "more than 4" in refused(post(world, "evaluations", {"evaluations": [READ_1] * 5}))


# --- who may say what ---------------------------------------------------------------------------------------------


def me(action: str, name: str, properties: Json | None = None, **more: Any) -> Json:
    asked = asking("evaluate", action, name, **more)
    return asked | {"subject": asked["subject"] | ({"properties": properties} if properties else {})}


def with_properties(asked: Json, properties: Json) -> Json:
    return asked | {"resource": asked["resource"] | {"properties": properties}}


FORBIDDEN = [
    READ_1,
    me("read", "record:owned", {"groups": ["auditors"]}),
    me("read", "record:owned", {"roles": ["keeper"]}),
    me("write", "record:record-2", {"role": "admin"}),
    me("write", "record:record-2", context={"subject.role": "admin"}),
    me("read", "record:of-red", context={"place": "home", "token:TEAM": "red"}),
    with_properties(me("read", "record:owned"), {"OWNER": "evaluate"}),
    with_properties(me("read", "record:record-1"), {"status": "active"}),
    me("dataset.get", "dataset:cdap/ns1/kv", {"groups": ["analysts"]}),
    asking("alice", "dataset.get", "dataset:cdap/ns1/kv"),
]


@pytest.mark.parametrize("asked", FORBIDDEN)
def test_who_is_no_delegate_asks_about_himself_and_says_no_more(world: World, asked: Json) -> None:
    world.memory.records.clear()
    assert refused(post(world, "evaluation", asked, caller="evaluate"), 403) == "evaluate is not authorized"
    (item,) = post(world, "evaluations", {"evaluations": [asked]}, caller="evaluate").json["evaluations"]
    assert item == {
        "decision": False,
        "context": {"error": {"status": 403, "message": "evaluate is not authorized"}},
    }
    assert world.memory.records == []


OWN = [
    (me("read", "record:record-1"), True),
    (me("write", "record:record-1"), False),
    (me("read", "record:house", context={"place": "home"}), True),
    (me("dataset.get", "dataset:cdap/ns1/kv"), True),
]


@pytest.mark.parametrize(("asked", "allowed"), OWN)
def test_about_himself_everybody_may_ask(world: World, asked: Json, allowed: bool) -> None:
    assert post(world, "evaluation", asked, caller="evaluate").json["decision"] is allowed


def test_nothing_is_for_nobody(world: World) -> None:
    for path in ("evaluation", "evaluations"):
        assert refused(post(world, path, READ_1, caller="enforce"), 403) == "enforce is not authorized"
        assert refused(post(world, path, READ_1, caller=None), 401) == "Authentication required"
    assert world.ask(None, "GET", "/.well-known/authzen-configuration").status == 200


def test_without_policies_there_is_no_answer(tmp_path: Path) -> None:
    with serving([], tmp_path, others=[records()]) as world:
        world.becomes(Snapshot(None, PolicyState.NOT_READY, "Ranger Admin was never reached"))
        single, batch = post(world, "evaluation", READ_1), post(world, "evaluations", {"evaluations": [READ_1]})
        named = post(world, "evaluation", READ_1 | {"context": {"serviceName": "records"}})
    # Whether the first service has such resources is not known.
    assert "Ranger Admin was never reached" in refused(single, 503)
    assert refused(batch, 503)
    assert named.json["decision"] is True


def test_a_service_that_masks_data_is_not_decided_for(tmp_path: Path) -> None:
    with serving([], tmp_path, others=[people()]) as world:
        assert refused(post(world, "evaluation", asking("alice", "see", "person:eve")), 501)


# --- CDAP ---------------------------------------------------------------------------------------------------------

KV = "dataset:cdap/ns1/kv"
ANALYST = {"type": "user", "id": "dan", "properties": {"groups": ["analysts"]}}

OF_CDAP = [
    # what is asked; decision
    (asking("alice", "read", KV), True),
    (asking("alice", "write", KV), False),
    (asking("alice", "dataset.get", KV), True),
    (asking("eve", "dataset.get", KV), False),
    (asking("dan", "dataset.get", KV), False),
    (asking("dan", "dataset.get", KV) | {"subject": ANALYST}, True),
    (asking("alice", "read", "namespace:cdap/ns1"), True),
    (asking("alice", "namespace.get_preference", "namespace:cdap/ns1"), True),
    (asking("alice", "namespace.get", "namespace:cdap/ns1"), True),
    (asking("alice", "namespace.create", "namespace:cdap/ns1"), False),  # she has nothing on the instance
    (asking("alice", "dataset.delete", KV), False),
    # elsewhere a dot is a dot
    (asking("alice", "dataset.get", "record:record-1"), False),
]


@pytest.mark.parametrize(("asked", "allowed"), OF_CDAP)
def test_of_cdap_permissions_and_operations_are_decided(world: World, asked: Json, allowed: bool) -> None:
    answer = post(world, "evaluation", asked).json
    assert answer["decision"] is allowed
    assert answer["context"]["decision_id"]


def test_an_operation_is_decided_as_cdap_is_answered(world: World) -> None:
    world.memory.records.clear()
    context = {"clientIpAddress": "10.1.2.3"}
    answer = post(world, "evaluation", asking("eve", "dataset.get", KV, context=context)).json
    assert answer["context"]["reason_user"] == {
        "en": world.state.authorizer.check("eve", (), "dataset.get", entity_id("dataset", ("ns1", "kv"))).reason
    }
    assert ("dataset.get", "cdap/ns1/kv", "10.1.2.3") in {
        (record.access, record.resource, record.cliIP) for record in world.memory.records
    }


NO_OPERATIONS = [
    (asking("alice", "dataset.fly", KV), "profile `default` has no operation `dataset.fly`"),
    (asking("alice", "dataset.get", "namespace:cdap/ns1"), "`dataset.get`"),
    (
        asking("alice", "dataset.get", "dataset:other/ns1/kv"),
        "operations are decided for the entities of CDAP instance",
    ),
    (asking("alice", "dataset.get", "dataset:cdap/ns1/*"), "`*` is not a name that CDAP allows"),
    (
        asking("alice", "dataset.get", KV, context={"accessTime": 1}),
        "an operation of CDAP is decided for the current time",
    ),
    (
        with_properties(asking("alice", "dataset.get", KV), {"OWNER": "alice"}),
        "an operation of CDAP is decided for the current time",
    ),
]


@pytest.mark.parametrize(("asked", "message"), NO_OPERATIONS)
def test_what_is_no_operation_on_that_entity_is_refused(world: World, asked: Json, message: str) -> None:
    assert message in refused(post(world, "evaluation", asked))


def test_decisions_are_counted(world: World) -> None:
    before = world.ask(None, "GET", "/metrics").body
    post(world, "evaluations", {"evaluations": [READ_1, asking("bob", "write", "record:record-1"), {}]})
    after = world.ask(None, "GET", "/metrics").body
    for result in ("allowed", "denied"):
        assert _decisions(after, result) == _decisions(before, result) + 1


def _decisions(metrics: bytes, result: str) -> float:
    wanted = f'ranger_cdap_decisions_total{{interface="authzen",result="{result}"}} '
    return sum(float(line.removeprefix(wanted)) for line in metrics.decode().splitlines() if line.startswith(wanted))
