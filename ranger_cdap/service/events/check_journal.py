"""The check journal: checks that may begin or end the life of an entity, written before they are answered.

CDAP acts only after the answer, so every creation and deletion through a caller with the role `enforce` is in the
journal before it happens. A caller that also delivers records is not journalled: it could not testify against itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import Final

import msgspec

from ranger_cdap.cdap.checks.check_table import calling_methods
from ranger_cdap.cdap.creations import ChangeKind, JournalRow, load_creations
from ranger_cdap.cdap.deletions import may_be_refused
from ranger_cdap.cdap.entity import resolve_entity
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidEntity
from ranger_cdap.service.events.event_store import EventStore
from ranger_cdap.service.http.callers import Caller, CallerRole
from ranger_cdap.wire.cdap_wire import EnforceRequest
from ranger_cdap.wire.event_wire import CHECK_VERSION, JournalledCheck, Record, journal_line
from ranger_cdap.wire.record_events import UNFINISHED_AFTER

_log = logging.getLogger(__name__)

MOST_OF_A_USER: Final = 1_000
"""Limit on a user's creations in progress."""

MOST_OPEN: Final = 100_000
"""Limit on remembered open checks; beyond it the oldest are forgotten, which only loosens the user's limit."""

PATIENCE_SECONDS: Final = 5.0
"""Time a check waits for the disk, as long as CDAP's extension waits for its answer."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Check to be journalled under the id of its stamp; `creates`: it may begin a life."""

    id: str
    check: JournalledCheck
    kind: ChangeKind
    creates: bool


def journal_row_of(body: EnforceRequest) -> JournalRow | None:
    """Return the row of a check after which CDAP may begin or end a life; None for any other check. Pure."""
    if body.child_type is not None or body.from_container:
        return None
    creations = load_creations()
    row = creations.journal_row(body.entity.type, body.permissions)
    if row is None or _is_skipped(body.entity.type, body.entity.parts):
        return None
    methods = calling_methods(body.hint)
    frames = creations.frames
    return None if _nearest(body) in frames.early or not frames.preview.isdisjoint(methods) else row


def entry_of(body: EnforceRequest, instance: str, *, allowed: bool = True) -> Entry | None:
    """Return the journal entry of a check; None if it begins and ends nothing. Pure.

    A refused check ends the deletion of a namespace if CDAP made it for that.
    """
    stamp, row = body.check, journal_row_of(body)
    if stamp is None or row is None:
        return None
    if not allowed and not (row.kind is ChangeKind.DELETE and may_be_refused(row.checked.name)):
        return None
    frame = _nearest(body)
    check = JournalledCheck(
        v=CHECK_VERSION,
        instance=instance,
        process=stamp.process,
        at=stamp.at,
        principal=body.principal.name,
        type=body.entity.type,
        parts=body.entity.parts,
        permissions=body.permissions,
        frame=frame,
        allowed=allowed,
    )
    scheduled = frame in load_creations().frames.schedule
    return Entry(stamp.id, check, row.kind, row.kind is ChangeKind.CREATE and (not row.child or scheduled))


def _nearest(body: EnforceRequest) -> str:
    return next(iter(calling_methods(body.hint)), "")


def _is_skipped(cdap_type: str, parts: list[str]) -> bool:
    """Return true if the entity grants nothing to its creator; a check on an invalid entity is never allowed."""
    try:
        return load_creations().skips(resolve_entity(cdap_type, parts).entity)
    except InvalidEntity:
        return True


@dataclass(eq=False, slots=True)
class OpenChecks:
    """Checks whose requests are not known to have ended, by id; bounded, and safe to share between threads."""

    expires_after: float
    most: int = MOST_OPEN
    clock: Callable[[], float] = time.monotonic
    _open: OrderedDict[str, tuple[str, float]] = field(default_factory=OrderedDict)
    _of_user: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        with self._lock:
            self._expire()
            return len(self._open)

    def open(self, id_: str, user: str, most: int) -> bool:
        """Remember a check of a user; false if `most` of theirs are open."""
        with self._lock:
            self._expire()
            if id_ in self._open:
                return True
            if self._of_user[user] >= most:
                return False
            self._open[id_] = (user, self.clock())
            self._of_user[user] += 1
            if len(self._open) > self.most:
                self._forget(next(iter(self._open)))
            return True

    def close(self, ids: Iterable[str]) -> None:
        """Forget checks whose requests have ended; ignore unknown ids."""
        with self._lock:
            for id_ in ids:
                if id_ in self._open:
                    self._forget(id_)

    def _expire(self) -> None:
        before = self.clock() - self.expires_after
        while self._open and next(iter(self._open.values()))[1] <= before:
            self._forget(next(iter(self._open)))

    def _forget(self, id_: str) -> None:
        user, _ = self._open.pop(id_)
        self._of_user[user] -= 1
        if not self._of_user[user]:
            del self._of_user[user]


@dataclass(eq=False, slots=True)
class CheckJournal:
    """Writer of one CDAP instance's journal entries into its stream of events."""

    store: EventStore
    instance: str
    open: OpenChecks
    unlimited: Set[str]
    warned: bool = False

    @classmethod
    def of(cls, settings: Settings, store: EventStore) -> CheckJournal:
        """Return the journal of the settings; the limit applies to users who can be creators."""
        unlimited = frozenset({settings.master.name, *settings.sync.non_creators})
        return cls(store, settings.cdap.instance, OpenChecks(UNFINISHED_AFTER), unlimited)

    def entry(self, caller: Caller, body: EnforceRequest, *, allowed: bool = True) -> Entry | None:
        """Return the entry to write before the check is answered, if any."""
        believed = CallerRole.ENFORCE in caller.roles and CallerRole.AUDIT not in caller.roles
        return entry_of(body, self.instance, allowed=allowed) if believed else None

    def refusal(self, entry: Entry) -> str:
        """Return the reason why the user may create no more for now; empty if allowed, and the check is then open."""
        user = entry.check.principal
        is_limited = entry.creates and user not in self.unlimited and self.store.records is not False
        if not is_limited or self.open.open(entry.id, user, MOST_OF_A_USER):
            return ""
        if not self.warned:  # the user is never logged
            self.warned = True
            _log.warning("a user has %s creations in progress and may create no more", f"{MOST_OF_A_USER:,}")
        return f"{user} has {MOST_OF_A_USER:,} creations in progress; try again when CDAP has reported how they ended"

    def write(self, entry: Entry, caller: Caller) -> None:
        """Return when the entry is on disk.

        Raises:
            OSError: it is not, or that is unknown.
        """
        try:
            self.store.append(
                lambda received: journal_line(entry.id, caller.name, received, entry.check), PATIENCE_SECONDS
            )
        except OSError:
            self.open.close([entry.id])
            raise

    def close_checks_of(self, record: Record) -> None:
        """Close the checks of a record, whatever its status."""
        self.open.close(check.id for check in record.checks if check.id is not msgspec.UNSET)
