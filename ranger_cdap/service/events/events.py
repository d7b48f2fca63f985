"""`Events`: the stream of one CDAP instance's records and journalled checks, and the recent creations in it."""

from __future__ import annotations

import logging
from threading import Lock

from ranger_cdap.config import Settings
from ranger_cdap.service.events.check_journal import CheckJournal
from ranger_cdap.service.events.event_access import EventAccess
from ranger_cdap.service.events.event_files import EventFiles
from ranger_cdap.service.events.event_store import EventStore
from ranger_cdap.service.events.recent_creations import Creators, RecentCreations
from ranger_cdap.service.http.callers import Role
from ranger_cdap.service.wire.event_wire import BadRecord, Intake

_log = logging.getLogger(__name__)


class Events:
    """The stream of one CDAP instance's records and journalled checks.

    Also keeps the recent creations, and the kinds of rejected records that were logged.
    """

    def __init__(self, store: EventStore, intake: Intake, creations: RecentCreations, journal: CheckJournal) -> None:
        self.store = store
        self.journal = journal
        self.intake = intake
        self.creations = creations
        self._told: set[tuple[str, str]] = set()
        self._lock = Lock()

    @classmethod
    def of(cls, settings: Settings) -> Events | None:
        """Those of the settings; None where no caller may bring records.

        Raises:
            ConfigError: others can write to the directory, or its group cannot be given anything.
            ServerError: another program uses it.
            InvalidInput: there is no such profile.
        """
        if not any(Role.AUDIT in caller.roles for caller in settings.service.callers):
            return None
        creations = RecentCreations(Creators.of(settings))
        access = EventAccess.of(settings.service.events_group)
        store = EventStore(EventFiles(settings.service.events_dir, access=access))
        return cls(store, Intake(settings.cdap.instance), creations, CheckJournal.of(settings, store))

    def tell(self, caller: str, bad: BadRecord) -> None:
        """Log the first bad record of its kind."""
        with self._lock:
            key = (caller, bad.fault.value)
            is_new = key not in self._told
            self._told.add(key)
        if is_new:
            _log.warning("a record of caller `%s` is refused, and more like it will be: %s", caller, bad)
