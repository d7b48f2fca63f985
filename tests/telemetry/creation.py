"""A creation in CDAP, as its extension tells of it, at a served decision service; and runs of the sync job."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.service.event_samples import PROCESS, stamped
from tests.service.serve_process import PASSWORD, Served, command, configuration, until

STAMP = "c0ffee" + "5eed" * 6 + "99"


def configured(directory: Path, ranger_url: str, **changes: str) -> Path:
    """A configuration of both programs: the service stores what the job reads."""
    config = configuration(directory, ranger_url, **changes)
    with config.open("a", encoding="utf-8") as file:
        file.write(
            f"""
[sync]
username = "sync"
password = "{PASSWORD.reveal()}"
state_dir = "{directory / "state"}"
[[sync.sources]]
name = "data-plane"
kind = "data-plane"
path = "{directory / "events"}"
callers = ["audit"]
"""
        )
    return config


def creates(service: Served, dataset: str, stamp: str = STAMP) -> None:
    """Alice creates a dataset: the check, and then what CDAP answered."""
    at = time.time_ns() // 1_000_000
    question = {
        "principal": {"name": "alice"},
        "entity": {"type": "DATASET", "parts": ["ns3", dataset]},
        "permissions": ["STANDARD.CREATE"],
        "hint": "DatasetInstanceService.create DatasetInstanceHandler.create",
        "check": {"id": stamp, "process": PROCESS, "at": at},
    }
    answer = service.ask("enforce", "POST", "/cdap/v1/enforce", question)
    assert answer.json["allowed"], answer.body
    record = stamped(
        uri=f"/v3/namespaces/ns3/data/datasets/{dataset}",
        check_parts=["ns3", dataset],
        check_id=stamp,
        check_at=at,
        started=at - 1,
        ended=time.time_ns() // 1_000_000 + 1,
    )
    stored = service.ask("audit", "POST", "/cdap/v1/audit", {"records": [record]})
    assert stored.json == {"stored": 1, "refused": []}


def until_decidable(events: Path) -> None:
    """Until the watermark has passed what was sent before."""
    since = time.time_ns() // 1_000_000
    until(lambda: json.loads((events / ".watermark").read_text(encoding="utf-8"))["watermark"] > since)


def take_baseline(config: Path, directory: Path) -> None:
    """Before the first creation, nothing but a namespace exists."""
    taken = datetime.now(UTC).isoformat()
    inventory = directory / "inventory.jsonl"
    inventory.write_text(f'{{"v":1,"instance":"cdap","taken":"{taken}"}}\n{{"type":"namespace","parts":["ns3"]}}\n')
    until_decidable(directory / "events")
    sync(config, directory, "sync", "baseline", "--inventory", str(inventory))


def sync(config: Path, directory: Path, *arguments: str, **environment: str) -> str:
    """What a command prints; it must succeed."""
    process = command("--config", str(config), *arguments, directory=directory, **environment)
    printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, (printed, errors)
    return printed


def parsed(printed: str) -> Any:
    return json.loads(printed)
