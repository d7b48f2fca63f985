"""Store of the embedded Ranger Admin: one SQLite database, in a file (WAL) or in memory, behind one lock.

A transaction is on disk as a whole before its response is sent, or not at all. The plugin list is in memory, so that
downloads write nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ranger_cdap.errors import InvalidInput, reason
from ranger_cdap.testing.admin.store.plugin_list import PluginList
from ranger_cdap.testing.admin.store.tables import Tables

_APPLICATION_ID = 0x52414E47
_SCHEMA_VERSION = 10
_SCHEMA = """
CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL, update_time INTEGER NOT NULL) STRICT;
CREATE TABLE definition (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, guid TEXT NOT NULL, version INTEGER NOT NULL,
    created_by TEXT, updated_by TEXT, create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE TABLE service (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, guid TEXT NOT NULL, version INTEGER NOT NULL,
    created_by TEXT, updated_by TEXT, create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, body BLOB NOT NULL,
    type TEXT NOT NULL, policy_version INTEGER NOT NULL, policy_update_time INTEGER NOT NULL,
    tag_version INTEGER NOT NULL DEFAULT 1, tag_update_time INTEGER NOT NULL, tags BLOB NOT NULL DEFAULT x'7b7d'
) STRICT;
CREATE TABLE policy (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, guid TEXT NOT NULL, version INTEGER NOT NULL,
    created_by TEXT, updated_by TEXT, create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, body BLOB NOT NULL,
    service_id INTEGER NOT NULL REFERENCES service (id) ON DELETE CASCADE,
    zone TEXT NOT NULL, is_enabled INTEGER NOT NULL, signature TEXT NOT NULL,
    UNIQUE (service_id, zone, name), UNIQUE (service_id, zone, guid)
) STRICT;
CREATE UNIQUE INDEX policy_signature ON policy (service_id, zone, signature) WHERE is_enabled;
CREATE TABLE zone (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created_by TEXT, updated_by TEXT,
    create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;
CREATE TABLE policy_change (
    id INTEGER PRIMARY KEY AUTOINCREMENT, service_id INTEGER NOT NULL REFERENCES service (id) ON DELETE CASCADE,
    version INTEGER NOT NULL, kind INTEGER NOT NULL, policy_id INTEGER NOT NULL, policy_type INTEGER NOT NULL,
    service_type TEXT NOT NULL,
    UNIQUE (service_id, version)
) STRICT;
CREATE TABLE user (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, password_hash TEXT, roles TEXT NOT NULL,
    create_time INTEGER NOT NULL, owner TEXT, body BLOB NOT NULL
) STRICT;
CREATE TABLE user_group (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, create_time INTEGER NOT NULL, owner TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE membership (
    id INTEGER PRIMARY KEY AUTOINCREMENT, group_id INTEGER NOT NULL REFERENCES user_group (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES user (id) ON DELETE CASCADE, create_time INTEGER NOT NULL,
    UNIQUE (group_id, user_id)
) STRICT;
CREATE TABLE role (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created_by TEXT, updated_by TEXT,
    create_time INTEGER NOT NULL, update_time INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;
"""


class Store:
    """The database, in a file or, without a path, in memory.

    Raises:
        InvalidInput: the file cannot be opened, or is not a database of the embedded Ranger Admin.
    """

    def __init__(self, database: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._plugins = PluginList()
        self._name = str(database) if database else ":memory:"
        try:
            if database is not None:
                # Password hashes are in it; SQLite gives its other files the same mode.
                database.touch(mode=0o600)
            self._connection = sqlite3.connect(self._name, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        except (sqlite3.Error, OSError) as e:
            why = reason(e) if isinstance(e, OSError) else e
            raise InvalidInput(
                f"`{self._name}` cannot be used as the database of the embedded Ranger Admin: {why}; name another file"
            ) from None

    def _prepare(self) -> None:
        run = self._connection.execute
        run("PRAGMA busy_timeout = 5000")
        run("PRAGMA foreign_keys = ON")
        application, version = (run(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            run("PRAGMA journal_mode = WAL")
            self._connection.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA application_id = {_APPLICATION_ID};"
                f"PRAGMA user_version = {_SCHEMA_VERSION}; COMMIT;"
            )
        elif (application, version) != (_APPLICATION_ID, _SCHEMA_VERSION):
            raise sqlite3.DatabaseError("it was made by another program or version")
        # Acknowledged writes survive a power loss, not only the end of this process.
        run("PRAGMA synchronous = FULL")

    @contextmanager
    def transaction(self) -> Iterator[Tables]:
        """Open a transaction: committed at the end, rolled back on any exception."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield Tables(self._connection, self._plugins)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the database; no transaction may follow."""
        with self._lock:
            self._connection.close()
