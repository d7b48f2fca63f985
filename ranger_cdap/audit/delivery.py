"""Asynchronous delivery of audit records: queued at once, and written to the sink by a thread."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from ranger_cdap.audit.record import Auditable, AuditRecord
from ranger_cdap.audit.sinks import AuditSink
from ranger_cdap.audit.spool import Spool
from ranger_cdap.errors import AuditRefused
from ranger_cdap.forks import restart_after_fork, run_at_exit

logger = logging.getLogger(__name__)

_MOST_AT_ONCE: Final = 500
_FIRST_PAUSE: Final = 1.0
_GATHERS: Final = 0.05  # seconds that records may wait for others, so that not every decision wakes a thread
_LONGEST_PAUSE: Final = 60.0


class Delivery:
    """Bounded queue in front of a sink.

    `write` never waits and never raises. While the sink fails, records wait on disk (without a spool: in the queue) and
    are sent in order once it works; records beyond the capacity are lost and counted. Queued records are also delivered
    if the program ends without `close`.
    """

    def __init__(
        self,
        name: str,
        sink: AuditSink,
        *,
        capacity: int,
        spool: Spool | None = None,
        first_pause: float = _FIRST_PAUSE,
    ) -> None:
        self.name = name
        self._sink = sink
        self._capacity = capacity
        self._half = max(1, capacity // 2)
        self._spool = spool
        self._first_pause = first_pause
        self._closing = False
        self._start_empty()
        restart_after_fork(self)
        if spool is not None and spool.waits:
            self._start()

    def after_fork(self) -> None:
        """Begin without records: those queued at the fork are the parent's, which delivers them."""
        self._start_empty()
        if self._spool is not None and not self._closing:
            self._spool = self._spool.of_this_process()
            if self._spool.waits:
                self._start()

    def write(self, records: Sequence[Auditable]) -> None:
        """Queue as many of the records as fit."""
        with self._changed:
            before = len(self._queue)
            room = 0 if self._closing else self._capacity - before
            if len(records) > room:
                self.lost += len(records) - room
                records = records[:room]
            self._queue.extend(records)
            if self._thread is None:
                self._start()
            if before == 0 or before < self._half <= before + len(records):
                self._changed.notify()

    def close(self, timeout: float = 5.0) -> None:
        """Deliver the queued records, for at most `timeout` seconds; the rest stays on disk, or is lost and counted."""
        with self._changed:
            self._closing = True
            self._retry_at = 0.0  # one last attempt
            self._changed.notify()
        if self._stay is not None:
            self._stay()
        if self._thread is not None:
            self._thread.join(timeout)
        self._put_away()
        if self._thread is None or not self._thread.is_alive():
            self._sink.close()
            if self._spool is not None:
                self._spool.close()
        if self.lost:
            logger.warning("%d audit records for sink `%s` were lost", self.lost, self.name)

    def _start_empty(self) -> None:
        self.lost = 0
        self._queue: deque[Auditable] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stay: Callable[[], object] | None = None
        self._settled: set[str] = set()  # of a batch that was refused: the records given one by one
        self._pause, self._retry_at, self._reported, self._disk_works = 0.0, 0.0, False, True

    def _start(self) -> None:
        if self._thread is None and not self._closing:
            this = weakref.ref(self)
            self._stay = run_at_exit(lambda: _close_if_pending(this()))
            self._thread = threading.Thread(target=self._run, name=f"audit-{self.name}", daemon=True)
            self._thread.start()

    @property
    def is_pending(self) -> bool:
        """Return true if records wait in the queue."""
        return bool(self._queue)

    def _run(self) -> None:
        while self._wait():
            if self._pause and time.monotonic() < self._retry_at:
                self._put_away()  # the sink is unavailable: make room for new records
                continue
            try:
                self._deliver()
            except Exception as e:
                self._failed(e)

    def _wait(self) -> bool:
        """Wait for work; return false when all is done and the program ends."""
        with self._changed:
            while not self._closing:
                if self._queue and not self._pause:
                    self._changed.wait_for(lambda: self._closing or len(self._queue) >= self._half, _GATHERS)
                    return True
                waits = bool(self._queue) or (self._spool is not None and self._spool.waits)
                left = self._retry_at - time.monotonic() if self._pause else 0.0
                to_disk = self._queue and self._spool is not None and self._pause and self._disk_works
                if (waits and left <= 0) or to_disk:
                    return True
                self._changed.wait(left if waits else None)
            last_attempt_failed = self._pause > 0 and self._retry_at > 0
            return bool(self._queue) and not last_attempt_failed

    def _deliver(self) -> None:
        if self._spool is not None and self._spool.waits:
            self._spool.send(self._give, _MOST_AT_ONCE)
        while batch := self._first():
            self._give(batch)
            self._drop_first(len(batch))
        if self._reported:
            logger.warning("audit sink `%s` works again", self.name)
        self._pause, self._retry_at, self._reported = 0.0, 0.0, False

    def _give(self, batch: Sequence[AuditRecord]) -> None:
        """Write to the sink; records that it refuses are lost and counted, and do not block the rest.

        Where the sink does not report which, they are given one by one; if it fails meanwhile, the next attempt goes on
        after the last one.
        """
        left = [record for record in batch if record.id not in self._settled]
        try:
            self._sink.write(left)
        except AuditRefused as e:
            if len(left) == 1 or e.rejected:
                self._lose(len(e.rejected) or 1, e)
            else:
                for record in left:
                    self._give_one(record)
                    self._settled.add(record.id)
        self._settled.clear()

    def _give_one(self, record: AuditRecord) -> None:
        try:
            self._sink.write([record])
        except AuditRefused as e:
            self._lose(1, e)

    def _lose(self, count: int, error: AuditRefused) -> None:
        self.lost += count
        records = (
            "an audit record was rejected and is" if count == 1 else f"{count} audit records were rejected and are"
        )
        logger.warning("%s lost: %s", records, _one_line(error))

    def _failed(self, error: Exception) -> None:
        self._pause = min(_LONGEST_PAUSE, self._pause * 2 or self._first_pause)
        self._retry_at = time.monotonic() + self._pause
        self._disk_works = True
        if not self._reported:
            self._reported = True
            where = "records wait on disk" if self._spool is not None else "records wait in memory"
            logger.warning("audit sink `%s` fails; %s: %s", self.name, where, _one_line(error))
        self._put_away()

    def _put_away(self) -> None:
        """Move the queue to disk; without a spool, or if the disk fails, records stay in the queue."""
        while self._spool is not None and (batch := self._first()):
            try:
                fits = self._spool.append(batch)
            except Exception as e:  # whatever fails, this thread must live
                logger.warning("the audit spool of `%s` cannot be written: %s", self.name, _one_line(e))
                self._disk_works = False
                break
            self._drop_first(len(batch))
            if not fits:
                self.lost += len(batch)
        if self._closing:
            with self._changed:
                self.lost += len(self._queue)
                self._queue.clear()

    def _first(self) -> list[AuditRecord]:
        with self._changed:
            first = [queued for _, queued in zip(range(_MOST_AT_ONCE), self._queue, strict=False)]
        return [queued.record() for queued in first]

    def _drop_first(self, count: int) -> None:
        with self._changed:
            for _ in range(min(count, len(self._queue))):  # at the end another thread may have spooled them
                self._queue.popleft()


def _close_if_pending(delivery: Delivery | None) -> None:
    if delivery is not None and delivery.is_pending:
        delivery.close()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
