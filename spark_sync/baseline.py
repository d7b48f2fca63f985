"""The baseline: an inventory, taken once, of what existed before the sync job; all of it is known and grants nothing.

The first line is `{"v":1,"instance":"cdap","taken":"<ISO 8601>"}`, each other one is an entity,
`{"type":"dataset","parts":["ns1","purchases"]}`.
A single bad line refuses the file: an entity that is missing here could be taken over by whoever touches it first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput, reason

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    v: int
    instance: str
    taken: datetime


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    parts: list[str]


@dataclass(frozen=True, slots=True)
class Inventory:
    """What existed at `taken` (epoch milliseconds)."""

    instance: str
    taken: int
    entities: tuple[EntityId, ...]


@dataclass(frozen=True, slots=True)
class BaselineReport:
    """What `sync baseline` did: entities in the inventory, and how many of them became known by it."""

    taken: int
    entities: int
    became_known: int


def read_inventory(path: Path, *, instance: str, now: int) -> Inventory:
    """The inventory of a file.

    Raises:
        InvalidInput: it can't be read, is of another instance or of the future, or a line is not an entity.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as e:
        raise InvalidInput(f"the inventory `{path}` can't be read: {reason(e)}") from None
    if not lines:
        raise InvalidInput(f"the inventory `{path}` is empty; its first line says of what it is and when it was taken")
    header = _header(path, lines[0])
    taken = round(header.taken.timestamp() * 1000)
    if header.instance != instance:
        raise InvalidInput(f"the inventory `{path}` is of instance `{header.instance}`, not of `{instance}`")
    if taken > now:
        raise InvalidInput(
            f"the inventory `{path}` says that it was taken in the future, at {header.taken.isoformat()}"
        )
    return Inventory(instance, taken, tuple(_entities(path, lines)))


def take_baseline(settings: Settings, spark: SparkSession, path: Path, *, now: int) -> BaselineReport:
    """Enter the inventory of a file into the ledger; `now` is the time in epoch milliseconds.

    Raises:
        InvalidInput: the inventory is not acceptable; nothing was entered.
        SyncError: as `enter_baseline`.
    """
    return enter_baseline(settings, spark, read_inventory(path, instance=settings.cdap.instance, now=now))


def enter_baseline(settings: Settings, spark: SparkSession, inventory: Inventory) -> BaselineReport:
    """Enter an inventory into the ledger.

    Raises:
        LeaseHeld: a run is going on.
        SyncError: Spark or the ledger failed.
    """
    from spark_sync.delta_ledger import DeltaLedger
    from spark_sync.job import CHECKPOINTS
    from spark_sync.lease import lease
    from spark_sync.ledger_mark import remember
    from spark_sync.spark_errors import spark_errors

    with lease(settings.sync.state_dir), spark_errors():
        ledger = DeltaLedger(spark, settings.sync.state_dir, settings.cdap.instance)
        became_known = ledger.enter_baseline(inventory.taken, inventory.entities)
        remember(settings.sync.state_dir / CHECKPOINTS, ledger.marks())
    return BaselineReport(inventory.taken, len(inventory.entities), became_known)


def _header(path: Path, line: bytes) -> _Header:
    try:
        header = msgspec.json.decode(line, type=_Header)
    except (msgspec.DecodeError, ValueError) as e:
        raise InvalidInput(f"`{path}`, line 1: not the header of an inventory: {e}") from None
    if header.v != 1:
        raise InvalidInput(f"`{path}`, line 1: version {header.v} is not known; this program reads version 1")
    if header.taken.tzinfo is None:
        raise InvalidInput(f"`{path}`, line 1: `taken` needs a time zone, like 2026-11-21T04:00:00Z")
    return header


def _entities(path: Path, lines: list[bytes]) -> Iterator[EntityId]:
    for number, line in enumerate(lines[1:], start=2):
        try:
            entity = msgspec.json.decode(line, type=_Line)
            yield entity_id(entity.type, entity.parts)
        except (msgspec.DecodeError, ValueError, InvalidInput) as e:
            raise InvalidInput(f"`{path}`, line {number}: {e}; nothing was entered") from None
