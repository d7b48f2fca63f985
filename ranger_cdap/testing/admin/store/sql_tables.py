"""Rows of tables as records, inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, TypeVar

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
