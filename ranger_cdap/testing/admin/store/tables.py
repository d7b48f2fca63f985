"""SQL of definitions, services and policies, inside one transaction."""

from __future__ import annotations

import sqlite3
from typing import Any, Literal

import msgspec

from ranger_cdap.testing.admin.model.documents import AdminPolicy, AdminServiceDef, Service, Zone
from ranger_cdap.testing.admin.rules.tag_rules import KeptTags
from ranger_cdap.testing.admin.store.change_log import ChangeLog, LoggedChange
from ranger_cdap.testing.admin.store.plugin_list import PluginList
from ranger_cdap.testing.admin.store.principals import PrincipalTables
from ranger_cdap.testing.admin.store.records import (
    Stamp,
    StoredDefinition,
    StoredPolicy,
    StoredService,
    StoredZone,
    listed_policy,
)
from ranger_cdap.testing.admin.store.sql_tables import SIGNED, STAMP, Records, SignedRecords, SqlTables, stamped

_SERVICE = f"{STAMP}, body, policy_version, policy_update_time, tag_version, tag_update_time"
_POLICIES = f"SELECT {STAMP}, signature, body FROM policy "  # noqa: S608 - a constant


class Tables(SqlTables):
    """The store inside one transaction."""

    def __init__(self, connection: sqlite3.Connection, plugins: PluginList) -> None:
        super().__init__(connection)
        self.principals = PrincipalTables(connection)
        self.changes = ChangeLog(connection)
        self.plugins = plugins
        self.definitions = Records(
            connection, "definition", f"{STAMP}, body", stamped(StoredDefinition, AdminServiceDef)
        )
        self.services = Records(connection, "service", _SERVICE, stamped(StoredService, Service))
        self.zones = SignedRecords(connection, "zone", SIGNED, stamped(StoredZone, Zone))

    # Definitions

    def insert_definition(self, document: AdminServiceDef, author: str | None, now: int) -> StoredDefinition:
        """Store a new definition, as version 1."""
        stored_id = self._row(
            "INSERT INTO definition (name, guid, version, created_by, updated_by, create_time, update_time, body)"
            " VALUES (?, ?, 1, ?, ?, ?, ?, ?) RETURNING id",
            *(document.name, document.guid, author, author, now, now, msgspec.json.encode(document)),
        )[0]
        return StoredDefinition(Stamp(stored_id, document.guid, 1, author, author, now, now), document)

    def update_definition(self, old: StoredDefinition, document: AdminServiceDef, author: str | None, now: int) -> None:
        """Replace a definition; its version and the policy version of its services go up by one."""
        self._connection.execute(
            "UPDATE definition SET name = ?, version = version + 1, updated_by = ?, update_time = ?, body = ?"
            " WHERE id = ?",
            (document.name, author, now, msgspec.json.encode(document), old.stamp.id),
        )
        self._connection.execute(
            "UPDATE service SET policy_version = policy_version + 1, policy_update_time = ? WHERE type = ?",
            (now, old.document.name),
        )

    # Services

    def insert_service(self, document: Service, author: str | None, now: int) -> StoredService:
        """Store a new service, its policies as version 1."""
        stored_id = self._row(
            "INSERT INTO service (name, guid, version, created_by, updated_by, create_time, update_time, body, type,"
            " policy_version, policy_update_time, tag_update_time)"
            " VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, 1, ?, ?) RETURNING id",
            *(document.name, document.guid, author, author, now, now, msgspec.json.encode(document)),
            *(document.type, now, now),
        )[0]
        return StoredService(Stamp(stored_id, document.guid, 1, author, author, now, now), document, 1, now, 1, now)

    def update_service(self, service_id: int, document: Service, author: str | None, now: int) -> None:
        """Replace a service except its type; its version goes up by one. A new name is written into its policies."""
        self._connection.execute(
            "UPDATE service SET name = ?, version = version + 1, updated_by = ?, update_time = ?, body = ?"
            " WHERE id = ?",
            (document.name, author, now, msgspec.json.encode(document), service_id),
        )
        self._connection.execute(
            "UPDATE policy SET body = CAST(json_set(CAST(body AS TEXT), '$.service', ?) AS BLOB)"
            " WHERE service_id = ? AND json_extract(CAST(body AS TEXT), '$.service') <> ?",
            (document.name, service_id, document.name),
        )

    def raise_policy_version(self, service_id: int, now: int, change: LoggedChange | None = None) -> None:
        """Raise the policy version of a service, and of the services linked to it if it is a tag service."""
        raised = self._all(
            tuple,
            "UPDATE service SET policy_version = policy_version + 1, policy_update_time = ? WHERE id = ?"
            " OR json_extract(CAST(body AS TEXT), '$.tagService') = (SELECT name FROM service WHERE id = ?)"
            " RETURNING id, policy_version",
            *(now, service_id, service_id),
        )
        if change is not None:
            for raised_id, version in raised:
                self.changes.write(raised_id, version, change)

    def tags(self, service_id: int) -> KeptTags:
        """Return the tags of a service's resources."""
        row = self._row("SELECT tags FROM service WHERE id = ?", service_id)
        return msgspec.json.decode(row[0], type=KeptTags)

    def update_tags(self, service: StoredService, tags: KeptTags, now: int) -> None:
        """Replace the tags of a service's resources; their version goes up by one."""
        self._connection.execute(
            "UPDATE service SET tags = ?, tag_version = tag_version + 1, tag_update_time = ? WHERE id = ?",
            (msgspec.json.encode(tags), now, service.stamp.id),
        )

    # Policies

    def policies(self, service_id: int, *, zone: str | None = None, enabled_only: bool = False) -> list[StoredPolicy]:
        """Return those of a service, in order of creation: of one zone, of no zone (empty), or of all (None)."""
        return self._all(
            _policy,
            _POLICIES + "WHERE service_id = ? AND is_enabled >= ? AND zone = coalesce(?, zone) ORDER BY id",
            *(service_id, int(enabled_only), zone),
        )

    def policy_by_id(self, policy_id: int) -> StoredPolicy | None:
        """Return the one with that id."""
        return self._one(_policy, _POLICIES + "WHERE id = ?", policy_id)

    def policy_by(
        self, column: Literal["name", "guid", "signature"], value: str, service_id: int, zone: str
    ) -> StoredPolicy | None:
        """Return the policy of a zone with that name or guid, or the enabled one with that signature."""
        where = f"WHERE {column} = ? AND service_id = ? AND zone = ? AND is_enabled >= ?"
        return self._one(_policy, _POLICIES + where, value, service_id, zone, int(column == "signature"))

    def insert_policy(
        self, service: StoredService, policy: AdminPolicy, signature: str, author: str | None, now: int
    ) -> StoredPolicy:
        """Store a new policy, as version 1."""
        stored_id = self._row(
            "INSERT INTO policy (name, guid, version, created_by, updated_by, create_time, update_time, body,"
            " service_id, zone, is_enabled, signature)"
            " VALUES (?, ?, 1, ?, ?, ?, ?, x'', ?, ?, ?, ?) RETURNING id",
            *(policy.name, policy.guid, author, author, now, now),
            *(service.stamp.id, policy.zone_name, int(policy.is_enabled), signature),
        )[0]
        stamp = Stamp(stored_id, policy.guid, 1, author, author, now, now)
        return self._write_policy(service, StoredPolicy(stamp, signature, b""), policy)

    def update_policy(
        self,
        service: StoredService,
        old: StoredPolicy,
        policy: AdminPolicy,
        signature: str,
        author: str | None,
        now: int,
    ) -> StoredPolicy:
        """Replace a policy; its version goes up by one."""
        was = old.stamp
        stamp = Stamp(was.id, policy.guid, was.version + 1, was.created_by, author, was.create_time, now)
        self._connection.execute(
            "UPDATE policy SET name = ?, guid = ?, version = ?, updated_by = ?, update_time = ?, zone = ?,"
            " is_enabled = ?, signature = ? WHERE id = ?",
            (
                *(policy.name, policy.guid, stamp.version, author, now, policy.zone_name),
                *(int(policy.is_enabled), signature, was.id),
            ),
        )
        return self._write_policy(service, StoredPolicy(stamp, signature, b""), policy)

    def _write_policy(self, service: StoredService, stored: StoredPolicy, policy: AdminPolicy) -> StoredPolicy:
        stamp = stored.stamp
        listed = listed_policy(
            policy, policy_id=stamp.id, guid=stamp.guid, version=stamp.version, service_type=service.document.type
        )
        self._connection.execute("UPDATE policy SET body = ? WHERE id = ?", (listed, stamp.id))
        return StoredPolicy(stamp, stored.signature, listed)

    def delete_policy(self, policy_id: int) -> None:
        """Remove a policy."""
        self._connection.execute("DELETE FROM policy WHERE id = ?", (policy_id,))


def _policy(row: tuple[Any, ...]) -> StoredPolicy:
    return StoredPolicy(Stamp(*row[:7]), row[7], row[8])
