"""Inventories: the entities of a CDAP instance at a time, as `sync inventory` writes them.

The first line is `{"v":1,"instance":"cdap","taken":"<ISO 8601>"}`, each other one is an entity,
`{"type":"dataset","parts":["ns1","purchases"]}`; that of an artifact lists its versions too, `"versions":["1.0.0"]`.
A single bad line rejects the file: anyone who touches a missing entity first could become its creator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final

import msgspec

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.config.named_file import read_named
from ranger_cdap.disk import os_errors_as
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.json_text import decode

MARGIN: Final = 300_000
"""An inventory is dated this many milliseconds before its first request: CDAP's clock may be behind ours.

Entities created in between and listed are known, so an earlier date is safe.
"""


_Version = Annotated[str, msgspec.Meta(min_length=1)]

VERSIONED: Final = ("artifact", "application")
"""Entity types of which CDAP deletes single versions."""


class _InventoryHeader(msgspec.Struct, forbid_unknown_fields=True):
    v: int
    instance: str
    taken: datetime


class _InventoryLine(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    parts: list[str]
    versions: Annotated[list[_Version], msgspec.Meta(min_length=1)] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class Inventory:
    """Entities at `taken` (epoch milliseconds); `versions`: all versions of an entity, if known."""

    instance: str
    taken: int
    entities: tuple[EntityId, ...]
    versions: Mapping[EntityId, tuple[str, ...]]

    @cached_property
    def types(self) -> frozenset[str]:
        """Return the entity types it covers: those of which it has an entity."""
        return frozenset(entity.type for entity in self.entities)

    @cached_property
    def _there(self) -> frozenset[EntityId]:
        return frozenset(self.entities)

    def lacks(self, entity: EntityId) -> bool:
        """Return whether the entity did not exist: it, or what it is in, is missing though its type is covered.

        Entities that no inventory lists, as those of CDAP's own namespace, are never missing.
        """
        if load_creations().skips(entity):
            return False
        if entity.type in self.types and entity not in self._there:
            return True
        return entity.parent is not None and self.lacks(entity.parent)


def read_inventory(path: Path, *, instance: str, now: int) -> Inventory:
    """Read an inventory from a file.

    Raises:
        InvalidInput: it cannot be read, is of another instance or of the future, or a line is not an entity.
    """
    with os_errors_as(InvalidInput, f"the inventory `{path}` cannot be read"):
        lines = read_named(path).splitlines()
    if not lines:
        raise InvalidInput(f"the inventory `{path}` is empty; its first line must name its instance and time")
    header = _header(path, lines[0])
    taken = round(header.taken.timestamp() * 1000)
    if header.instance != instance:
        raise InvalidInput(f"the inventory `{path}` is of instance `{header.instance}`, not of `{instance}`")
    if taken > now:
        raise InvalidInput(f"the inventory `{path}` is dated in the future: {header.taken.isoformat()}")
    found = list(_entities(path, lines))
    entities = tuple(dict.fromkeys(entity for entity, _ in found))
    return Inventory(instance, taken, entities, _known_versions(found))


def read_entities(path: Path, *, instance: str, now: int) -> tuple[EntityId, ...]:
    """Return the entities of an inventory, each once, in its order; `now` in epoch milliseconds.

    Raises:
        InvalidInput: it has none, or as `read_inventory`.
    """
    found = read_inventory(path, instance=instance, now=now).entities
    if not found:
        raise InvalidInput(f"`{path}` lists no entities, so there is nothing to review")
    return found


def _header(path: Path, line: bytes) -> _InventoryHeader:
    header = decode(
        line,
        _InventoryHeader,
        lambda why: InvalidInput(f"`{path}`, line 1: not the header of an inventory: {why}"),
    )
    if header.v != 1:
        raise InvalidInput(f"`{path}`, line 1: version {header.v} is unknown; this program reads version 1")
    if header.taken.tzinfo is None:
        raise InvalidInput(f"`{path}`, line 1: `taken` needs a time zone, like 2026-11-21T04:00:00Z")
    return header


def _entities(path: Path, lines: list[bytes]) -> Iterator[tuple[EntityId, tuple[str, ...] | None]]:
    """Return each entity and its versions, `None` if the line names none."""
    for number, line in enumerate(lines[1:], start=2):
        try:
            found = decode(line, _InventoryLine)
            entity = entity_id(found.type, found.parts)
            yield entity, _versions_of(entity, found)
        except (ValueError, InvalidInput) as e:
            raise InvalidInput(f"`{path}`, line {number}: {e}; the whole inventory is refused") from None


def _versions_of(entity: EntityId, line: _InventoryLine) -> tuple[str, ...] | None:
    if line.versions is msgspec.UNSET:
        return None
    if entity.type not in VERSIONED:
        raise InvalidInput(f"a {entity.type} has no versions")
    return tuple(sorted(set(line.versions)))


def _known_versions(found: Iterable[tuple[EntityId, tuple[str, ...] | None]]) -> dict[EntityId, tuple[str, ...]]:
    """Return the versions of each entity by all its lines; unknown if one of them names none."""
    versions: dict[EntityId, tuple[str, ...]] = {}
    unknown = {entity for entity, known in found if known is None}
    for entity, known in found:
        if entity not in unknown:
            versions[entity] = tuple(sorted({*versions.get(entity, ()), *(known or ())}))
    return versions
