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
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.wire.event_wire import BadRecord, Intake

_log = logging.getLogger(__name__)


class Events:
    """Stream of one CDAP instance's records and journalled checks.

    Also keeps the recent creations, and the kinds of rejected records that were logged.
    """

    def __init__(self, store: EventStore, intake: Intake, creations: RecentCreations, journal: CheckJournal) -> None:
        self.store = store
        self.journal = journal
        self.intake = intake
        self.creations = creations
        self._logged: set[tuple[str, str]] = set()
        self._lock = Lock()

    @classmethod
    def of(cls, settings: Settings) -> Events | None:
        """Return the events of the settings; None if no caller may deliver records.

        Raises:
            ConfigError: other users can write to the directory, or files cannot be given to its group.
            ServerError: another program uses it.
            InvalidInput: the profile is unknown.
        """
        if not any(CallerRole.AUDIT in caller.roles for caller in settings.service.callers):
            return None
        creations = RecentCreations(Creators.of(settings))
        access = EventAccess.of(settings.service.events_group)
        store = EventStore(EventFiles(settings.service.events_dir, access=access))
        return cls(store, Intake(settings.cdap.instance), creations, CheckJournal.of(settings, store))

    def log_rejection(self, caller: str, bad: BadRecord) -> None:
        """Log the first rejected record of its kind."""
        with self._lock:
            key = (caller, bad.fault.value)
            is_new = key not in self._logged
            self._logged.add(key)
        if is_new:
            _log.warning("a record of caller `%s` is refused, and more like it will be: %s", caller, bad)
