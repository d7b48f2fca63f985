"""`EventStore`: lines that are on the disk for good when `append` returns, and soon in the sync job's directory."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.errors import RangerCdapError
from ranger_cdap.service.event_files import EventFiles

_log = logging.getLogger(__name__)

SEGMENT_SECONDS: Final = 1.0
SEGMENT_BYTES: Final = 32_000_000
PATIENCE_SECONDS: Final = 30.0
"""How long `append` waits for a disk that says nothing."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """Lines of one request, and what became of them."""

    lines: bytes
    done: threading.Event = field(default_factory=threading.Event)
    failed: str = ""


class EventStore:
    """Writes for many threads at once: one thread of its own commits together whatever waits (group commit).

    A disk that fails is told to whoever waits; the next request tries it anew.

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
    ) -> None:
        self._files = files
        self._segment_seconds = segment_seconds
        self._segment_bytes = segment_bytes
        self._patience = patience
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._closed = False
        self._publish_at: float | None = None
        self._storing = _Trouble("records can't be stored: %s; CDAP sends them again", "records are stored again")
        self._moving = _Trouble("stored records can't be moved to the sync job: %s", "stored records are moved again")
        try:
            files.open()
        except OSError as e:
            self._storing.tell(_reason(e))
        self._thread = threading.Thread(target=self._run, name="event-store", daemon=True)
        self._thread.start()

    def append(self, lines: bytes) -> None:
        """Return when the lines are on the disk for good.

        Raises:
            OSError: they are not, or nobody knows; to send them again does no harm.
        """
        mine = _Waiting(lines)
        with self._changed:
            if self._closed:
                raise OSError("the service ends")
            self._waiting.append(mine)
            self._changed.notify()
        if not mine.done.wait(self._patience):
            raise TimeoutError("the disk does not answer")
        if mine.failed:
            raise OSError(mine.failed)

    def close(self) -> None:
        """Commit what waits, move all of it in, and take nothing more; once more does nothing."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(self._patience)

    def _run(self) -> None:
        closed = False
        while not closed:
            batch, closed = self._next()
            if batch:
                self._commit(batch)
            if closed or self._is_due():
                self._publish(closed)

    def _next(self) -> tuple[list[_Waiting], bool]:
        """What to commit now, if anything, and whether it is the last."""
        with self._changed:
            while not (self._waiting or self._closed or self._is_due()):
                at = self._publish_at
                self._changed.wait(None if at is None else max(0.0, at - time.monotonic()))
            batch, self._waiting = self._waiting, []
            return batch, self._closed

    def _commit(self, batch: list[_Waiting]) -> None:
        failed = ""
        try:
            self._files.open()
            self._files.append(b"".join(waiting.lines for waiting in batch))
        except Exception as e:  # whatever it is, this thread must live and nothing must be acknowledged
            failed = _reason(e)
        if self._publish_at is None:
            self._publish_at = time.monotonic() + self._segment_seconds
        for waiting in batch:
            waiting.failed = failed
            waiting.done.set()
        self._storing.tell(failed)

    def _is_due(self) -> bool:
        late = self._publish_at is not None and time.monotonic() >= self._publish_at
        return late or self._files.size >= self._segment_bytes

    def _publish(self, closed: bool) -> None:
        self._publish_at = None
        failed = ""
        try:
            if closed:
                self._files.close()
            elif self._files.is_open:
                self._files.publish()
        except OSError as e:
            self._publish_at = time.monotonic() + self._segment_seconds
            failed = _reason(e)
        self._moving.tell(failed)


@dataclass(slots=True)
class _Trouble:
    """Logs when something begins to fail and when it is well again, not every time."""

    begins: str
    ends: str
    lasts: bool = False

    def tell(self, failed: str) -> None:
        """What became of one more try; empty if all is well."""
        if failed and not self.lasts:
            _log.error(self.begins, failed)
        elif self.lasts and not failed:
            _log.warning(self.ends)
        self.lasts = bool(failed)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or "the disk does not take them"
    return str(error) if isinstance(error, RangerCdapError) else type(error).__name__
