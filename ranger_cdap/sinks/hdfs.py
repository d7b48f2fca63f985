"""Sink for files in the layout of Ranger's HDFS destination, in HDFS, an object store or a directory."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from ranger_cdap.audit.ranger_event import ranger_event
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.errors import AuditSinkError, reason
from ranger_cdap.forks import restart_after_fork
from ranger_cdap.sinks.file_systems import PublishedDirectory
from ranger_cdap.sinks.staged_files import StagedFiles

logger = logging.getLogger(__name__)

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_CLOSE_SECONDS: Final = 5.0
_LONGEST_WAIT: Final = 3600.0  # so that a clock that is set changes when a file is complete


@dataclass(eq=False)
class HdfsSink:
    """Sink that fills files on this disk, and publishes each when it is complete, by a thread of its own.

    A record is written once it is in a file on this disk. A file that cannot be published stays there, is tried again,
    and is published by the next process if this one ends; its name does not change, so that it replaces itself.
    """

    directory: PublishedDirectory
    staged: StagedFiles
    _: KW_ONLY
    first_pause: float = _FIRST_PAUSE
    close_seconds: float = _CLOSE_SECONDS
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _thread: threading.Thread | None = None
    _closing: bool = False
    _pause: float = 0.0

    def __post_init__(self) -> None:
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Begin without files: those open at the fork are the parent's, which publishes them."""
        self._changed = threading.Condition()
        self._thread = None
        self._pause = 0.0
        self.staged = self.staged.of_this_process()

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Append the records to the open file; without records, check the directory and change nothing.

        Raises:
            AuditSinkError: too much waits to be published, or the directory that is checked is not available.
            OSError: this disk does not take them; none is written.
        """
        if not records:
            self.directory.check()
            return
        self.staged.append(b"".join(ranger_event(record) + b"\n" for record in records))
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="audit-hdfs", daemon=True)
                self._thread.start()
            elif self.staged.seconds_left == 0:
                self._changed.notify()

    def close(self) -> None:
        """Publish what is written, for a few seconds; the rest is left to the next process."""
        self.staged.roll()
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(self.close_seconds)
        if self._thread is None or not self._thread.is_alive():
            self.staged.close()

    def _run(self) -> None:
        closing = False
        while not closing:
            self._publish()  # at first what earlier processes have left
            retry_at = time.monotonic() + self._pause
            with self._changed:
                while not self._closing and (left := self._seconds_left(retry_at)) > 0:
                    self._changed.wait(min(left, _LONGEST_WAIT))
                closing = self._closing
        self._publish()

    def _seconds_left(self, retry_at: float) -> float:
        left = self.staged.seconds_left
        return _LONGEST_WAIT if left is None else max(left, retry_at - time.monotonic())

    def _publish(self) -> None:
        try:
            publish_complete(self.staged, self.directory)
        except Exception as e:  # whatever fails, this thread must live
            if not self._pause:
                why = str(e) if isinstance(e, AuditSinkError) else reason(e) if isinstance(e, OSError) else repr(e)
                logger.warning("audit files cannot be published and wait on this disk: %s", why)
            self._pause = min(_LONGEST_PAUSE, self._pause * 2 or self.first_pause)
        else:
            if self._pause:
                logger.warning("audit files are published again")
            self._pause = 0.0


def publish_complete(staged: StagedFiles, directory: PublishedDirectory) -> None:
    """Publish every complete file and remove it here, the oldest first.

    Raises:
        AuditSinkError: the directory does not take one; it stays, with those after it.
    """
    for path, number in staged.complete():
        directory.publish(path, number.path)
        staged.finish(path)
