"""`EntityMemory`: which entities exist, of those that CDAP replaces under the check for creating them.

It knows what this service allowed, what CDAP reported of that, and one inventory. On disk next to the journal, and
written before a check is allowed. Law: an entity counts as absent only if an inventory taken since the memory began
does not name it, or it was certainly deleted, and every allowed check that could have created it since is known to have
created nothing; or if the user who asks made the only such check.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ranger_cdap.cdap.checks.check_table import replaced_types
from ranger_cdap.cdap.creations import ChangeKind, load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.existence import Existence
from ranger_cdap.cdap.inventory import MARGIN, Inventory
from ranger_cdap.wire.record_events import RecordedChange

_log = logging.getLogger(__name__)

MOST_DELETIONS: Final = 10_000
"""Limit on deletions in progress; of those forgotten the entities go on counting as existing."""

SEVERAL: Final = "*"

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS memory (began INTEGER NOT NULL, inventory INTEGER);
CREATE TABLE IF NOT EXISTS entity (
    type TEXT, parts TEXT, existence TEXT NOT NULL, user TEXT NOT NULL, open TEXT NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (type, parts)
);
"""


@dataclass(frozen=True, slots=True)
class _Known:
    """Knowledge about an entity.

    `existence` is UNKNOWN after an allowed check without a report; it is then absent for `user`, if that is not empty,
    who made all such checks. `open`: the id of the one check without a report; `SEVERAL` if there are more, or it has
    no id. `number`: of the last allowed check, in the order of all.
    """

    existence: Existence
    user: str = ""
    open: str = ""
    number: int = 0


@dataclass(eq=False)
class EntityMemory:
    """Memory in one file; safe to share between threads. Reading waits for no disk.

    Without a usable file nothing is known, and what depends on it is denied.
    """

    path: Path
    inventory: Inventory | None
    clock: Callable[[], float] = time.time
    _known: dict[EntityId, _Known] = field(default_factory=dict)
    _deletions: OrderedDict[str, int] = field(default_factory=OrderedDict)
    _complete: bool = False
    _ready: bool = False
    _number: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        try:
            with self._lock:
                self._open()
        except OSError as e:
            _log.error("which entities exist cannot be remembered: %s", e)

    def existence(self, entity: EntityId, user: str) -> Existence:
        """Return what is known of the entity to decide a check of that user."""
        known = self._known.get(entity)
        if known is None:
            return Existence.ABSENT if self._complete and not load_creations().skips(entity) else Existence.UNKNOWN
        return (
            Existence.ABSENT
            if known.existence is Existence.UNKNOWN and known.user and known.user == user
            else known.existence
        )

    def allow(self, entity: EntityId, user: str, check: str, decided: Existence) -> bool:
        """Remember a check that is about to be allowed; false if `decided` is no longer what is known.

        Raises:
            OSError: it is not on disk.
        """
        with self._lock:
            self._open()
            if self.existence(entity, user) is not decided:
                return False
            known = self._known.get(entity)
            opened = check if check and (known is None or known.open in ("", check)) else SEVERAL
            existence = Existence.THERE if decided is Existence.THERE else Existence.UNKNOWN
            creator = user if decided is Existence.ABSENT else ""
            self._number += 1
            self._write({entity: _Known(existence, creator, opened, self._number)})
            return True

    def allow_deletion(self, check: str) -> None:
        """Remember the order of a deletion's check among the others."""
        with self._lock:
            self._deletions[check] = self._number
            if len(self._deletions) > MOST_DELETIONS:
                self._deletions.popitem(last=False)

    def report(self, change: RecordedChange) -> None:
        """Learn from CDAP's report of a change.

        Raises:
            OSError: it is not on disk; what was known before still is.
        """
        with self._lock:
            self._open()
            if found := dict(self._learned(change)):
                self._write(found)

    def _learned(self, change: RecordedChange) -> Iterator[tuple[EntityId, _Known]]:
        entity = change.entity
        if change.child:
            return
        if change.kind is ChangeKind.DELETE:
            before = self._deletions.pop(change.check, None)
            if before is not None and change.outcome == "done" and not change.version:
                for one in self._known if entity.type == "namespace" else (entity,):
                    known = self._known.get(one)
                    inside = one == entity or one.parts[:1] == entity.parts
                    if inside and known is not None and not known.open and known.number <= before:
                        yield one, replace(known, existence=Existence.ABSENT, user="")
        elif entity.type in replaced_types() and change.outcome != "unclear":
            known = self._known.get(entity, _Known(Existence.UNKNOWN))
            ended = change.check != "" and change.check == known.open
            opened = "" if ended else known.open
            if change.outcome == "done":
                yield entity, _Known(Existence.THERE, "", opened, known.number)
            elif ended:
                existence = Existence.ABSENT if known.user else known.existence
                yield entity, _Known(existence, "", opened, known.number)

    def _open(self) -> None:
        """Read the file once it can be; create it."""
        if self._ready:
            return
        self.path.touch(mode=0o600)
        self.path.chmod(0o600)
        with self._connection() as connection:
            connection.executescript(_TABLES)
            now = int(self.clock() * 1000)
            connection.execute("INSERT INTO memory SELECT ?, NULL WHERE NOT EXISTS (SELECT * FROM memory)", (now,))
            ((began, taken),) = connection.execute("SELECT began, inventory FROM memory")
            for kind, parts, existence, user, opened, number in connection.execute("SELECT * FROM entity"):
                self._known[EntityId(kind, tuple(parts.split("\n")))] = _Known(
                    Existence(existence), user, opened, number
                )
                self._number = max(self._number, number)
        self._ready = True
        if self.inventory is not None:
            self._enter(self.inventory, began, taken)

    def _enter(self, inventory: Inventory, began: int, taken: int | None) -> None:
        """Enter an inventory that is new; it counts if the memory began before CDAP was listed for it."""
        if inventory.taken + MARGIN < began or (taken is not None and inventory.taken < taken):
            _log.warning("`service.inventory` does not count: it is older than what is remembered; take a new one")
            return
        if taken != inventory.taken:
            named = [entity for entity in inventory.entities if entity.type in replaced_types()]
            there = _Known(Existence.THERE)
            self._write({e: replace(self._known.get(e, there), existence=Existence.THERE, user="") for e in named})
            with self._connection() as connection:
                connection.execute("UPDATE memory SET inventory = ?", (inventory.taken,))
        self._complete = True

    def _write(self, found: dict[EntityId, _Known]) -> None:
        rows = [
            (entity.type, "\n".join(entity.parts), known.existence.value, known.user, known.open, known.number)
            for entity, known in found.items()
        ]
        with self._connection() as connection:
            connection.executemany("INSERT OR REPLACE INTO entity VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._known.update(found)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection whose changes are on disk together, afterwards."""
        try:
            with closing(sqlite3.connect(self.path)) as connection, connection:
                connection.execute("PRAGMA synchronous = FULL")
                yield connection
        except sqlite3.Error as e:
            raise OSError(0, f"`{self.path.name}`: {e}") from None
