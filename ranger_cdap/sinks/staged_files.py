"""Files of audit records that are filled on this disk, then published whole; they outlive the program that fills them.

Law: a record whose `append` returned is in exactly one staged file until `finish`; a complete file has whole lines
only. Its number and host, and so the path that it is published under, stay the same however often that is tried.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from ranger_cdap.audit.file import last_line, write_all
from ranger_cdap.audit.held_files import HeldFiles
from ranger_cdap.errors import AuditSinkError
from ranger_cdap.sinks.file_layout import RANDOM_DIGITS, FileNumber

_NAME: Final = re.compile(rf"hdfs-([0-9]{{{RANDOM_DIGITS + 1},30}})-([A-Za-z0-9._-]*)\.log")
_NOT_IN_A_HOST: Final = re.compile(r"[^A-Za-z0-9._-]")
_PATTERN: Final = "hdfs-*.log"
_LONGEST_HOST: Final = 100
LARGEST_FILE: Final = 128 << 20
"""Bytes at which a file is complete before its time: a block of HDFS."""


class StagedFiles:
    """Staged files of a directory, one of which is open; safe to share between threads.

    `max_bytes` is the most that this process keeps there.
    """

    def __init__(
        self,
        directory: Path,
        host: str,
        *,
        max_bytes: int,
        largest_file: int | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._directory = directory
        self._host = _NOT_IN_A_HOST.sub("_", host)[:_LONGEST_HOST]
        self._max_bytes = max_bytes
        self._largest_file = LARGEST_FILE if largest_file is None else largest_file
        self._now = now
        self._lock = threading.Lock()
        self._held = HeldFiles()
        self._open: Path | None = None

    def of_this_process(self) -> StagedFiles:
        """Return the staged files of a forked process; its parent keeps those it holds."""
        return StagedFiles(
            self._directory,
            self._host,
            max_bytes=self._max_bytes,
            largest_file=self._largest_file,
            now=self._now,
        )

    def append(self, lines: bytes) -> None:
        """Append whole lines to the open file.

        Raises:
            AuditSinkError: too much waits here to be published.
            OSError: the disk does not take them; none is in the file.
        """
        with self._lock:
            self._roll_if_due()
            if self._held.size + len(lines) > self._max_bytes:
                raise AuditSinkError(f"more than {self._max_bytes} bytes wait in `{self._directory}` to be published")
            path = self._open or self._begin()
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                before = os.fstat(descriptor).st_size
                self._put(descriptor, lines, before)
            finally:
                os.close(descriptor)
            if before + len(lines) >= self._largest_file:
                self._open = None

    def roll(self) -> None:
        """Take no more records into the open file."""
        with self._lock:
            self._open = None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until a file is complete, 0 if one is; None if no records wait."""
        with self._lock:
            self._roll_if_due()
            waiting = [path for path in self._held.paths if path.exists()]
            if not waiting:
                return None
            return (
                0.0
                if self._open not in waiting or len(waiting) > 1
                else max(0.0, (_number_of(waiting[0]).end - self._now()).total_seconds())
            )

    def complete(self) -> Sequence[tuple[Path, FileNumber]]:
        """Return the complete files, oldest first, with those that dead processes left here; each has whole lines."""
        with self._lock:
            self._roll_if_due()
            self._held.adopt(path for path in self._directory.glob(_PATTERN) if _NAME.fullmatch(path.name))
            found = [path for path in self._held.paths if path != self._open]
        return [(path, _number_of(path)) for path in sorted(found) if self._has_lines(path)]

    def finish(self, path: Path) -> None:
        """Remove a complete file: it is published."""
        path.unlink(missing_ok=True)
        with self._lock:
            self._held.let_go(path)

    def close(self) -> None:
        """Leave what is not published to the next process."""
        with self._lock:
            self._open = None
            self._held.let_all_go()

    def _begin(self) -> Path:
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        milliseconds = (self._now() - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        number = f"{milliseconds}{secrets.randbelow(10**RANDOM_DIGITS):0{RANDOM_DIGITS}}"
        path = self._directory / f"hdfs-{number}-{self._host}.log"
        if not self._held.hold(path):
            raise OSError(f"the staged file `{path}` cannot be locked")
        self._open = path
        return path

    def _put(self, descriptor: int, lines: bytes, size: int) -> None:
        """Write all lines after the first `size` bytes, or none."""
        try:
            write_all(descriptor, lines)
        except OSError:
            try:
                os.ftruncate(descriptor, size)
            except OSError:
                self._open = None  # nothing may follow a piece of a line
            raise

    def _roll_if_due(self) -> None:
        if self._open is not None:
            number = _number_of(self._open)
            if not number.begun <= self._now() < number.end:  # or the clock was set back
                self._open = None

    def _has_lines(self, path: Path) -> bool:
        """Cut off what a kill or a full disk left of a line; false if nothing is left, and the file is removed."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            self.finish(path)
            return False
        try:
            size, piece = os.fstat(descriptor).st_size, len(last_line(descriptor)[1])
            if piece:
                os.ftruncate(descriptor, size - piece)
        finally:
            os.close(descriptor)
        if size == piece:
            self.finish(path)
        return size > piece


def _number_of(path: Path) -> FileNumber:
    _, number, host = path.stem.split("-", 2)
    return FileNumber(number, host)
