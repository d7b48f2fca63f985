"""What CDAP's sources write of a request, for histories that tests make up; each line is one event of the history."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ranger_cdap.cdap.entity import EntityId

CALLER = "cdap-master"
MARKER = "Zq7rT2mVx9Kc4LwB"
TAKEN = 1_795_233_600_000
"""When the inventory was taken; histories begin an hour later."""
START = TAKEN + 3_600_000

# How CDAP's REST API names an entity, and what its handler checks (reference: CDAP facts, sections 3 and 4).
URIS = {
    "namespace": "/v3/namespaces/{}",
    "artifact": "/v3/namespaces/{}/artifacts/{}",
    "application": "/v3/namespaces/{}/apps/{}",
    "schedule": "/v3/namespaces/{}/apps/{}/schedules/{}",
    "dataset": "/v3/namespaces/{}/data/datasets/{}",
    "dataset_module": "/v3/namespaces/{}/data/modules/{}",
    "secure_key": "/v3/namespaces/{}/securekeys/{}",
    "profile": "/v3/namespaces/{}/profiles/{}",
    "stream": "/v3/namespaces/{}/streams/{}",
}
CREATE = {"secure_key": "STANDARD.UPDATE", "schedule": "APPLICATION.EXECUTE"}
DELETE = {"schedule": "APPLICATION.EXECUTE"}
VERSIONED = {"application": "-SNAPSHOT", "artifact": "1.0.0"}


@dataclass(frozen=True)
class Told:
    """A line of a source."""

    source: str
    line: str


def millis(at: float) -> int:
    """The time of that second of a history."""
    return START + round(at * 1000)


def uri(entity: EntityId, *, gone: bool = False) -> str:
    text = URIS[entity.type].format(*(part.replace("*", "%2A").replace("?", "%3F") for part in entity.parts))
    return (
        text.replace("/v3/namespaces", "/v3/unrecoverable/namespaces") if gone and entity.type == "namespace" else text
    )


def check(user: str, entity: EntityId, permission: str, *, allowed: bool = True) -> dict[str, Any]:
    """A check as CDAP asks it: of the application where it is about a schedule, with the version where it has one."""
    asked = entity.parent if entity.type == "schedule" and entity.parent else entity
    parts = [*asked.parts, *([VERSIONED[asked.type]] if asked.type in VERSIONED else [])]
    kind = asked.type.upper().replace("SECURE_KEY", "SECUREKEY")
    return {"principal": user, "type": kind, "parts": parts, "permissions": [permission], "allowed": allowed}


def request(
    method: str,
    path: str,
    *checks: dict[str, Any],
    at: float,
    code: int = 200,
    seconds: float = 0.01,
    caller: str = CALLER,
    instance: str = "cdap",
    name: str = "",
) -> Told:
    """A data-plane record in its stored form; `name` is its id, made of what it says unless given."""
    record = {
        "v": 1,
        "instance": instance,
        "method": method,
        "uri": path,
        "code": code,
        "checks": checks,
        "started": millis(at),
        "ended": millis(at + seconds),
    }
    said = name or hashlib.sha256(json.dumps([caller, record]).encode()).hexdigest()
    return Told("data-plane", json.dumps({"id": f"{said}", "caller": caller, "received": 1, "record": record}))


def created(user: str, entity: EntityId, at: float, *, allowed: bool = True, **odd: Any) -> Told:
    method = "POST" if entity.type == "artifact" else "PUT"
    asked = check(user, entity, CREATE.get(entity.type, "STANDARD.CREATE"), allowed=allowed)
    return request(method, uri(entity), asked, at=at, **odd)


def deleted(user: str, entity: EntityId, at: float, *, allowed: bool = True, **odd: Any) -> Told:
    asked = check(user, entity, DELETE.get(entity.type, "STANDARD.DELETE"), allowed=allowed)
    return request("DELETE", uri(entity, gone=True), asked, at=at, **odd)


def audited(user: str, entity: EntityId, at: float, message: str = "CREATE") -> Told:
    """An audit message: version 1 for a stream, 2 for what CDAP 6 still has."""
    details = dict(zip(("namespace", entity.type), entity.parts, strict=True))
    of: dict[str, Any] = (
        {"version": 1, "entityId": details | {"entity": entity.type.upper()}}
        if entity.type == "stream"
        else {"version": 2, "metadataEntity": {"details": details, "type": entity.type}}
    )
    return Told("audit", json.dumps(of | {"time": millis(at), "user": user, "type": message, "payload": {}}))


def logged(user: str, method: str, path: str, at: float, code: int = 200, marker: str = MARKER) -> Told:
    """A line of the router's access log, which knows whole seconds."""
    time = datetime.fromtimestamp(millis(at) // 1000, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return Told("router", f'{marker} 10.1.2.3 - {user} [{time}] "{method} {path} HTTP/1.1" - - {code} 46 - {marker}')


def put(user: str, entity: EntityId, at: float, **odd: Any) -> Told:
    return logged(user, "PUT", uri(entity), at, **odd)
