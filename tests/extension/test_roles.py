"""Roles of CDAP are the service's to change; what it refuses is what CDAP's user sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.extension.driver import Extension, User
from tests.extension.scripted_service import Reply, ScriptedService
from tests.extension.secrets_in_text import secret_file

pytestmark = pytest.mark.java

Json = dict[str, Any]

ALICE, BOB, CREW = User("alice"), User("bob"), User("crew", type="GROUP")
OFF = "roles are kept in Ranger"
CHANGES = ("create role", "drop role", "add role", "remove role")
DONE: Json = {"done": True, "changed": True, "failure": "none", "reason": ""}


@pytest.fixture
def bridge(properties: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return properties | {"grant.secret.file": str(secret_file(tmp_path, "grant"))}


def change(extension: Extension, do: str, to: User | None = None) -> Json:
    fields = {"principal": to.as_json()} if to is not None else {}
    return extension.command(do, caller=ALICE.as_json(), role="Devs", **fields)


def refusal(failure: str, reason: str = "change roles in Ranger: no") -> Json:
    return {"done": False, "changed": False, "failure": failure, "reason": reason}


@pytest.mark.parametrize("do", CHANGES)
@pytest.mark.parametrize("to", [BOB, CREW])
def test_the_service_decides_a_change(
    do: str, to: User, newest: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    newest.start(bridge)
    service.answers(DONE, refusal("refused"))
    member = to if do in ("add role", "remove role") else None

    done, refused = change(newest, do, member), change(newest, do, member)

    assert done == {"allowed": True}
    assert not refused["allowed"]
    assert refused["text"].endswith("change roles in Ranger: no")
    assert service.asked[0].path == f"/cdap/v1/role/{do.split()[0]}"
    named = {"principal": {"name": to.name, "type": to.type}} if member else {}
    assert service.asked[0].body == {"caller": {"name": "alice", "type": "USER"}, "role": "Devs"} | named


@pytest.mark.parametrize(("failure", "status"), [("exists", 409), ("not_found", 404)])
def test_a_role_that_exists_or_is_missing_has_cdaps_own_status(
    failure: str, status: int, newest: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    newest.start(bridge)
    service.answers(refusal(failure))

    refused = change(newest, "create role")

    assert (refused["status"], refused["text"]) == (status, "change roles in Ranger: no")


@pytest.mark.parametrize("to", [None, BOB, CREW])
def test_roles_are_listed(to: User | None, newest: Extension, service: ScriptedService, bridge: dict[str, str]) -> None:
    newest.start(bridge)
    service.answers({"done": True, "reason": "", "roles": ["a", "b"]})

    assert change(newest, "list roles", to)["roles"] == ["a", "b"]
    assert service.asked[0].path == "/cdap/v1/roles"
    assert ("principal" in service.asked[0].body) == (to is not None)


LISTS: list[tuple[Reply, int, str]] = [
    (Reply({"done": False, "reason": "alice needs ADMIN", "roles": []}), 403, "alice needs ADMIN"),
    (Reply({"done": True, "reason": "", "roles": [1]}), 503, "its answer has no usable field roles"),
    (Reply(b"", 500), 503, "HTTP status 500"),
]


@pytest.mark.parametrize(("reply", "status", "text"), LISTS)
def test_a_refused_list_is_not_an_empty_one(
    reply: Reply, status: int, text: str, newest: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    newest.start(bridge)
    service.answers(reply)

    refused = change(newest, "list roles")

    assert refused["status"] == status
    assert text in refused["text"]


UNUSABLE = [
    Reply(b"", 500),
    Reply(DONE | {"done": "true"}),
    Reply({"done": True}),
    Reply(refusal("refused") | {"failure": 1}),
]


@pytest.mark.parametrize("reply", UNUSABLE)
def test_an_unusable_answer_changes_nothing(
    reply: Reply, newest: Extension, service: ScriptedService, bridge: dict[str, str]
) -> None:
    newest.start(bridge)
    service.answers(reply)

    refused = change(newest, "create role")

    assert not refused["allowed"]
    assert "nothing is allowed until it does" in refused["text"]


@pytest.mark.parametrize("do", [*CHANGES, "list roles"])
def test_without_a_secret_for_grants_roles_are_kept_in_ranger(
    do: str, extension: Extension, service: ScriptedService, properties: dict[str, str]
) -> None:
    extension.start(properties)

    refused = change(extension, do, BOB)

    assert refused["text"].endswith(OFF)
    assert not refused.get("allowed")
    assert service.asked == []


@pytest.mark.parametrize("do", [*CHANGES, "list roles"])
def test_cdap_before_611_does_not_say_who_changes_roles(
    do: str, machines: dict[str, Extension], service: ScriptedService, bridge: dict[str, str]
) -> None:
    machines["6.5"].start(bridge)

    assert change(machines["6.5"], do, BOB)["text"].endswith(OFF)
    assert service.asked == []
