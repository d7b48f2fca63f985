"""SQL of users, groups and roles, inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from ranger_cdap.testing.admin.model.documents import AdminRole, Group, User
from ranger_cdap.testing.admin.store.records import StoredGroup, StoredMember, StoredRole, StoredUser
from ranger_cdap.testing.admin.store.sql_tables import SIGNED, Records, SignedRecords, SqlTables, stamped

_OWNED = "id, owner, create_time, body"
_MEMBERS = (
    "SELECT m.id, m.create_time, m.group_id, g.name, m.user_id"
    " FROM membership m JOIN user_group g ON g.id = m.group_id "
)
_KNOWN = {
    "users": "SELECT 1 FROM user WHERE name = ?",
    "groups": "SELECT 1 FROM user_group WHERE name = ?",
    "roles": "SELECT 1 FROM role WHERE name = ?",
}
ROLES, USER_STORE = "roles", "user store"
"""The two version counters that downloads carry."""

ADMIN_ROLE = "ROLE_SYS_ADMIN"


@dataclass(frozen=True, slots=True)
class Login:
    """An account with a password: name, display name, password hash and roles in Ranger."""

    name: str
    shown_name: str
    password_hash: str
    roles: tuple[str, ...]

    @property
    def is_admin(self) -> bool:
        """Return True if the account is a Ranger administrator, with all rights."""
        return ADMIN_ROLE in self.roles


class PrincipalTables(SqlTables):
    """Users, groups and roles inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.users = Records(connection, "user", _OWNED, self._user, USER_STORE)
        self.groups = Records(connection, "user_group", _OWNED, _group, USER_STORE)
        self.roles = SignedRecords(connection, "role", SIGNED, stamped(StoredRole, AdminRole), ROLES)

    # Version counters

    def counter(self, name: str) -> tuple[int, int]:
        """Return a counter and the time of its last change (epoch ms); 1 before the first change."""
        row = self._row("SELECT value, update_time FROM counter WHERE name = ?", name)
        return (row[0], row[1]) if row else (1, 0)

    # Users

    def login(self, name: str) -> Login | None:
        """Return the account of that name if it has a password."""
        row = self._row("SELECT password_hash, roles, body FROM user WHERE name = ?", name)
        if not row or row[0] is None:
            return None
        user = msgspec.json.decode(row[2], type=User)
        shown = f"{user.first_name} {user.last_name}".strip() or name
        return Login(name, shown, row[0], tuple(row[1].split(",")))

    def set_password(self, name: str, password_hash: str) -> None:
        """Replace a user's password hash."""
        self._connection.execute("UPDATE user SET password_hash = ? WHERE name = ?", (password_hash, name))

    def _user(self, row: tuple[Any, ...]) -> StoredUser:
        groups = self._all(
            tuple,
            "SELECT g.id, g.name FROM membership m JOIN user_group g ON g.id = m.group_id WHERE m.user_id = ?"
            " ORDER BY m.id",
            row[0],
        )
        return StoredUser(row[0], row[1], row[2], msgspec.json.decode(row[3], type=User), tuple(groups))

    def insert_user(self, user: User, password_hash: str | None, owner: str | None, now: int) -> None:
        """Store a new user; the struct's password must already be empty."""
        self.users.change(
            now,
            "INSERT INTO user (name, password_hash, roles, create_time, owner, body) VALUES (?, ?, ?, ?, ?, ?)",
            *(user.name, password_hash, ",".join(user.user_role_list), now, owner, msgspec.json.encode(user)),
        )

    # Groups

    def insert_group(self, group: Group, owner: str | None, now: int) -> None:
        """Store a new group."""
        self.groups.change(
            now,
            "INSERT INTO user_group (name, create_time, owner, body) VALUES (?, ?, ?, ?)",
            *(group.name, now, owner, msgspec.json.encode(group)),
        )

    def add_member(self, group_id: int, user_id: int, now: int) -> tuple[int, int]:
        """Add a user to a group, idempotently; return the membership's id and creation time (epoch ms)."""
        self.groups.change(
            now,
            "INSERT OR IGNORE INTO membership (group_id, user_id, create_time) VALUES (?, ?, ?)",
            *(group_id, user_id, now),
        )
        row = self._row("SELECT id, create_time FROM membership WHERE group_id = ? AND user_id = ?", group_id, user_id)
        return row[0], row[1]

    def members(self, group: str | None = None) -> list[StoredMember]:
        """Return all memberships, or those of one group, in order of creation."""
        return self._all(
            lambda row: StoredMember(*row), _MEMBERS + "WHERE g.name = coalesce(?, g.name) ORDER BY m.id", group
        )

    def delete_member(self, member_id: int, now: int) -> bool:
        """Remove a user from a group; false if the membership does not exist."""
        return self.groups.change(now, "DELETE FROM membership WHERE id = ?", member_id)

    def missing(self, kind: str, names: Iterable[str]) -> list[str]:
        """Return the names that no principal of that kind (`users`, `groups`, `roles`) has, in their order."""
        return [name for name in dict.fromkeys(names) if not self._row(_KNOWN[kind], name)]


def _group(row: tuple[Any, ...]) -> StoredGroup:
    return StoredGroup(row[0], row[1], row[2], msgspec.json.decode(row[3], type=Group))
