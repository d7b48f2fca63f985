"""What CDAP's sources write of a request, for histories that tests make up.

A request that the decision service allowed is in its stream twice, as on a running system: the check, journalled for
the caller that may `enforce`, and the record of another caller, under another secret, with the same stamps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.wire.watermark import WATERMARK, Watermark

CALLER: Final = "cdap-master"
"""The caller with the role `audit`, who brings records."""
ENFORCER: Final = "cdap-enforce"
"""The caller with the role `enforce`, whose checks are journalled."""
PROCESS: Final = hashlib.sha256(b"CDAP's first process").hexdigest()[:32]
OTHER_PROCESS: Final = hashlib.sha256(b"CDAP's second process").hexdigest()[:32]
JOURNAL: Final = hashlib.sha256(b"the journal").hexdigest()[:32]
MARKER: Final = "Zq7rT2mVx9Kc4LwB"
TAKEN: Final = 1_795_233_600_000
"""When the inventory was taken; histories begin an hour later."""
START: Final = TAKEN + 3_600_000

# How CDAP's REST API names an entity, and what its handler checks (cdap-facts.md §3 and §4).
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
_ADDS_A_SCHEDULE = "ProgramScheduleService.add"

Json = dict[str, Any]


@dataclass(frozen=True)
class Lines:
    """Lines of one source, joined by line breaks: most often one, or a request's check and its record."""

    source: str
    text: str

    def __len__(self) -> int:
        return self.text.count("\n") + 1


def millis(at: float) -> int:
    """The time of that second of a history."""
    return START + round(at * 1000)


def uri(entity: EntityId, *, gone: bool = False) -> str:
    text = URIS[entity.type].format(*(part.replace("*", "%2A").replace("?", "%3F") for part in entity.parts))
    return (
        text.replace("/v3/namespaces", "/v3/unrecoverable/namespaces") if gone and entity.type == "namespace" else text
    )


def check(user: str, entity: EntityId, permission: str, *, allowed: bool = True, version: str = "") -> Json:
    """A check as CDAP asks it: of the application where it is about a schedule, with the version where it has one."""
    asked = entity.parent if entity.type == "schedule" and entity.parent else entity
    parts = [*asked.parts, *([version or VERSIONED[asked.type]] if asked.type in VERSIONED else [])]
    kind = asked.type.upper().replace("SECURE_KEY", "SECUREKEY")
    return {"principal": user, "type": kind, "parts": parts, "permissions": [permission], "allowed": allowed}


def request(
    method: str,
    path: str,
    *checks: Json,
    at: float,
    code: int = 200,
    body: float = 0.0,
    seconds: float = 0.01,
    caller: str = CALLER,
    enforcer: str = ENFORCER,
    instance: str = "cdap",
    name: str = "",
    version: int = 2,
    process: str = PROCESS,
    journalled: bool = True,
    recorded: bool = True,
) -> Lines:
    """The journalled checks of a request and its record, in their stored form.

    Args:
        at: when the request began.
        body: seconds until it was checked; long if its body comes slowly.
        seconds: from the check to the answer.
        name: the record's id, made of what it says unless given.
        version: of the record; in version 1 checks have no stamps, and none is journalled.
        journalled: whether the decision service was asked; a record without it may be anyone's who stores.
        recorded: whether the record arrived.
    """
    asked, ended = millis(at + body), millis(at + body + seconds)
    record = {
        "v": version,
        "instance": instance,
        "method": method,
        "uri": path,
        "code": code,
        "checks": list(checks) if version == 1 else [_stamped(one, method, path, asked, process) for one in checks],
        "started": millis(at),
        "ended": ended,
    }
    stored = name or hashlib.sha256(json.dumps([caller, record]).encode()).hexdigest()
    lines = [_journalled(one, enforcer, instance, path) for one in _to_journal(record)] if journalled else []
    if recorded:
        lines.append({"id": stored, "caller": caller, "received": ended + 2, "record": record})
    return Lines("data-plane", "\n".join(map(json.dumps, lines)))


def _stamped(check: Json, method: str, path: str, at: int, process: str) -> Json:
    text = json.dumps([check, method, path, at, process])
    return check | {"id": hashlib.sha256(text.encode()).hexdigest()[:32], "process": process, "at": at}


def _to_journal(record: Json) -> Iterator[Json]:
    """The checks that the decision service journals."""
    for one in record["checks"]:
        if "id" in one and one["allowed"] and load_creations().journal_row(one["type"], one["permissions"]):
            yield one


def _journalled(check: Json, caller: str, instance: str, path: str) -> Json:
    said: Json = {"v": 1, "instance": instance}
    said |= {name: check[name] for name in ("process", "at", "principal", "type", "parts", "permissions")}
    said["frame"] = _ADDS_A_SCHEDULE if "/schedules/" in path else ""
    return {"id": check["id"], "caller": caller, "received": check["at"] + 1, "check": said}


def created(user: str, entity: EntityId, at: float, *, allowed: bool = True, of: str = "", **odd: Any) -> Lines:
    """Somebody creates it; `of`: the version of an artifact."""
    method = "POST" if entity.type == "artifact" else "PUT"
    asked = check(user, entity, CREATE.get(entity.type, "STANDARD.CREATE"), allowed=allowed, version=of)
    return request(method, uri(entity), asked, at=at, **odd)


def deleted(user: str, entity: EntityId, at: float, *, allowed: bool = True, of: str = "", **odd: Any) -> Lines:
    """Somebody deletes it, or the version `of` an artifact."""
    asked = check(user, entity, DELETE.get(entity.type, "STANDARD.DELETE"), allowed=allowed, version=of)
    path = uri(entity, gone=True) + (f"/versions/{of}" if of else "")
    return request("DELETE", path, asked, at=at, **odd)


def audited(user: str, entity: EntityId, at: float, message: str = "CREATE") -> Lines:
    """An audit message: version 1 for a stream, 2 for what CDAP 6 still has."""
    details = dict(zip(("namespace", entity.type), entity.parts, strict=True))
    of: Json = (
        {"version": 1, "entityId": details | {"entity": entity.type.upper()}}
        if entity.type == "stream"
        else {"version": 2, "metadataEntity": {"details": details, "type": entity.type}}
    )
    return Lines("audit", json.dumps(of | {"time": millis(at), "user": user, "type": message, "payload": {}}))


def logged(
    user: str, method: str, path: str, at: float, code: int = 200, marker: str = MARKER, response: str = ""
) -> Lines:
    """A line of the router's access log, which knows whole seconds; of an upload it shows the response."""
    time = datetime.fromtimestamp(millis(at) // 1000, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    end = f"{len(response)} {response}" if response else "46 -"
    return Lines("router", f'{marker} 10.1.2.3 - {user} [{time}] "{method} {path} HTTP/1.1" - - {code} {end} {marker}')


def put(user: str, entity: EntityId, at: float, **odd: Any) -> Lines:
    return logged(user, "PUT", uri(entity), at, **odd)


def write_watermark(directory: Path, at: int, journal: str = JOURNAL) -> None:
    """As the decision service does beside what it stores: all that it received before `at` can be read."""
    mark = Watermark(v=1, service=journal, watermark=at, records=True)
    (directory / WATERMARK).write_bytes(msgspec.json.encode(mark) + b"\n")
