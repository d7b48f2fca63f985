"""`EventStore`: one stream of lines, on the disk for good when `append` returns, and soon in a published file."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.errors import RangerCdapError
from ranger_cdap.service.events.event_files import EventFiles

_log = logging.getLogger(__name__)

SEGMENT_SECONDS: Final = 0.75
"""How often what was written is moved in and the watermark is renewed: each second, with room for a slow disk."""
SEGMENT_BYTES: Final = 32_000_000
PATIENCE_SECONDS: Final = 30.0
"""How long `append` waits for a disk that says nothing."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """Lines of one request, when they were received, and what became of them."""

    lines: bytes
    received: int
    done: threading.Event = field(default_factory=threading.Event)
    failed: str = ""


class EventStore:
    """Writes for many threads at once: one thread of its own commits together whatever waits (group commit).

    `received` of the lines never decreases in the order of the stream, also where the clock is set back and across
    restarts. Law: every line with `received` below the watermark is in a published file. `records` goes into the
    watermark: whether CDAP's extension delivers records; None while it has not said.

    A failing disk is reported to all waiting requests; the next request tries again.

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
        self._segment_seconds = segment_seconds
        self._segment_bytes = segment_bytes
        self._patience = patience
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._closed = False
        self._last = 0
        self._first = 0
        self._publish_at = time.monotonic() + segment_seconds
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
            self._storing.tell(_reason(e))
        else:
            self._publish(self._mark(), closed=False)
        self._thread = threading.Thread(target=self._run, name="event-store", daemon=True)
        self._thread.start()

    @property
    def age(self) -> float | None:
        """Seconds since the watermark; None while none was written."""
        return None if self.watermark is None else max(0.0, self._clock() - self.watermark / 1000)

    def append(self, lines: Callable[[int], bytes], patience: float | None = None) -> None:
        """Return when the lines are on the disk for good; `lines` makes them of the time they are received.

        Raises:
            OSError: they are not, or that is unknown; safe to send them again.
        """
        with self._changed:
            if self._closed:
                raise OSError("the service ends")
            received = max(self._now(), self._last)
            mine = _Waiting(lines(received), received)
            self._last = received
            self._waiting.append(mine)
            self._changed.notify()
        if not mine.done.wait(self._patience if patience is None else patience):
            raise TimeoutError("the disk does not answer")
        if mine.failed:
            raise OSError(mine.failed)

    def close(self) -> None:
        """Commit what waits, move all of it in, and take nothing more; once more does nothing."""
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
            if mark is not None:
                self._publish(mark, closed=closed)

    def _next(self) -> tuple[list[_Waiting], int | None, bool]:
        """Return the batch to commit, if any; the watermark once that is published, if due; whether it is the last.

        Under one lock: whatever comes later is received at the watermark or after it.
        """
        with self._changed:
            while not (self._waiting or self._closed or self._is_due()):
                self._changed.wait(max(0.0, self._publish_at - time.monotonic()))
            batch, self._waiting = self._waiting, []
            return batch, self._mark() if self._closed or self._is_due() else None, self._closed

    def _mark(self) -> int:
        """A watermark: later than every line until now, also where the clock was set back."""
        self._last = max(self._now(), self._last + 1)
        return self._last

    def _commit(self, batch: list[_Waiting]) -> None:
        failed = ""
        try:
            self._write(batch)
        except Exception as e:  # whatever it is, this thread must live and nothing must be acknowledged
            failed = _reason(e)
        for waiting in batch:
            waiting.failed = failed
            waiting.done.set()
        self._storing.tell(failed)

    def _write(self, batch: list[_Waiting]) -> None:
        self._open()
        if batch[0].received < self._first:  # known only now, because the disk was not there before
            raise OSError(0, "the clock was set back; try again")
        self._files.append(b"".join(waiting.lines for waiting in batch))

    def _open(self) -> None:
        """Take the directory, and go on from the time that its last line and its watermark have."""
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
        return time.monotonic() >= self._publish_at or self._files.size >= self._segment_bytes

    def _publish(self, mark: int, *, closed: bool) -> None:
        self._publish_at = time.monotonic() + self._segment_seconds
        failed = ""
        try:
            self._move_in(mark, closed=closed)
        except Exception as e:  # as above
            failed = _reason(e)
        self._moving.tell(failed)

    def _move_in(self, mark: int, *, closed: bool) -> None:
        try:
            if not closed:
                self._open()
            if self._files.is_open and mark >= self._first:
                self._files.publish()
                self._files.watermark.write(mark, self.records)
                self.watermark = mark
        finally:
            if closed:
                self._files.close()


@dataclass(slots=True)
class _Trouble:
    """Logs when something begins to fail and when it is well again, not every time."""

    begins: str
    ends: str
    lasts: bool = False

    def tell(self, failed: str) -> None:
        """Log the result of one more try; empty if all is well."""
        if failed and not self.lasts:
            _log.error(self.begins, failed)
        elif self.lasts and not failed:
            _log.warning(self.ends)
        self.lasts = bool(failed)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or "the disk does not take them"
    return str(error) if isinstance(error, RangerCdapError) else type(error).__name__
