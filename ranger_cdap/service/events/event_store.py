"""`EventStore`: one stream of lines, on disk when `append` returns, and soon in a published file."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.errors import RangerCdapError
from ranger_cdap.service.events.event_files import EventFiles

_log = logging.getLogger(__name__)

SEGMENT_SECONDS: Final = 0.75
"""Interval of publishing and of the watermark: each second, with room for a slow disk."""
QUIET: Final = 1 / 15
"""The part of that interval after which the first lines are published; 50 ms for the default interval."""
BURST: Final = 2
"""Files that may follow each other so quickly: a creation's check and its record."""
SEGMENT_BYTES: Final = 32_000_000
PATIENCE_SECONDS: Final = 30.0
"""Time `append` waits for a disk that does not respond."""


@dataclass(eq=False, slots=True)
class _PendingLines:
    """Lines of one request, the time they were received, and the result of writing them."""

    lines: bytes
    received: int
    done: threading.Event = field(default_factory=threading.Event)
    failed: str = ""


class Pace:
    """When a stream of lines is published: `due` is a time of the clock whose values the methods get, in seconds.

    Laws: lines are published within an interval, and after a quiet time within the `QUIET` part of it. So are at most
    `BURST` files; with more lines, one file is published each interval. The watermark is renewed each interval.
    """

    def __init__(self, interval: float, now: float) -> None:
        self._interval = interval
        self._files: deque[float] = deque(maxlen=BURST)
        self.due = now + interval

    def lines_arrived(self, now: float) -> None:
        """Publish soon, if there were few files."""
        soon = now + QUIET * self._interval
        if len(self._files) < BURST or self._files[0] + BURST * self._interval <= soon:
            self.due = min(self.due, soon)

    def publish(self, now: float, *, lines: bool) -> None:
        """Record that lines, or only the watermark, are published now."""
        self.due = now + self._interval
        if lines:
            self._files.append(now)


class EventStore:
    """Writer for many threads: its own thread commits all waiting lines together (group commit).

    `received` of the lines never decreases in the order of the stream, even if the clock is set back and across
    restarts. Law: every line with `received` below the watermark is in a published file. `records` goes into the
    watermark: whether CDAP's extension delivers records; None until it has said so.

    A failing disk is reported to all waiting requests; the next request retries.

    Raises:
        ConfigError: others can write to the directory.
        ServerError: another program uses it.
    """

    def __init__(
        self,
        files: EventFiles,
        *,
        segment_seconds: float = SEGMENT_SECONDS,
        segment_bytes: int = SEGMENT_BYTES,
        patience: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._segment_bytes = segment_bytes
        self._patience = patience
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[_PendingLines] = []
        self._closed = False
        self._last = 0
        self._first = 0
        self._pace = Pace(segment_seconds, time.monotonic())
        self._storing = _Trouble(
            "records cannot be stored: %s; CDAP sends them again and changes nothing",
            "records are stored again",
        )
        self._moving = _Trouble("stored records cannot be moved to the sync job: %s", "stored records are moved again")
        self.watermark: int | None = None
        self.records: bool | None = None
        try:
            self._open()
        except OSError as e:
            self._storing.log_result(_reason(e))
        else:
            self._publish(self._mark(), closed=False)
        self._thread = threading.Thread(target=self._run, name="event-store", daemon=True)
        self._thread.start()

    @property
    def age(self) -> float | None:
        """Return the seconds since the watermark; None if none was written."""
        return None if self.watermark is None else max(0.0, self._clock() - self.watermark / 1000)

    def append(self, lines: Callable[[int], bytes], patience: float | None = None) -> None:
        """Return when the lines are on disk; `lines` builds them from the time they are received.

        Raises:
            OSError: they are not, or that is unknown; it is safe to send them again.
        """
        with self._changed:
            if self._closed:
                raise OSError("the service is stopping")
            received = max(self._now(), self._last)
            mine = _PendingLines(lines(received), received)
            self._last = received
            self._waiting.append(mine)
            self._changed.notify()
        if not mine.done.wait(self._patience if patience is None else patience):
            raise TimeoutError("the disk does not respond")
        if mine.failed:
            raise OSError(mine.failed)

    def close(self) -> None:
        """Commit the waiting lines, publish all of them, and accept no more; idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(self._patience)

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _run(self) -> None:
        closed = False
        while not closed:
            batch, mark, closed = self._next()
            if batch:
                self._commit(batch)
                self._pace.lines_arrived(time.monotonic())
            if mark is not None:
                self._publish(mark, closed=closed)

    def _next(self) -> tuple[list[_PendingLines], int | None, bool]:
        """Return the batch to commit, the watermark to write once that is published, if due, and true for the last one.

        Under one lock: any later line is received at the watermark or after it.
        """
        with self._changed:
            while not (self._waiting or self._closed or self._is_due()):
                self._changed.wait(max(0.0, self._pace.due - time.monotonic()))
            batch, self._waiting = self._waiting, []
            return batch, self._mark() if self._closed or self._is_due() else None, self._closed

    def _mark(self) -> int:
        """Return a watermark later than every line until now, even if the clock was set back."""
        self._last = max(self._now(), self._last + 1)
        return self._last

    def _commit(self, batch: list[_PendingLines]) -> None:
        failed = ""
        try:
            self._write(batch)
        except Exception as e:  # whatever fails, this thread must live and nothing must be acknowledged
            failed = _reason(e)
        for waiting in batch:
            waiting.failed = failed
            waiting.done.set()
        self._storing.log_result(failed)

    def _write(self, batch: list[_PendingLines]) -> None:
        self._open()
        if batch[0].received < self._first:  # known only now, because the disk was unavailable before
            raise OSError(0, "the clock was set back; try again")
        self._files.append(b"".join(waiting.lines for waiting in batch))

    def _open(self) -> None:
        """Lock the directory, and continue after the times of its last line and its watermark."""
        if self._files.is_open:
            return
        self._files.open()
        last = self._files.watermark.read()
        self._first = max(self._files.last_received, last.watermark if last else 0)
        with self._changed:
            self._last = max(self._last, self._first)
        if self.records is None and last is not None:
            self.records = last.records

    def _is_due(self) -> bool:
        return time.monotonic() >= self._pace.due or self._files.size >= self._segment_bytes

    def _publish(self, mark: int, *, closed: bool) -> None:
        self._pace.publish(time.monotonic(), lines=self._files.size > 0)
        failed = ""
        try:
            self._move_in(mark, closed=closed)
        except Exception as e:  # as above
            failed = _reason(e)
        self._moving.log_result(failed)

    def _move_in(self, mark: int, *, closed: bool) -> None:
        try:
            if not closed:
                self._open()
            if self._files.is_open and mark >= self._first:
                self._files.publish()
                self._files.watermark.write(mark, self.records, self._files.newest)
                self.watermark = mark
        finally:
            if closed:
                self._files.close()


@dataclass(slots=True)
class _Trouble:
    """Log of a failure's beginning and end, instead of every attempt."""

    begins: str
    ends: str
    lasts: bool = False

    def log_result(self, failed: str) -> None:
        """Log the result of an attempt; empty for success."""
        if failed and not self.lasts:
            _log.error(self.begins, failed)
        elif self.lasts and not failed:
            _log.warning(self.ends)
        self.lasts = bool(failed)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or "the disk does not take them"
    return str(error) if isinstance(error, RangerCdapError) else type(error).__name__
