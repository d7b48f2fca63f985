"""`GroupCommit`: records are on disk when `write` returns; many threads share one write and one flush."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from ranger_cdap.audit.record import Auditable
from ranger_cdap.audit.sinks import AuditSink
from ranger_cdap.errors import AuditSinkError, reason
from ranger_cdap.forks import restart_after_fork

logger = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 5.0
"""Time a decision waits for the disk, as long as CDAP's extension waits for its answer."""


@dataclass(eq=False, slots=True)
class _PendingRecords:
    records: Sequence[Auditable]
    done: threading.Event = field(default_factory=threading.Event)
    failed: str = ""


@dataclass(eq=False)
class GroupCommit:
    """Writer for many threads: its own thread commits all waiting records together.

    The sink must be durable: records that its `write` accepted survive the end of this process and of its host. Failed
    records are not retried. At most `capacity` records wait, or those of one caller.
    """

    sink: AuditSink
    _: KW_ONLY
    capacity: int
    patience: float = PATIENCE_SECONDS
    _closed: bool = False

    def __post_init__(self) -> None:
        self.after_fork()
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Begin without records: those waiting at the fork are the parent's, whose callers wait for them."""
        self._changed = threading.Condition()
        self._waiting: list[_PendingRecords] = []
        self._fails = False
        self._thread: threading.Thread | None = None

    def write(self, records: Sequence[Auditable]) -> None:
        """Return when the records are on disk.

        Raises:
            AuditSinkError: they are not, or that is unknown.
        """
        mine = _PendingRecords(records)
        with self._changed:
            if self._closed:
                raise AuditSinkError("the audit is closed")
            wait = sum(len(waiting.records) for waiting in self._waiting)
            if wait and wait + len(records) > self.capacity:
                raise AuditSinkError("too many audit records wait for the disk")
            self._waiting.append(mine)
            self._start()
            self._changed.notify()
        if not mine.done.wait(self.patience) and self._withdrawn(mine):
            raise AuditSinkError("the disk of the audit file does not respond")
        if mine.failed:
            raise AuditSinkError(mine.failed)

    def close(self, timeout: float = PATIENCE_SECONDS) -> None:
        """Write the waiting records, for at most `timeout` seconds, and accept no more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout)
        if self._thread is None or not self._thread.is_alive():
            self.sink.close()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="audit-commit", daemon=True)
            self._thread.start()

    def _withdrawn(self, mine: _PendingRecords) -> bool:
        """Withdraw records that the thread has not begun to write; false if they were written after all."""
        with self._changed:
            if mine in self._waiting:
                self._waiting.remove(mine)
            return not mine.done.is_set()

    def _run(self) -> None:
        closed = False
        while not closed:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                batch, self._waiting, closed = self._waiting, [], self._closed
            failed = self._put([record for waiting in batch for record in waiting.records]) if batch else ""
            for waiting in batch:
                waiting.failed = failed
                waiting.done.set()

    def _put(self, records: Sequence[Auditable]) -> str:
        """Return the reason why the sink does not have the records; empty if it has."""
        failed = ""
        try:
            self.sink.write([waiting.record() for waiting in records])
        except Exception as e:  # whatever fails, this thread must live and nothing may count as written
            failed = reason(e) if isinstance(e, OSError) else type(e).__name__
        if failed and not self._fails:
            logger.error("audit records cannot be written: %s; operations are denied until they can be audited", failed)
        elif self._fails and not failed:
            logger.warning("audit records are written again")
        self._fails = bool(failed)
        return failed
