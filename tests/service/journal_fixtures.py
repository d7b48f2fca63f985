"""Checks that CDAP's extension asks with a stamp, and what the service has journalled of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ranger_cdap.service.events.event_files import INCOMING
from tests.authz.fixtures import policy
from tests.service.event_samples import AT, ID, PROCESS, Json
from tests.service.fixtures import World

CREATE, DELETE, GET, UPDATE = "STANDARD.CREATE", "STANDARD.DELETE", "STANDARD.GET", "STANDARD.UPDATE"
EXECUTE = "APPLICATION.EXECUTE"
EVERYTHING = [
    policy(1, {}, ["alice", "cdap", "root"], ["read", "write", "admin", "execute"]),
    policy(2, {"namespace": "*"}, ["alice", "cdap", "root"], ["read", "write", "admin", "execute"]),
    policy(3, {"namespace": "*", "dataset": "*"}, ["alice", "cdap", "root"], ["read", "write", "admin", "execute"]),
    policy(4, {"namespace": "*", "application": "*"}, ["alice"], ["read", "write", "admin", "execute"]),
    policy(5, {"namespace": "*", "artifact": "*"}, ["alice"], ["read", "write", "admin", "execute"]),
]
"""alice may do everything, and bob nothing."""

PREVIEW = "d812fc2c-e560-11f1-ab25-02fc00000001"
CREATES_KV: Json = {
    "principal": {"name": "alice"},
    "entity": {"type": "DATASET", "parts": ["ns1", "kv"]},
    "permissions": [CREATE],
    "hint": "DatasetInstanceService.create DatasetInstanceHandler.create",
    "check": {"id": ID, "process": PROCESS, "at": AT},
}


def question(*, user: str = "alice", of: tuple[str, ...] = (), **changes: Any) -> Json:
    """alice wants to create a dataset; a change of `...` takes a field away."""
    made = CREATES_KV | {"principal": {"name": user}} | changes
    if of:
        made["entity"] = {"type": of[0], "parts": list(of[1:])}
    return {name: value for name, value in made.items() if value is not ...}


APP = ("APPLICATION", "ns1", "shop", "-SNAPSHOT")


def ask(world: World, asked: Json, who: str = "enforce") -> Any:
    answer = world.ask(who, "POST", "/cdap/v1/enforce", asked)
    assert answer.status == 200, answer.body
    return answer.json


def on_disk(events: Path) -> list[Json]:
    """What a crash would leave: the lines of published files and of those that are not moved in yet."""
    files = [*events.glob("*.jsonl"), *(events / INCOMING).glob("*.jsonl")]
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def figure(world: World, name: str) -> float:
    lines = world.ask(None, "GET", "/metrics").body.decode().splitlines()
    (found,) = [float(line.split(" ")[1]) for line in lines if line.startswith(f"ranger_cdap_{name} ")]
    return found
