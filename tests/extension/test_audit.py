"""How requests ended is told once it is stored, and told again until it is."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from ranger_cdap.wire.event_wire import AuditRequest, Intake
from tests.extension.driver import NS1, Extension, User, entity
from tests.extension.scripted_service import ALLOWED, DENIED, Reply, ScriptedService, impatient
from tests.extension.secrets_in_text import SECRETS, TOKEN
from tests.extension.stamps import stamp, stamp_of

pytestmark = pytest.mark.java

Json = dict[str, Any]

REQUEST: Json = {
    "code": 200,
    "ip": "10.1.2.3",
    "uri": "/v3/namespaces/ns1/data/datasets/kv",
    "handler": "DatasetInstanceHandler",
    "method": "create",
    "method_type": "PUT",
    "started": 1_795_234_767_839,
    "ended": 1_795_234_767_899,
}
CHECK: Json = {"principal": "alice", "type": "NAMESPACE", "parts": ["ns1"], "permissions": ["STANDARD.GET"]}
BODY = json.dumps(CHECK | {"allowed": True} | stamp(0))
UNSTAMPED = json.dumps(CHECK | {"allowed": True})
STORED: Json = {"stored": 1, "refused": []}


def publish(extension: Extension, *bodies: str, **request: Any) -> Json:
    return extension.command("publish", bodies=list(bodies), request=REQUEST | request)


CHECKS: dict[str, tuple[User, Json, list[str], str | None, Json]] = {
    "a check": (User("alice"), NS1, ["STANDARD.GET"], None, CHECK),
    "of a Kerberos user": (
        User("alice", "alice@REALM", TOKEN), NS1, ["STANDARD.GET"], None, CHECK | {"kerberos": "alice@REALM"},
    ),
    "of children": (
        User("alice"), NS1, ["STANDARD.LIST"], "DATASET",
        CHECK | {"child_type": "DATASET", "permissions": ["STANDARD.LIST"]},
    ),
    "of a version, without permission": (
        User("alice"), entity("ARTIFACT", "ns1", "a.b", "1.0.0"), [], None,
        CHECK | {"type": "ARTIFACT", "parts": ["ns1", "a.b", "1.0.0"], "permissions": []},
    ),
}  # fmt: skip


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("name", CHECKS)
def test_a_check_goes_to_cdaps_log_and_comes_back_in_a_record(
    name: str, allowed: bool, newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    user, of, permissions, child_type, check = CHECKS[name]
    newest.start(properties)
    service.answers(ALLOWED if allowed else DENIED, STORED)

    body = newest.enforce(user, of, permissions, child_type=child_type)["audit"]
    assert TOKEN not in body
    assert publish(newest, body) == {"status": "PUBLISHED"}

    record = service.asked[1]
    assert record.path == "/cdap/v1/audit"
    assert record.body == {
        "records": [
            {
                "v": 2,
                "instance": "cdap",
                "method": "PUT",
                "uri": "/v3/namespaces/ns1/data/datasets/kv",
                "handler": "DatasetInstanceHandler.create",
                "code": 200,
                "user_ip": "10.1.2.3",
                "started": 1_795_234_767_839,
                "ended": 1_795_234_767_899,
                "checks": [check | {"allowed": allowed} | stamp_of(json.loads(body))],
            }
        ]
    }
    msgspec.convert(record.body, AuditRequest)
    Intake("cdap").read(json.dumps(record.body["records"][0]).encode())
    pair = base64.b64encode(f"cdap-audit:{SECRETS['audit']}".encode()).decode()
    assert record.headers["authorization"] == f"Basic {pair}"


def test_a_denial_without_the_service_is_a_check_too(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers(Reply(b"", 500))

    body = json.loads(newest.enforce()["audit"])
    assert body == CHECK | {"allowed": False} | stamp_of(body)


def test_a_remembered_answer_is_a_check_too(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties | {"cache.seconds": "5"})
    service.answers(ALLOWED | {"cacheable": True})

    bodies = [json.loads(newest.enforce()["audit"]) for _ in range(3)]
    assert bodies == [CHECK | {"allowed": True} | stamp_of(body) for body in bodies]
    assert len({body["id"] for body in bodies}) == 3
    assert len(service.asked) == 1


ODD = {
    "no address": ({"ip": None}, lambda r: "user_ip" not in r),
    "no handler": ({"handler": None}, lambda r: "handler" not in r),
    "no method": ({"method": None}, lambda r: "handler" not in r),
    "another instance": ({}, lambda r: r["instance"] == "prod"),
    "ends before it starts": ({"ended": 5, "started": 7}, lambda r: r["started"] == r["ended"] == 5),
}


@pytest.mark.parametrize("name", ODD)
def test_a_record_says_what_cdap_says(
    name: str, newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    request, holds = ODD[name]
    newest.start(properties | {"instance.name": "prod"})
    service.answers(STORED)
    publish(newest, BODY, **request)

    assert holds(service.asked[0].body["records"][0])


def test_all_checks_of_a_request_come_in_their_order(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers({"stored": 3, "refused": []})
    bodies = [CHECK | {"parts": [f"ns{n % 7}"], "allowed": True} | stamp(n) for n in range(2_500)]

    assert publish(newest, *map(json.dumps, bodies)) == {"status": "PUBLISHED"}

    records = service.asked[0].body["records"]
    assert [len(record["checks"]) for record in records] == [1_000, 1_000, 500], "none is too long to be taken"
    assert [check for record in records for check in record["checks"]] == bodies
    assert len({json.dumps(record | {"checks": []}) for record in records}) == 1


def test_checks_that_an_older_jar_wrote_are_a_record_of_their_own(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers({"stored": 2, "refused": []})

    assert publish(newest, UNSTAMPED, BODY, UNSTAMPED) == {"status": "PUBLISHED"}

    stamped, unstamped = service.asked[0].body["records"]
    assert (stamped["v"], stamped["checks"]) == (2, [json.loads(BODY)])
    assert (unstamped["v"], unstamped["checks"]) == (1, [json.loads(UNSTAMPED)] * 2)
    for record in (stamped, unstamped):
        Intake("cdap").read(json.dumps(record).encode())


LOST: dict[str, tuple[Reply, str]] = {
    "disk full": (Reply({"code": "UNAVAILABLE", "message": "x"}, 503, {"Retry-After": "5"}), "HTTP status 503"),
    "broken": (Reply(b"", 500), "HTTP status 500"),
    "not permitted": (Reply(b"", 403), "HTTP status 403"),
    "created": (Reply(STORED, 201), "HTTP status 201"),
    "silence": (Reply(hangs=True), "no answer within 400 ms"),
    "nonsense": (Reply(b"stored"), "its answer is not JSON as agreed"),
    "fewer": (Reply({"stored": 0, "refused": []}), "its answer has another number of records"),
    "more": (Reply({"stored": 2, "refused": []}), "its answer has another number of records"),
    "less than none": (Reply({"stored": -1, "refused": []}), "its answer has no usable field stored"),
    "half of it": (Reply({"stored": 0.5, "refused": []}), "its answer has no usable field stored"),
    "no count": (Reply({"refused": []}), "its answer has no usable field stored"),
    "no list": (Reply({"stored": 1}), "its answer has no usable field refused"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_not_surely_stored_is_told_again(
    name: str, newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    reply, why = LOST[name]
    newest.start(impatient(properties, reply))
    service.answers(reply)

    lost = publish(newest, BODY)

    assert lost["status"] == "UNSUCCESSFUL"
    assert lost["text"] == why


def test_what_is_refused_for_good_is_logged_and_not_told_again(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers({"stored": 0, "refused": [{"index": 0, "reason": "`code` is missing\nFAKE LINE"}]})

    assert publish(newest, BODY) == {"status": "PUBLISHED"}
    assert f"does not take the record of {REQUEST['uri']}: `code` is missing FAKE LINE" in newest.log


def test_what_is_not_ours_is_left_out_and_holds_nothing_up(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)
    service.answers(STORED)

    assert publish(newest, "another extension's words", BODY)["status"] == "PUBLISHED"
    assert service.asked[0].body["records"][0]["checks"] == [json.loads(BODY)]
    assert publish(newest, "another extension's words")["status"] == "PUBLISHED"
    assert publish(newest)["status"] == "PUBLISHED"
    assert len(service.asked) == 1


def test_without_a_secret_for_audit_cdap_is_not_asked_for_records(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start({k: v for k, v in properties.items() if k != "audit.secret.file"})
    service.answers(ALLOWED)

    assert newest.enforce().get("audit") is None
    assert publish(newest, BODY) == {"status": "UNSUCCESSFUL", "text": "audit.secret.file is not set"}
    assert "nobody is told what was created in CDAP" in newest.log
