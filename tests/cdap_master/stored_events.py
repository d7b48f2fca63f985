"""What the decision service of a world has stored: records of CDAP's requests, and journalled checks."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ranger_cdap.wire.event_wire import JournalledCheck, Record
from tests.cdap_master.fixtures import World


def records(world: World) -> list[Record]:
    """The records, in the order in which they came."""
    return [msgspec.convert(line["record"], Record) for line in stored(world) if "record" in line]


def checks(world: World) -> dict[str, JournalledCheck]:
    """The journalled checks, by id."""
    return {line["id"]: msgspec.convert(line["check"], JournalledCheck) for line in stored(world) if "check" in line}


def stored(world: World) -> list[dict[str, Any]]:
    """All lines."""
    files = sorted(world.settings.service.events_dir.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
