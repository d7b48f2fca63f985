"""Security zones: parts of services' resources whose policies stand apart and have administrators of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ranger_cdap.embedded_admin.model.documents import PolicyResource, Zone, to_json_object
from ranger_cdap.embedded_admin.rules.grant_rules import matches
from ranger_cdap.embedded_admin.store.records import Stamp

_ZONES = "SELECT id, '', 0, created_by, updated_by, create_time, update_time, body FROM zone "


@dataclass(frozen=True, slots=True)
class StoredZone:
    """A zone with its stamp."""

    stamp: Stamp
    document: Zone

    @property
    def name(self) -> str:
        """Its name."""
        return self.document.name

    def answer(self) -> dict[str, Any]:
        """Ranger's JSON."""
        return self.stamp.fields() | to_json_object(self.document)

    def resources(self, service: str) -> list[dict[str, list[str]]]:
        """What of a service is in the zone."""
        own = self.document.services.get(service)
        return own.resources if own is not None else []

    def holds(self, service: str, resource: Mapping[str, list[str]]) -> bool:
        """Whether all of a resource is in the zone."""
        return any(
            all(level in resource and all(matches(values, value) for value in resource[level]) for level, values in own)
            for own in (_patterns(row) for row in self.resources(service))
        )


class ZoneTable:
    """The zones inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self) -> list[StoredZone]:
        """All, in the order they were made."""
        return [_zone(row) for row in self._connection.execute(_ZONES + "ORDER BY id").fetchall()]

    def by_name(self, name: str) -> StoredZone | None:
        """The one of that name."""
        return next((zone for zone in self.all() if zone.name == name), None)

    def by_id(self, zone_id: int) -> StoredZone | None:
        """The one of that id."""
        return next((zone for zone in self.all() if zone.stamp.id == zone_id), None)

    def insert(self, zone: Zone, author: str | None, now: int) -> None:
        """Store a new one."""
        self._connection.execute(
            "INSERT INTO zone (name, created_by, updated_by, create_time, update_time, body) VALUES (?, ?, ?, ?, ?, ?)",
            (zone.name, author, author, now, now, msgspec.json.encode(zone)),
        )

    def update(self, zone_id: int, zone: Zone, author: str | None, now: int) -> None:
        """Replace one; its name stays."""
        self._connection.execute(
            "UPDATE zone SET updated_by = ?, update_time = ?, body = ? WHERE id = ?",
            (author, now, msgspec.json.encode(zone), zone_id),
        )

    def delete(self, zone_id: int) -> None:
        """Remove one."""
        self._connection.execute("DELETE FROM zone WHERE id = ?", (zone_id,))


def _zone(row: tuple[Any, ...]) -> StoredZone:
    return StoredZone(Stamp(*row[:7]), msgspec.json.decode(row[7], type=Zone))


def _patterns(resource: Mapping[str, list[str]]) -> list[tuple[str, PolicyResource]]:
    return [(level, PolicyResource(values=values)) for level, values in resource.items()]
