"""`Undelayed`: a delivery of audit records that tests need not wait for."""

from __future__ import annotations

from collections.abc import Sequence

from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.record import Auditable
from ranger_cdap.audit.sinks import AuditSink


class Undelayed(Delivery):
    """A delivery that writes in the caller's thread, and raises what the sink raises."""

    def __init__(self, sink: AuditSink) -> None:
        super().__init__(type(sink).__name__, sink, capacity=1)

    def write(self, records: Sequence[Auditable]) -> None:
        self._sink.write([pending.record() for pending in records])

    def close(self, timeout: float = 0.0) -> None:
        self._sink.close()
