"""CDAP's grants are the service's to decide; where it cannot be asked, nothing is given, and CDAP still starts."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.extension.driver import Extension, User
from tests.extension.scripted_service import Reply, ScriptedService
from tests.extension.secrets_in_text import SECRETS, secret_file

pytestmark = pytest.mark.java

Json = dict[str, Any]

MASTER, ALICE, BOB = User("cdap"), User("alice", "alice@REALM"), User("bob")
REFUSED: Json = {"done": False, "changed": False, "reason": "edit policies in Ranger: grants are off"}
DONE: Json = {"done": True, "changed": True, "reason": ""}
OFF = "edit policies in Ranger: CDAP hands out no privileges here"
AWAY = "the authorization service of CDAP does not answer (no connection); nothing is allowed until it does"


@pytest.fixture
def bridge(properties: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return properties | {"grant.secret.file": str(secret_file(tmp_path, "grant"))}


def change(extension: Extension, do: str = "grant", caller: User = ALICE, to: User | None = BOB, **fields: Any) -> Json:
    fields = {"authorizable": "dataset:ns1.a.b", "permissions": ["STANDARD.UPDATE", "STANDARD.GET"]} | fields
    if to is not None:
        fields["principal"] = to.as_json()
    return extension.command(do, caller=caller.as_json(), **fields)


CHANGES: dict[str, tuple[str, User | None, str, Json]] = {
    "a grant": (
        "grant",
        BOB,
        "/cdap/v1/grant",
        {"principal": {"name": "bob", "type": "USER"}, "permissions": ["STANDARD.GET", "STANDARD.UPDATE"]},
    ),
    "a revoke": (
        "revoke",
        BOB,
        "/cdap/v1/revoke",
        {"principal": {"name": "bob", "type": "USER"}, "permissions": ["STANDARD.GET", "STANDARD.UPDATE"]},
    ),
    "a revoke of everything": ("revoke all", None, "/cdap/v1/revoke", {}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_service_decides_a_change(
    name: str, extension: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    do, to, path, body = CHANGES[name]
    extension.start(bridge)
    service.answers(DONE, REFUSED)

    done, refused = change(extension, do, to=to), change(extension, do, to=to)

    assert done == {"allowed": True}
    assert refused["text"].endswith(REFUSED["reason"])
    caller = {"caller": {"name": "alice", "type": "USER", "kerberos": "alice@REALM"}}
    of = {"entity": {"type": "DATASET", "parts": ["ns1", "a.b"]}}
    assert service.asked[0].path == path
    assert service.asked[0].body == (caller if extension.jar == "6.11" else {}) | of | body
    pair = base64.b64encode(f"cdap-grant:{SECRETS['grant']}".encode()).decode()
    assert service.asked[0].headers["authorization"] == f"Basic {pair}"


AUTHORIZABLES = {
    "instance:cdap": ("INSTANCE", ["cdap"]),
    "namespace:ns1": ("NAMESPACE", ["ns1"]),
    "namespace:*": ("NAMESPACE", ["*"]),
    "artifact:ns1.a": ("ARTIFACT", ["ns1", "a"]),
    "application:ns1.app": ("APPLICATION", ["ns1", "app"]),
    "program:ns1.app.worker.W": ("PROGRAM", ["ns1", "app", "worker", "W"]),
    "program:ns1.app.*": ("PROGRAM", ["ns1", "app", "*"]),
    "dataset_type:ns1.com.x.T": ("DATASET_TYPE", ["ns1", "com.x.T"]),
    "securekey:ns1.k": ("SECUREKEY", ["ns1", "k"]),
    "kerberosprincipal:svc/h.x@R": ("KERBEROSPRINCIPAL", ["svc/h.x@R"]),
}


@pytest.mark.parametrize("text", AUTHORIZABLES)
def test_what_a_grant_is_for_is_told_in_parts(
    text: str, newest: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    cdap_type, parts = AUTHORIZABLES[text]
    newest.start(bridge)
    service.answers(REFUSED)
    change(newest, authorizable=text)

    assert service.asked[0].body["entity"] == {"type": cdap_type, "parts": parts}


def test_children_are_not_taken_for_their_parent(
    extension: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    extension.start(bridge)

    refused = change(extension, authorizable="namespace:ns1:dataset")

    assert "CDAP hands out no privileges on all that is in an entity" in refused["text"]
    assert service.asked == []


@pytest.mark.parametrize("do", ["grant", "revoke", "revoke all"])
def test_without_a_secret_for_grants_all_is_refused(
    do: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)

    refused = change(extension, do, to=None if do == "revoke all" else BOB)

    assert refused["text"].endswith(OFF)
    assert not refused.get("allowed")
    assert service.asked == []


UNUSABLE = [Reply(b"", 500), Reply({"done": "true", "changed": True, "reason": ""}), Reply({"done": True})]


@pytest.mark.parametrize("reply", UNUSABLE)
def test_an_unusable_answer_gives_nothing(
    reply: Reply, extension: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    extension.start(bridge)
    service.answers(reply)

    refused = change(extension)

    assert not refused.get("allowed")
    assert "nothing is allowed until it does" in refused["text"]


# The start of CDAP must not depend on a grant that changes nothing.
OWN: dict[str, tuple[User, User, bool]] = {
    "the master user to itself": (MASTER, MASTER, True),
    "the master user to another": (MASTER, BOB, False),
    "another to himself": (ALICE, ALICE, False),
    "the master user to a group of its name": (MASTER, User("cdap", type="GROUP"), False),
}


@pytest.mark.parametrize("bridged", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_only_the_master_users_grant_to_itself_goes_on_without_the_service(
    name: str, bridged: bool, extension: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    caller, to, goes_on = OWN[name]
    service.leave()
    extension.start(bridge if bridged else {k: v for k, v in bridge.items() if k != "grant.secret.file"})

    answer = change(extension, caller=caller, to=to)

    assert answer.get("allowed", False) == goes_on
    assert goes_on or answer["text"].endswith(AWAY if bridged else OFF)
    assert not change(extension, "revoke", caller=caller, to=to).get("allowed")


def test_somebody_else_cannot_pretend_to_give_the_master_user_something(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties)

    assert not change(newest, caller=ALICE, to=MASTER)["allowed"]


def test_where_the_service_answers_it_decides_that_grant_too(
    extension: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    extension.start(bridge)
    service.answers(REFUSED)

    assert change(extension, caller=MASTER, to=MASTER)["text"].endswith(REFUSED["reason"])


def test_the_master_user_is_the_configured_one(
    newest: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    newest.start(properties | {"master.user": "root"})

    assert change(newest, caller=User("root"), to=User("root"))["allowed"]
    assert not change(newest, caller=MASTER, to=MASTER)["allowed"]


def test_grants_are_listed_in_cdaps_words(newest: Extension, service: ScriptedService, bridge: dict[str, str]) -> None:
    newest.start(bridge)
    listed = {
        "NAMESPACE": (["ns1"], ["STANDARD.GET", "NAMESPACE.READ_REPOSITORY"]),
        "DATASET": (["ns1", "a.b"], ["STANDARD.UPDATE"]),
        "PROGRAM": (["ns1", "app", "worker", "W"], ["APPLICATION.EXECUTE"]),
        "FUTURE": (["x"], ["STANDARD.GET"]),
    }
    grants = [{"entity": {"type": t, "parts": p}, "permissions": names} for t, (p, names) in listed.items()]
    service.answers({"done": True, "reason": "", "grants": grants})

    assert change(newest, "list grants")["grants"] == [
        "namespace:ns1 STANDARD.GET",
        "namespace:ns1 NAMESPACE.READ_REPOSITORY",
        "dataset:ns1.a.b STANDARD.UPDATE",
        "program:ns1.app.worker.W APPLICATION.EXECUTE",
    ]
    assert service.asked[0].path == "/cdap/v1/grants"
    assert service.asked[0].body["principal"] == {"name": "bob", "type": "USER"}
    assert "this CDAP has no words for [STANDARD.GET] on FUTURE [x]" in newest.log


LISTS: list[tuple[Reply, int, str]] = [
    (Reply({"done": False, "reason": "edit policies in Ranger", "grants": []}), 403, "edit policies in Ranger"),
    (Reply({"done": True, "reason": "", "grants": [1]}), 503, "its answer has no usable field grants"),
    (Reply({"done": True, "reason": ""}), 503, "its answer has no usable field grants"),
    (Reply(b"", 500), 503, "HTTP status 500"),
]


@pytest.mark.parametrize(("reply", "status", "text"), LISTS)
def test_a_refused_list_is_not_an_empty_one(
    reply: Reply, status: int, text: str, newest: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    newest.start(bridge)
    service.answers(reply)

    refused = change(newest, "list grants")

    assert refused["status"] == status
    assert text in refused["text"]


def test_cdap_before_611_does_not_say_who_wants_a_list(
    machines: dict[str, Extension], service: ScriptedService, bridge: dict[str, str]
) -> None:
    machines["6.5"].start(bridge)

    assert change(machines["6.5"], "list grants")["status"] == 403
    assert service.asked == []
