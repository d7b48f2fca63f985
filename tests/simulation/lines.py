"""What CDAP's extension, the decision service, the router and CDAP's audit write of a request of the model."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ranger_cdap.cdap.entity import EntityId
from tests.simulation.cdap import MASTER, Act, Request

INSTANCE = "cdap"
ENFORCER, AUDITOR = "cdap-enforce", "cdap-audit"
MARKER = "Zq7rT2mVx9Kc4LwB"

Json = dict[str, Any]

_URIS = {
    "namespace": "/v3/namespaces/{0}",
    "dataset": "/v3/namespaces/{0}/data/datasets/{1}",
    "application": "/v3/namespaces/{0}/apps/{1}",
    "artifact": "/v3/namespaces/{0}/artifacts/{1}",
}


@dataclass
class Stamps:
    """The ids and clocks of CDAP's processes; a restart begins another process.

    `steps`: when the clock of their host was set, and by how much.
    """

    rng: random.Random
    offsets: list[int]
    steps: list[tuple[int, int]] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)

    def process(self, number: int) -> str:
        while len(self.processes) <= number:
            self.processes.append(f"{self.rng.getrandbits(128):032x}")
        return self.processes[number]

    def clock(self, number: int, now: int) -> int:
        return now + self.offsets[number % len(self.offsets)] + sum(by for at, by in self.steps if at <= now)

    def id(self) -> str:
        return f"{self.rng.getrandbits(128):032x}"


def method_and_path(request: Request) -> tuple[str, str]:
    entity = request.entities[0]
    uri = _URIS[entity.type].format(*entity.parts)
    match request.act:
        case Act.CREATE:
            return ("POST" if entity.type == "artifact" else "PUT"), uri
        case Act.UPLOAD:
            return "POST", f"/v3/namespaces/{entity.parts[0]}/apps"
        case Act.DELETE_VERSION:
            return "DELETE", f"{uri}/versions/{request.version}"
        case Act.DELETE_ALL:
            return "DELETE", f"/v3/namespaces/{entity.parts[0]}/data/datasets"
        case Act.TRUNCATE:
            return "POST", f"{uri}/admin/truncate"
        case Act.DELETE:
            return "DELETE", uri.replace("/v3/", "/v3/unrecoverable/") if entity.type == "namespace" else uri


def permission(request: Request) -> str:
    return "STANDARD.CREATE" if request.act in (Act.CREATE, Act.UPLOAD) else "STANDARD.DELETE"


def check_of(entity: EntityId, request: Request, stamp: Json) -> Json:
    """A check as the extension puts it into a record."""
    version = {"artifact": request.version or "1", "application": "-SNAPSHOT"}.get(entity.type)
    return {
        "principal": request.principal,
        "type": entity.type.upper(),
        "parts": [*entity.parts, *([version] if version else [])],
        "permissions": [permission(request)],
        "allowed": request.allowed,
        **stamp,
    }


def record_of(
    request: Request, checks: list[Json], clock: tuple[int, int], *, stamped: bool = True, by_cdap: bool = False
) -> Json:
    """The record as the extension sends it; earlier releases of it stamp no checks.

    `by_cdap`: CDAP sent the request to itself, so it has no address of a client.
    """
    method, path = method_and_path(request)
    if not stamped:
        stamps = ("id", "process", "at")
        checks = [{name: value for name, value in check.items() if name not in stamps} for check in checks]
    started, ended = clock
    return {
        "v": 2 if stamped else 1,
        "instance": INSTANCE,
        "method": method,
        "uri": path,
        "code": request.status,
        **({} if by_cdap else {"user_ip": "10.1.2.3"}),
        "started": started,
        "ended": ended,
        "checks": checks,
    }


def router_line(request: Request, at: int, user: str) -> str:
    """The router's line; of an upload it shows the response, which names what was made."""
    method, path = method_and_path(request)
    time = datetime.fromtimestamp(at // 1000, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    head = f'{MARKER} 10.1.2.3 - {user} [{time}] "{method} {path} HTTP/1.1"'
    if request.act is Act.UPLOAD and request.status == 200:
        artifact, application = (entity.parts[1] for entity in request.entities)
        response = json.dumps({"name": application, "artifact": {"name": artifact, "version": request.version}})
        return f"{head} - - {request.status} {len(response)} {response} {MARKER}"
    return f"{head} - - {request.status} 46 - {MARKER}"


def message(user: str, entity: EntityId, at: int, kind: str) -> str:
    """CDAP's audit message about a dataset."""
    details = {"namespace": entity.parts[0], "dataset": entity.parts[1]}
    said = {"version": 2, "time": at, "metadataEntity": {"details": details, "type": "dataset"}}
    return json.dumps(said | {"user": user, "type": kind, "payload": {}})


def principal_of(request: Request) -> str:
    """Whom CDAP checks: it finishes the upload of a jar as its master user, unless credentials are propagated."""
    return MASTER if request.act is Act.UPLOAD and not request.propagated else request.user
