"""Replaying recorded exchanges of a real Ranger Admin against the embedded one, and comparing what a client reads."""

from __future__ import annotations

import base64
import http.client
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

Exchange = dict[str, Any]

VALIDATION = re.compile(r"error code\[(\d+)\]")
NUMBERED_PATH = re.compile(r"/(servicedef|service|policy|roles|zones)/(\d+)(?=[/?]|$)")
LAST_KNOWN = re.compile(r"(lastKnownVersion=)(\d+)")
GUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MILLIS = re.compile(r"\d{13}$")
BRACKETS = re.compile(r"\[[^\[\]]*\]")
READ_BY_CLIENTS = {
    "name",
    "type",
    "service",
    "isEnabled",
    "version",
    "policyVersion",
    "policyType",
    "policyPriority",
    "description",
    "isAuditEnabled",
    "resources",
    "policyItems",
    "denyPolicyItems",
    "allowExceptions",
    "denyExceptions",
    "isDenyAllElse",
    "policyLabels",
    "validitySchedules",
    "additionalResources",
    "resourceSignature",
    "serviceType",
    "tagService",
    "configs",
    "options",
    "accessTypes",
    "markerAccessTypes",
    "policyConditions",
    "userRoleList",
    "users",
    "groups",
    "roles",
    "serviceName",
    "op",
    "isDelta",
    "auditMode",
}


def send(
    url: str, method: str, path: str, *, headers: Mapping[str, str], body: bytes | None
) -> tuple[int, dict[str, str], bytes]:
    """One request with the path exactly as it is written; header names in lower case."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value.encode())
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def basic(user: str, password: str) -> str:
    """The value of an `Authorization` header."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Replay:
    """Sends recorded requests in order; ids that the recording's server gave are exchanged for those of ours."""

    def __init__(self, url: str, passwords: Mapping[str, str]) -> None:
        self.url = url
        self.passwords = passwords
        self._ids: dict[tuple[str, int], int] = {}
        self._versions: dict[str, str] = {}
        self._guids: dict[str, str] = {}

    def play(self, exchange: Exchange) -> tuple[int, dict[str, str], Any]:
        """Our answer: status, headers, and the body as JSON where it is JSON."""
        request = exchange["request"]
        headers = dict(request.get("headers") or {})
        body = request.get("body")
        if request.get("user"):
            password = request.get("password") or self.passwords.get(request["user"], "none")
            headers["authorization"] = basic(request["user"], password)
        if body is not None and "content-type" not in headers:
            headers["content-type"] = "application/json"
        path = NUMBERED_PATH.sub(lambda found: f"/{found[1]}/{self._own(found[1], int(found[2]))}", request["path"])
        path = LAST_KNOWN.sub(lambda found: f"{found[1]}{self._versions.get(found[2], found[2])}", path)
        path = GUID.sub(lambda found: self._guids.get(found[0], found[0]), path)
        kind = found[1] if (found := NUMBERED_PATH.search(request["path"])) else ""
        if isinstance(body, dict) and isinstance(body.get("id"), int) and kind:
            body = {**body, "id": self._own(kind, body["id"])}
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        raw = None if text is None else text.encode()
        status, answered, content = send(self.url, request["method"], path, headers=headers, body=raw)
        value = json.loads(content) if content[:1] in (b"{", b"[") else content
        self._learn(request, exchange["response"]["body"], value)
        return status, answered, value

    def _own(self, kind: str, recorded: int) -> int:
        return self._ids.get((kind, recorded), recorded)

    def _learn(self, request: Exchange, recorded: Any, ours: Any) -> None:
        if isinstance(recorded, dict) and isinstance(ours, dict) and "policyVersion" in recorded.keys() & ours.keys():
            self._versions[str(recorded["policyVersion"])] = str(ours["policyVersion"])
        parts = re.findall(r"/api/(servicedef|service|policy|roles|zones)(?=[/?]|$)", request["path"])
        if (
            parts
            and isinstance(recorded, dict)
            and isinstance(ours, dict)
            and {"id", "name"} <= recorded.keys() & ours.keys()
        ):
            kind = "policy" if "/policy" in request["path"] else parts[0]
            self._ids[kind, recorded["id"]] = ours["id"]
            self._guids[recorded.get("guid", "")] = ours.get("guid", "")


def seen(status: int, content_type: str | None, body: Any) -> dict[str, Any]:
    """What a client sees of an answer: status, kind of body, error texts without volatile numbers, fields we read."""
    view: dict[str, Any] = {"status": status, "type": (content_type or "").partition(";")[0]}
    if isinstance(body, dict) and "msgDesc" in body:
        view["error"] = {
            "keys": sorted(body),
            "statusCode": body.get("statusCode"),
            "codes": sorted(VALIDATION.findall(body["msgDesc"])),
            "text": stable(body["msgDesc"]),
            "messages": [(row["name"], row.get("message")) for row in body.get("messageList", [])],
        }
    elif isinstance(body, dict) and "RemoteException" in body:
        view["error"] = sorted(body["RemoteException"])
    elif isinstance(body, list):
        view["names"] = sorted(str(row.get("name")) if isinstance(row, dict) else str(row) for row in body)
        view["names"] = [MILLIS.sub("MILLIS", GUID.sub("GUID", name)) for name in view["names"]]
    elif isinstance(body, dict):
        view["fields"] = {name: ordered(value) for name, value in body.items() if name in READ_BY_CLIENTS}
    return view


def stable(text: str) -> str:
    """An error text without what differs from run to run: numbers, object addresses, order of names in brackets."""
    text = re.sub(r"VXResponse@[0-9a-f]+statusCode", "VXResponse@0statusCode", text)
    text = re.sub(r"(policy|zone)-id=\[[\d,]+\]", r"\1-id=[N]", text)
    text = re.sub(r"Zone name=[\d,]+ ", "Zone name=N ", text)
    text = re.sub(r"policy='grant-\d+'", "policy='grant-N'", text)
    sets = sorted("[" + ", ".join(sorted(names[1:-1].split(", "))) + "]" for names in BRACKETS.findall(text))
    return " ".join([BRACKETS.sub("[]", text).replace("[] ", ""), *sets])


def ordered(value: Any) -> Any:
    """The value with lists in an order of their own, because Ranger's sets come in any, and without guids and times."""
    if isinstance(value, str):
        return MILLIS.sub("MILLIS", GUID.sub("GUID", value))
    if isinstance(value, dict):
        return {name: ordered(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return sorted((ordered(inner) for inner in value), key=lambda inner: json.dumps(inner, sort_keys=True))
    return value
