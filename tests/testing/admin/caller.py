"""A caller of the embedded Ranger Admin, and what the tests of this room send."""

from __future__ import annotations

import json
from typing import Any

from servicedef import service_definition
from tests.testing.admin.exchanges import basic, send

PASSWORD = "Correct-horse-7"
DOWNLOAD = "/service/plugins/secure/policies/download"
V2 = "/service/public/v2/api"


class Caller:
    """Sends JSON to the embedded Ranger Admin as one user."""

    def __init__(self, url: str, user: str | None = "admin", password: str = PASSWORD) -> None:
        self.url = url
        self._headers = {"authorization": basic(user, password)} if user else {}

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Status, and the body as JSON or None."""
        sent = {**self._headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            sent["content-type"] = "application/json"
        status, _, answer = send(self.url, method, path, headers=sent, body=content)
        return status, json.loads(answer) if answer[:1] in (b"{", b"[") else None

    def as_user(self, user: str | None, password: str = PASSWORD) -> Caller:
        """The same server, another caller."""
        return Caller(self.url, user, password)

    def create_user(self, name: str) -> None:
        """A user who can sign in with `PASSWORD`."""
        status, _ = self(
            "POST", "/service/xusers/secure/users", {"name": name, "firstName": name, "password": PASSWORD}
        )
        assert status == 200


def policy(name: str = "p", namespace: str = "ns1", user: str = "alice", **more: Any) -> dict[str, Any]:
    """A policy that lets one user read one namespace."""
    return {
        "service": "cdapdev",
        "name": name,
        "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": [namespace]}},
        "policyItems": [{"users": [user], "accesses": [{"type": "read"}]}],
        **more,
    }


def prepared(admin: Caller) -> Caller:
    """The server with our definition, a service `cdapdev` and the users alice, bob, plugin and sync."""
    assert admin("POST", f"{V2}/servicedef", service_definition())[0] == 200
    for name in ("alice", "bob", "plugin", "sync"):
        admin.create_user(name)
    configs = {
        "policy.download.auth.users": "plugin,sync",
        "tag.download.auth.users": "plugin",
        "userstore.download.auth.users": "plugin",
        "service.admin.users": "sync",
    }
    assert admin("POST", f"{V2}/service", {"name": "cdapdev", "type": "cdap", "configs": configs})[0] == 200
    return admin


def download(caller: Caller, known: int = -1) -> tuple[int, Any]:
    return caller("GET", f"{DOWNLOAD}/cdapdev?lastKnownVersion={known}&pluginId=cdap@here-cdapdev")
