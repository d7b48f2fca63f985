"""A refresher before a Ranger Admin that answers as told: downloads with versions, or whatever reply is wanted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import requests
import responses

from ranger_cdap.engine import AccessRequest
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher, Snapshot
from ranger_cdap.ranger.refresh.refresh_state import Instant, PolicyState
from tests.ranger.documents import SERVICE, policies, policy, roles, tags, users

Started = Callable[..., PolicyRefresher]

URL = "https://ranger.test:6182"
FRESH, STALE, EXPIRED = PolicyState.FRESH, PolicyState.STALE, PolicyState.EXPIRED
NOT_READY, GONE, DISABLED = PolicyState.NOT_READY, PolicyState.GONE, PolicyState.DISABLED
NO_SERVICE = {"statusCode": 404, "msgDesc": f"msgDesc={{RANGER_ERROR_SERVICE_NOT_FOUND: ServiceName={SERVICE}}}"}
OFF = {"statusCode": 1, "msgDesc": "off", "messageList": [{"name": "OPER_NOT_ALLOWED_FOR_STATE"}]}

Reply = tuple[int, bytes] | Exception


class FakeRanger:
    """The downloads of a Ranger Admin: documents with versions, or whatever reply is wanted instead."""

    def __init__(self) -> None:
        self.documents = {"policies": policies(1, policy(1)), "roles": roles(1), "tags": tags(1), "users": users(1)}
        self.instead: dict[str, Reply] = {}
        self.fails_at_first: list[int] = []
        self.asked: list[str] = []
        self.changes: bytes | None = None
        self.speaks_of_deltas: list[bool] = []
        for kind, path, asked, version in (
            ("policies", "plugins/secure/policies/download", "lastKnownVersion", "policyVersion"),
            ("roles", "roles/secure/download", "lastKnownRoleVersion", "roleVersion"),
            ("tags", "tags/secure/download", "lastKnownVersion", "tagVersion"),
            ("users", "xusers/secure/download", "lastKnownUserStoreVersion", "userStoreVersion"),
        ):
            responses.add_callback("GET", f"{URL}/service/{path}/{SERVICE}", callback=self._reply(kind, asked, version))

    def _reply(self, kind: str, asked: str, version: str) -> Callable[[Any], Any]:
        def reply(request: Any) -> Any:
            self.asked.append(f"{kind} {request.params[asked]}")
            if self.fails_at_first:
                return self.fails_at_first.pop(0), {}, b""
            instead = self.instead.get(kind)
            if isinstance(instead, Exception):
                raise instead
            if instead is not None:
                return instead[0], {}, instead[1]
            body = self.documents[kind]
            if kind == "policies":
                self.speaks_of_deltas.append(request.params["supportsPolicyDeltas"] == "true")
                if self.changes is not None and self.speaks_of_deltas[-1]:
                    return 200, {}, self.changes
            if int(request.params[asked]) == json.loads(body)[version]:
                return 304, {}, b""
            return 200, {}, body

        return reply

    def answers(self, status: int, body: Any = b"", kind: str = "policies") -> None:
        self.instead[kind] = (status, body if isinstance(body, bytes) else json.dumps(body).encode())

    def is_away(self) -> None:
        self.instead = {kind: requests.ConnectionError() for kind in self.documents}

    def is_back(self) -> None:
        self.instead = {}


class Clock:
    """Time that goes on when told."""

    def __init__(self) -> None:
        self.wall, self.monotonic = time.time(), 100.0

    def __call__(self) -> Instant:
        return Instant(self.wall, self.monotonic)

    def goes_on(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic += seconds


def may_read(snapshot: Snapshot, user: str = "alice", namespace: str = "ns1") -> bool:
    if snapshot.engine is None:
        return False
    resource = {"instance": "cdap", "namespace": namespace}
    decision = snapshot.engine.evaluate(AccessRequest(resource=resource, access_type="read", user=user))
    return decision.determined and decision.allowed
