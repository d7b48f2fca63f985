"""`/cdap/v1/audit`: what CDAP answered, kept for the sync job before CDAP is told that it is."""

from __future__ import annotations

import logging
import time
from threading import Lock

from ranger_cdap.config import Settings
from ranger_cdap.service.call import Call
from ranger_cdap.service.callers import Role
from ranger_cdap.service.event_files import EventFiles
from ranger_cdap.service.event_store import EventStore
from ranger_cdap.service.event_wire import AuditReply, BadRecord, Intake, RefusedRecord, stored_line
from ranger_cdap.service.reply import Refused, Reply, json_reply

_log = logging.getLogger(__name__)


class Events:
    """The store of one CDAP instance's records, and which kinds of bad records were told already."""

    def __init__(self, store: EventStore, intake: Intake) -> None:
        self.store = store
        self.intake = intake
        self._told: set[tuple[str, str]] = set()
        self._lock = Lock()

    @classmethod
    def of(cls, settings: Settings) -> Events | None:
        """Those of the settings; None where no caller may bring records.

        Raises:
            ConfigError: others can write to the directory.
            ServerError: another program uses it.
        """
        if not any(Role.AUDIT in caller.roles for caller in settings.service.callers):
            return None
        return cls(EventStore(EventFiles(settings.service.events_dir)), Intake(settings.cdap.instance))

    def tell(self, caller: str, bad: BadRecord) -> None:
        """Log the first bad record of its kind."""
        with self._lock:
            key = (caller, bad.fault.value)
            is_new = key not in self._told
            self._told.add(key)
        if is_new:
            _log.warning("a record of caller `%s` is refused, and more like it will be: %s", caller, bad)


def audit(call: Call) -> Reply:
    """Store records; the answer comes when they are on the disk for good."""
    desk, raws = call.desk, call.body
    most = desk.settings.service.max_batch
    if len(raws) > most:
        raise Refused(400, f"`records` has more than {most} (`service.max_batch`)")
    events = desk.events
    if events is None:
        raise Refused(503, "records are not stored here")
    now = int(time.time() * 1000)
    lines, refused = [], []
    for index, raw in enumerate(raws):
        try:
            lines.append(stored_line(events.intake.read(raw), call.caller.name, now))
        except BadRecord as e:
            refused.append(RefusedRecord(index, str(e)))
            events.tell(call.caller.name, e)
    if lines:
        try:
            events.store.append(b"".join(lines))
        except OSError as e:
            raise Refused(503, f"the records are not stored ({e}); send them again") from None
    desk.metrics.events_stored.inc(len(lines))
    desk.metrics.events_refused.inc(len(refused))
    return json_reply(AuditReply(len(lines), refused))
