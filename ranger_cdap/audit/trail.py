"""`AuditTrail`: passes records to every sink; a setting decides if a decision waits for its record."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ranger_cdap.audit.commit import GroupCommit
from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import Auditable
from ranger_cdap.audit.sinks import AuditSink, SinkFactory
from ranger_cdap.audit.spool import Spool
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.errors import AuditSinkError, ConfigError

logger = logging.getLogger(__name__)

_FILE: Final = "file"
_MOST_QUEUED: Final = 10_000
"""Records queued in memory per sink."""


class AuditTrail:
    """Dispatcher of records to the queue of every sink.

    With `required`, records count as written only once it has them; it writes to the first of the sinks, and the others
    get copies.
    """

    def __init__(self, sinks: Iterable[Delivery], required: GroupCommit | None = None) -> None:
        self._sinks = tuple(sinks)
        self._required = required
        self._failing: set[int] = set()
        self._lost = 0
        self.refused = 0
        """Number of records that `write` raised for; the operations they describe were denied."""

    @property
    def is_required(self) -> bool:
        """Return true if `write` waits for the disk, and raises if the records are not on it."""
        return self._required is not None

    @property
    def lost(self) -> int:
        """Return how many records were lost, counted per sink."""
        return self._lost + sum(sink.lost for sink in self._sinks)

    def write(self, records: Sequence[Auditable]) -> None:
        """Pass the records to each sink.

        Raises:
            AuditSinkError: records are required, and these are not on disk; no other sink has them.
        """
        if not records:
            return
        if self._required is not None:
            try:
                self._required.write(records)
            except AuditSinkError:
                self.refused += len(records)
                raise
        self._hand_over(records, beginning=int(self.is_required))

    def write_later(self, records: Sequence[Auditable]) -> None:
        """Pass records of denied operations to each sink, without waiting for a disk and without raising."""
        self._hand_over(records)

    def close(self) -> None:
        """Close every sink; one that fails does not keep the others open."""
        if self._required is not None:
            self._required.close()
        for sink in self._sinks:
            try:
                sink.close()
            except Exception as e:
                logger.warning("audit sink `%s` could not be closed: %s", sink.name, type(e).__name__)

    def _hand_over(self, records: Sequence[Auditable], beginning: int = 0) -> None:
        for number, sink in enumerate(self._sinks[beginning:] if beginning else self._sinks, beginning):
            try:
                sink.write(records)
                if self._failing:
                    self._failing.discard(number)
            except Exception as e:
                self._lost += len(records)
                if number not in self._failing:
                    self._failing.add(number)
                    logger.warning("audit records are being lost: sink `%s` fails with %s", sink.name, type(e).__name__)


def open_trail(settings: Settings, factories: Mapping[str, SinkFactory]) -> AuditTrail:
    """Return the trail to the sinks of the settings, each with its own queue, so that no decision waits for one.

    With `audit.required` the file has no queue: a decision waits until its record is on disk.

    Raises:
        ConfigError: a name is unknown, or a setting is missing.
    """
    audit = settings.audit
    check_audit(audit, factories)
    made = {name: factories[name](settings) for name in audit.sinks}
    deliveries = {name: _delivery(name, sink, audit) for name, sink in made.items()}
    if not audit.required:
        return AuditTrail(deliveries.values())
    return AuditTrail([deliveries.pop(_FILE), *deliveries.values()], GroupCommit(made[_FILE], capacity=_MOST_QUEUED))


def check_audit(settings: AuditSettings, known: Iterable[str]) -> None:
    """Check the settings that depend on each other.

    Raises:
        ConfigError: a sink is unknown, or a setting needs the file, which is not among the sinks.
    """
    names = sorted(known)
    for name in settings.sinks:
        if name not in names:
            raise ConfigError(f"there is no audit sink `{name}`; known are {', '.join(names)}")
    for setting in ("required", "chain"):
        if getattr(settings, setting) and _FILE not in settings.sinks:
            raise ConfigError(f"`audit.{setting}` needs the sink `{_FILE}`; add it to `audit.sinks`")


def _delivery(name: str, sink: AuditSink, settings: AuditSettings) -> Delivery:
    return Delivery(
        name, sink, capacity=_MOST_QUEUED, spool=Spool(settings.spool_dir, name, max_bytes=settings.spool_max_bytes)
    )
