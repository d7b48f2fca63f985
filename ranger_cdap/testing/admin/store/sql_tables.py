"""Rows of tables as records, inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]


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
    """Records with an id and a name, which no two have, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection, select: str, read: Callable[[Row], T]) -> None:
        super().__init__(connection)
        self._select = select
        self._read = read

    def all(self, part: str | None = None) -> list[T]:
        """Return all, or those whose name contains the text in any case, in order of creation."""
        return self._all(self._read, self._select + "WHERE instr(lower(name), lower(?)) ORDER BY id", part or "")

    def by_name(self, name: str) -> T | None:
        """Return the one with that name, case-sensitive."""
        return self._one(self._read, self._select + "WHERE name = ?", name)

    def by_id(self, record_id: int) -> T | None:
        """Return the one with that id."""
        return self._one(self._read, self._select + "WHERE id = ?", record_id)
