"""The embedded Ranger Admin answers plugins that ask for changes as a real one (2.9.0) was recorded to answer."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.testing.admin import EmbeddedAdmin
from ranger_cdap.testing.admin.store.change_log import DELETED
from servicedef import service_definition
from tests.testing.admin.caller import PASSWORD, V2, Caller, prepared
from tests.testing.admin.exchanges import READ_BY_CLIENTS, Exchange, ordered

RECORDED: list[Exchange] = json.loads(Path(__file__).with_name("recorded_deltas.json").read_text(encoding="utf-8"))[
    "exchanges"
]
LAST_KNOWN = re.compile(r"lastKnownVersion=(\d+)")
ID_IN_PATH = re.compile(r"/roles/\d+")


def view(status: int, body: Any, known: int) -> dict[str, Any]:
    """What a plugin sees of an answer; versions are counted from the one it has."""
    if not isinstance(body, dict) or "policyDeltas" not in body:
        return {"status": status}
    return {
        "status": status,
        "keys": [sorted(body), sorted(body["tagPolicies"])],
        "version": body["policyVersion"] - known,
        "deltas": [
            (delta["changeType"], delta["policiesVersion"] - known, policy_view(delta))
            for delta in body["policyDeltas"]
        ],
    }


def policy_view(delta: dict[str, Any]) -> dict[str, Any]:
    """A deleted policy has nothing but what is here, any other also has authors and times."""
    policy, deleted = delta["policy"], delta["changeType"] == DELETED
    return {name: ordered(value) for name, value in policy.items() if deleted or name in READ_BY_CLIENTS} | {"id": 0}


class Replay:
    """One server that is asked in the recorded order; versions and ids are exchanged for those of ours."""

    def __init__(self, admin: Caller) -> None:
        self._admin = admin
        self._versions: dict[int, int] = {}

    def play(self, exchange: Exchange) -> Answered:
        for step in exchange.get("before", ()):
            body = service_definition() if step.get("body") == {"$": "definition"} else step.get("body")
            assert self._admin(step["method"], step["path"], body)[0] in (200, 204), step
        request, recorded = exchange["request"], exchange["response"]
        found = LAST_KNOWN.search(request["path"])
        theirs = int(found[1]) if found else -1
        ours = self._versions.get(theirs, theirs)
        role = self._admin("GET", f"{V2}/roles")[1][0]["id"]
        path = ID_IN_PATH.sub(f"/roles/{role}", LAST_KNOWN.sub(f"lastKnownVersion={ours}", request["path"]))
        status, body = self._admin.as_user(request["user"])(request["method"], path, request.get("body"))
        version = (recorded.get("body") or recorded).get("policyVersion")
        if version is not None:
            self._versions[version] = body["policyVersion"]
        return Answered(status, body, ours, theirs)


@dataclass(frozen=True, slots=True)
class Answered:
    """Our answer, and the version the plugin has: ours and the recorded one."""

    status: int
    body: Any
    known: int
    recorded_known: int


@pytest.fixture(scope="module")
def answers() -> dict[int, Answered]:
    """The answers to all of them in their order, because they build on each other."""
    with EmbeddedAdmin(admin_password=PASSWORD, policy_deltas=True) as server:
        admin = prepared(Caller(server.url))
        admin.create_user("cdapsvc")
        configs = {"policy.download.auth.users": "cdapsvc"}
        service = {"name": "cdapdev", "type": "cdap", "configs": configs}
        assert admin("PUT", f"{V2}/service/name/cdapdev", service)[0] == 200
        replay = Replay(admin)
        return {exchange["n"]: replay.play(exchange) for exchange in RECORDED}


@pytest.mark.parametrize("exchange", RECORDED, ids=lambda exchange: f"{exchange['n']}-{exchange['name']}")
def test_a_recorded_exchange(answers: dict[int, Answered], exchange: Exchange) -> None:
    ours, recorded = answers[exchange["n"]], exchange["response"]
    assert view(ours.status, ours.body, ours.known) == view(
        recorded["status"], recorded.get("body"), ours.recorded_known
    )
    if recorded.get("body_left_out"):
        assert ("policies" in ours.body, "policyDeltas" in ours.body) == (True, False)
