"""What CDAP's extension asks the decision service, over a socket."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.service.http.limits import ServiceLimits
from tests.authz.fixtures import Json, engine, policy
from tests.service.fixtures import World, serving

GET, UPDATE, CREATE = "STANDARD.GET", "STANDARD.UPDATE", "STANDARD.CREATE"
KV = ("DATASET", "ns1", "kv")
NS1 = ("NAMESPACE", "ns1")
KEY = ("SECUREKEY", "ns1", "key")
SET_PREFERENCES = "PreferencesHttpHandler.setNamespacePrefs"


def entity(kind: str, *parts: str) -> Json:
    return {"type": kind, "parts": list(parts)}


def enforce(world: World, user: str, about: tuple[str, ...], *permissions: str, **more: Any) -> Any:
    principal = {"name": user, "type": more.pop("type", "USER")}
    body = {"principal": principal, "entity": entity(*about), "permissions": permissions, **more}
    answer = world.ask("enforce", "POST", "/cdap/v1/enforce", body)
    assert answer.status == 200, answer.body
    return answer.json


CASES = [
    # who, on what, permissions, more; allowed?, reason
    ("alice", KV, [GET], {}, True, ""),
    ("alice", KV, [GET, UPDATE], {"from_container": True}, True, ""),
    ("bob", NS1, [GET], {}, True, ""),  # he sees it, for he has something below
    ("bob", NS1, [UPDATE], {"hint": SET_PREFERENCES}, False, "bob needs WRITE on namespace:ns1"),
    ("bob", KV, [GET], {}, True, ""),
    ("eve", KV, [GET], {}, False, "eve needs READ on dataset:ns1.kv"),
    ("eve", KEY, [GET], {}, False, "eve needs READ on secure_key:ns1.key; eve needs READ on namespace:ns1"),
    ("alice", NS1, [CREATE], {"child_type": "DATASET"}, True, ""),
    ("alice", KV, [GET], {"type": "GROUP"}, False, "CDAP sent a group; only users have privileges"),
    ("", KV, [GET], {}, False, "CDAP named no user"),
    ("alice", ("DATASET", "ns1", "*"), [GET], {}, False, None),
    ("alice", ("DATASET", "ns1"), [GET], {}, False, None),
    ("alice", KV, ["nonsense"], {}, False, "`nonsense` is not a permission of CDAP; write it like `STANDARD.GET`"),
]  # fmt: skip


@pytest.mark.parametrize(("user", "about", "permissions", "more", "allowed", "reason"), CASES)
def test_enforce(
    world: World,
    user: str,
    about: tuple[str, ...],
    permissions: list[str],
    more: Json,
    allowed: bool,
    reason: str | None,
) -> None:
    answer = enforce(world, user, about, *permissions, **more)
    assert answer["allowed"] is allowed
    assert reason is None or answer["reason"] == reason
    assert bool(answer["reason"]) is not allowed


def test_a_denial_names_what_is_missing(world: World) -> None:
    assert enforce(world, "eve", KEY, GET)["missing"] == ["READ on secure_key:ns1.key", "READ on namespace:ns1"]


def test_each_check_is_audited_with_the_users_address(world: World) -> None:
    world.memory.records.clear()
    enforce(world, "alice", KV, UPDATE, from_container=True, client_ip="10.1.2.3")
    assert {(r.reqUser, r.resource, r.result, r.cliIP) for r in world.memory.records} >= {
        ("alice", "cdap/ns1/kv", 1, "10.1.2.3")
    }


def test_visible_answers_for_each_entity_in_order_and_audits_nothing(world: World) -> None:
    world.memory.records.clear()
    entities = [entity(*NS1), entity("NAMESPACE", "ns2"), entity(*KV), entity("DATASET", "ns1"), entity(*KV)]
    body = {"principal": {"name": "bob"}, "entities": entities}
    answer = world.ask("enforce", "POST", "/cdap/v1/visible", body).json
    # By 003 a namespace is listed by a privilege on it, and bob has one on a dataset.
    assert answer["visible"] == [False, False, True, False, True]
    assert world.memory.records == []


def test_nobody_but_a_user_sees_anything(world: World) -> None:
    body = {"principal": {"name": "alice", "type": "ROLE"}, "entities": [entity(*NS1)]}
    assert world.ask("enforce", "POST", "/cdap/v1/visible", body).json["visible"] == [False]


def test_more_entities_than_allowed_are_refused(tmp_path: Path) -> None:
    with serving([], tmp_path, limits=ServiceLimits(batch=2)) as world:
        body = {"principal": {"name": "bob"}, "entities": [entity(*NS1)] * 3}
        answer = world.ask("enforce", "POST", "/cdap/v1/visible", body)
    assert (answer.status, answer.json["message"]) == (400, "`entities` has more than 2")


# --- what may be kept ---------------------------------------------------------------------------------------------

OFFICE_HOURS = [{"recurrences": [], "startTime": "2020/01/01 00:00:00"}]


def test_what_policies_allow_at_any_time_may_be_kept_until_the_policies_change(world: World) -> None:
    first, again = enforce(world, "alice", KV, GET), enforce(world, "alice", KV, GET)
    assert first["cacheable"]
    assert first["generation"] == again["generation"]
    before = world.state.authorizer.snapshot
    world.becomes(structs.replace(before, engine=engine([policy(1, {"namespace": "ns1"}, ["alice"], ["read"])])))
    try:
        assert enforce(world, "alice", NS1, GET)["generation"] != first["generation"]
    finally:
        world.becomes(before)
    assert enforce(world, "alice", KV, GET)["generation"] != first["generation"]


def test_a_denial_is_never_kept(world: World) -> None:
    assert not enforce(world, "eve", KV, GET)["cacheable"]


def test_what_holds_at_some_times_only_is_never_kept(tmp_path: Path) -> None:
    timed = policy(1, {"namespace": "ns1"}, ["alice"], ["read"], validitySchedules=OFFICE_HOURS)
    with serving([timed], tmp_path) as world:
        answer = enforce(world, "alice", NS1, GET)
        seen = world.ask(
            "enforce", "POST", "/cdap/v1/visible", {"principal": {"name": "alice"}, "entities": [entity(*NS1)]}
        )
    assert (answer["allowed"], answer["cacheable"]) == (True, False)
    assert (seen.json["visible"], seen.json["cacheable"]) == ([True], False)


def test_what_the_master_user_may_create_is_never_kept(tmp_path: Path) -> None:
    with serving([], tmp_path) as world:
        application = ("APPLICATION", "ns1", "d812fc2c-e560-11f1-ab25-02fc00000001", "-SNAPSHOT")
        assert not enforce(world, "cdap", application, CREATE)["cacheable"]


def test_without_policies_everything_is_denied_and_the_reason_says_so(tmp_path: Path) -> None:
    with serving([], tmp_path) as world:
        world.becomes(Snapshot(None, PolicyState.NOT_READY, "Ranger Admin was never reached"))
        answer = enforce(world, "alice", KV, GET)
        ready = world.ask(None, "GET", "/health/ready")
    assert (answer["allowed"], answer["reason"]) == (False, "not ready: Ranger Admin was never reached")
    assert (ready.status, ready.json["status"]) == (503, "NOT_READY")


# --- hello --------------------------------------------------------------------------------------------------------


def test_hello_tells_what_this_is_and_configures_nothing(world: World) -> None:
    said = {"extension": "0.1.0", "cdap": "6.11.1", "instance": "other", "master_user": "root", "admin_users": ["eve"]}
    answer = world.ask("enforce", "POST", "/cdap/v1/hello", said).json
    assert (answer["instance"], answer["profile"], answer["state"], answer["grants"]) == (
        "cdap",
        "default",
        "fresh",
        "refuse",
    )
    assert answer["enforcement"] == "everything is enforced"
    assert [difference.split("`")[1] for difference in answer["differences"]] == ["other", "root", "eve"]
    assert b"ranger_cdap_hello_differences 3.0" in world.ask(None, "GET", "/metrics").body
    assert not enforce(world, "eve", KV, GET)["allowed"]
    assert not enforce(world, "root", NS1, UPDATE)["allowed"]
    agreeing = {"extension": "0.1.0", "instance": "cdap", "master_user": "cdap", "admin_users": []}
    assert world.ask("enforce", "POST", "/cdap/v1/hello", agreeing).json["differences"] == []
    assert b"ranger_cdap_hello_differences 0.0" in world.ask(None, "GET", "/metrics").body


WORKER = "AnyIO worker thread"
ROOT = ("INSTANCE", "cdap")


@pytest.mark.parametrize(("items", "about", "apart"), [(1, NS1, False), (1, ROOT, True), (3_000, NS1, True)])
def test_a_check_that_may_take_long_is_decided_in_a_thread_of_its_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, items: int, about: tuple[str, ...], apart: bool
) -> None:
    threads, evaluate = set[str](), PolicyEngine.evaluate

    def noting(engine: PolicyEngine, request: AccessRequest) -> Decision:
        threads.add(threading.current_thread().name)
        return evaluate(engine, request)

    monkeypatch.setattr(PolicyEngine, "evaluate", noting)
    reads = policy(1, {"namespace": "ns1"}, ["alice"], ["read"])
    reads["policyItems"] *= items
    with serving([reads], tmp_path) as world:
        enforce(world, "alice", about, GET)
    assert {name == WORKER for name in threads} == {apart}
