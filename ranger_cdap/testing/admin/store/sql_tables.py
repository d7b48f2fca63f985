"""Rows of tables as records, inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final, Generic

import msgspec

from ranger_cdap.testing.admin.model.documents import AdminRole, Zone
from ranger_cdap.testing.admin.model.responses import T
from ranger_cdap.testing.admin.store.records import Stamp

Row = tuple[Any, ...]

STAMP: Final = "id, guid, version, created_by, updated_by, create_time, update_time"
SIGNED: Final = "id, '', 0, created_by, updated_by, create_time, update_time, body"


def stamped(record: Callable[..., T], document: type[Any]) -> Callable[[Row], T]:
    """Return what reads a row of a stamp, a document and what follows them."""
    return lambda row: record(Stamp(*row[:7]), msgspec.json.decode(row[7], type=document), *row[8:])


class SqlTables:
    """Some tables of the database, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def _all(self, read: Callable[[Row], T], sql: str, *values: Any) -> list[T]:
        """Return the records of all rows."""
        return [read(row) for row in self._connection.execute(sql, values).fetchall()]

    def _one(self, read: Callable[[Row], T], sql: str, *values: Any) -> T | None:
        """Return the record of the first row; None if there is no row."""
        row = self._row(sql, *values)
        return None if row is None else read(row)

    def _row(self, sql: str, *values: Any) -> Any:
        """Return the first row as it is."""
        return self._connection.execute(sql, values).fetchone()


class Records(SqlTables, Generic[T]):
    """Records with an id and a name, which no two have, inside one transaction; a change raises their `counter`."""

    def __init__(
        self, connection: sqlite3.Connection, table: str, columns: str, read: Callable[[Row], T], counter: str = ""
    ) -> None:
        super().__init__(connection)
        self._table = table
        self._select = f"SELECT {columns} FROM {table} "  # noqa: S608 - both are constants
        self._read = read
        self._counter = counter

    def all(self, part: str | None = None) -> list[T]:
        """Return all, or those whose name contains the text in any case, in order of creation."""
        return self._all(self._read, self._select + "WHERE instr(lower(name), lower(?)) ORDER BY id", part or "")

    def by_name(self, name: str) -> T | None:
        """Return the one with that name, case-sensitive."""
        return self._one(self._read, self._select + "WHERE name = ?", name)

    def by_id(self, record_id: int) -> T | None:
        """Return the one with that id."""
        return self._one(self._read, self._select + "WHERE id = ?", record_id)

    def delete(self, record_id: int, now: int) -> None:
        """Remove one, with what belongs to it."""
        self.change(now, f"DELETE FROM {self._table} WHERE id = ?", record_id)  # noqa: S608 - as above

    def change(self, now: int, sql: str, *values: Any) -> bool:
        """Execute a change, and raise the version counter that downloads carry; false if no row is changed."""
        changed = self._connection.execute(sql, values).rowcount > 0
        if changed and self._counter:
            self._connection.execute(
                "INSERT INTO counter VALUES (?, 2, ?) ON CONFLICT (name)"
                " DO UPDATE SET value = value + 1, update_time = excluded.update_time",
                (self._counter, now),
            )
        return changed


class SignedRecords(Records[T]):
    """Records with their authors and times, which have neither a guid nor a version."""

    def insert(self, document: AdminRole | Zone, author: str | None, now: int) -> None:
        """Store a new one."""
        self.change(
            now,
            f"INSERT INTO {self._table} (name, created_by, updated_by, create_time, update_time, body)"  # noqa: S608
            " VALUES (?, ?, ?, ?, ?, ?)",
            *(document.name, author, author, now, now, msgspec.json.encode(document)),
        )

    def update(self, record_id: int, document: AdminRole | Zone, author: str | None, now: int) -> None:
        """Replace one."""
        self.change(
            now,
            f"UPDATE {self._table} SET name = ?, updated_by = ?, update_time = ?, body = ? WHERE id = ?",  # noqa: S608
            *(document.name, author, now, msgspec.json.encode(document), record_id),
        )
