"""Security zones: parts of services' resources with their own policies and administrators."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.testing.admin.model.documents import Zone, to_json_object
from ranger_cdap.testing.admin.rules.grant_rules import matches
from ranger_cdap.testing.admin.store.records import Stamp
from ranger_cdap.testing.admin.store.sql_tables import Records

_ZONES = "SELECT id, '', 0, created_by, updated_by, create_time, update_time, body FROM zone "


@dataclass(frozen=True, slots=True)
class StoredZone:
    """A zone with its stamp."""

    stamp: Stamp
    document: Zone

    @property
    def name(self) -> str:
        """The name."""
        return self.document.name

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        return self.stamp.fields() | to_json_object(self.document)

    def holds(self, service: str, resource: Mapping[str, list[str]]) -> bool:
        """Return whether the zone contains the whole resource."""
        return any(
            row.keys() <= resource.keys()
            and all(matches(PolicyResource(values=row[level]), value) for level in row for value in resource[level])
            for row in self.document.rows(service)
        )


class ZoneTables(Records[StoredZone]):
    """Security zones inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection, _ZONES, _zone)

    def insert(self, zone: Zone, author: str | None, now: int) -> None:
        """Store a new one."""
        self._connection.execute(
            "INSERT INTO zone (name, created_by, updated_by, create_time, update_time, body) VALUES (?, ?, ?, ?, ?, ?)",
            (zone.name, author, author, now, now, msgspec.json.encode(zone)),
        )

    def update(self, zone_id: int, zone: Zone, author: str | None, now: int) -> None:
        """Replace one."""
        self._connection.execute(
            "UPDATE zone SET name = ?, updated_by = ?, update_time = ?, body = ? WHERE id = ?",
            (zone.name, author, now, msgspec.json.encode(zone), zone_id),
        )

    def delete(self, zone_id: int) -> None:
        """Remove one."""
        self._connection.execute("DELETE FROM zone WHERE id = ?", (zone_id,))


def _zone(row: tuple[Any, ...]) -> StoredZone:
    return StoredZone(Stamp(*row[:7]), msgspec.json.decode(row[7], type=Zone))
