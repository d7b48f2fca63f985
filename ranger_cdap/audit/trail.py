"""`AuditTrail`: hands records to every sink; a sink that fails never changes a decision."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.audit.sinks import AuditSink, SinkFactory
from ranger_cdap.audit.spool import Spool
from ranger_cdap.config import AuditSettings
from ranger_cdap.errors import ConfigError

logger = logging.getLogger(__name__)


class AuditTrail:
    """Hands records to every sink, in the thread of the caller; `open_trail` puts a queue before each."""

    def __init__(self, sinks: Iterable[AuditSink]) -> None:
        self._sinks = tuple(sinks)
        self._failing: set[int] = set()
        self._lost = 0

    @property
    def lost(self) -> int:
        """How many records no sink will ever have, counted for each sink."""
        return self._lost + sum(sink.counts.lost for sink in self._sinks if isinstance(sink, Delivery))

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Give the records to each sink; never raises."""
        if not records:
            return
        for number, sink in enumerate(self._sinks):
            try:
                sink.write(records)
                self._failing.discard(number)
            except Exception as e:
                self._lost += len(records)
                if number not in self._failing:
                    self._failing.add(number)
                    logger.warning(
                        "audit records are being lost: sink `%s` fails with %s", type(sink).__name__, type(e).__name__
                    )

    def close(self) -> None:
        """Close every sink; a sink that fails doesn't keep the others open."""
        for sink in self._sinks:
            try:
                sink.close()
            except Exception as e:
                logger.warning("audit sink `%s` could not be closed: %s", type(sink).__name__, type(e).__name__)


def open_trail(settings: AuditSettings, factories: Mapping[str, SinkFactory]) -> AuditTrail:
    """The trail to the sinks that the settings name: each has a queue of its own, so none keeps a decision waiting.

    Raises:
        ConfigError: a name is unknown, or its sink lacks a setting.
    """
    for name in settings.sinks:
        if name not in factories:
            raise ConfigError(f"there is no audit sink `{name}`; known are {', '.join(sorted(factories))}")
    made = [(name, factories[name](settings)) for name in dict.fromkeys(settings.sinks)]
    return AuditTrail([_delivery(name, sink, settings) for name, sink in made])


def _delivery(name: str, sink: AuditSink, settings: AuditSettings) -> Delivery:
    spool = Spool(settings.spool_dir, name, max_bytes=settings.spool_max_bytes)
    return Delivery(name, sink, capacity=settings.queue_size, spool=spool)
