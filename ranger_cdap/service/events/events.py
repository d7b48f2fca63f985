"""`Events`: the stream of one CDAP instance's records and journalled checks, and the recent creations in it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from threading import Lock

from ranger_cdap.cdap.inventory import read_inventory
from ranger_cdap.config import Settings
from ranger_cdap.service.events.check_journal import CheckJournal
from ranger_cdap.service.events.entity_memory import EntityMemory
from ranger_cdap.service.events.event_files import INCOMING, EventFiles
from ranger_cdap.service.events.event_store import EventStore
from ranger_cdap.service.events.recent_creations import Creators, RecentCreations
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.wire.event_access import EventAccess
from ranger_cdap.wire.event_wire import BadRecord, Intake, Record
from ranger_cdap.wire.record_events import changes_in

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Events:
    """Stream of one CDAP instance's records and journalled checks.

    Also keeps the recent creations, which entities exist, and the kinds of rejected records that were logged.
    """

    store: EventStore
    intake: Intake
    creations: RecentCreations
    journal: CheckJournal
    entities: EntityMemory
    logged: set[tuple[str, str]] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, settings: Settings) -> Events | None:
        """Return the events of the settings; None if no caller may deliver records.

        Raises:
            ConfigError: other users can write to the directory, or files cannot be given to its group.
            ServerError: another program uses it.
            InvalidInput: the profile is unknown, or the inventory of `service.inventory` is invalid.
        """
        if not any(CallerRole.AUDIT in caller.roles for caller in settings.service.callers):
            return None
        creations = RecentCreations(Creators.of(settings))
        access = EventAccess.of(settings.service.events_group)
        store = EventStore(EventFiles(settings.service.events_dir, access=access))
        path, now = settings.service.inventory, time.time_ns() // 1_000_000
        inventory = read_inventory(path, instance=settings.cdap.instance, now=now) if path else None
        entities = EntityMemory(settings.service.events_dir / INCOMING / "entities.db", inventory)
        return cls(store, Intake(settings.cdap.instance), creations, CheckJournal.of(settings, store), entities)

    def add_record(self, caller: str, record: Record) -> None:
        """Learn from a stored record."""
        self.creations.add_record(caller, record)
        for change in changes_in(record):
            try:
                self.entities.report(change)
            except OSError as e:
                _log.warning("what a record says of existing entities is not remembered: %s", e)
        self.journal.close_checks_of(record)

    def log_rejection(self, caller: str, bad: BadRecord) -> None:
        """Log the first rejected record of its kind."""
        with self.lock:
            key = (caller, bad.fault.value)
            is_new = key not in self.logged
            self.logged.add(key)
        if is_new:
            _log.warning("a record of caller `%s` is refused, and more like it will be: %s", caller, bad)
