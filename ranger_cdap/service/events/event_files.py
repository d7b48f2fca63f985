"""The directory that the sync job reads: every file in it is complete, named by its time, and written by us only.

Published files can be read by their owner and, if configured, by a group: the sync job then runs as another user.
Records go into a segment in `.incoming/`, which readers skip, and the segment is moved into the directory as a whole. A
crash or a failed write can leave half a line at the end of a segment, never in a published file: that half was never
acknowledged and is cut off.

Law: after `open`, the permissions of the directory and each published file are exactly those of `EventAccess`, and
unpublished files are for the owner only.
"""

from __future__ import annotations

import os
import platform
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import filelock
import msgspec

from ranger_cdap.audit.file import write_all
from ranger_cdap.disk import fsync_directory, replace_file
from ranger_cdap.errors import ConfigError, ServerError
from ranger_cdap.ranger_model.json_text import Undecodable, decode
from ranger_cdap.wire.event_access import EventAccess, opened
from ranger_cdap.wire.event_names import SUFFIX, event_name
from ranger_cdap.wire.watermark import WATERMARK, WatermarkFile

INCOMING: Final = ".incoming"

_LOCK: Final = "lock"
_HOLDER: Final = "holder"
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_PIECE: Final = 1 << 16


class EventFiles:
    """Writer of such a directory; used by one thread at a time. Call `open` before use, and after each failure."""

    def __init__(
        self,
        directory: Path,
        clock: Callable[[], float] = time.time,
        access: EventAccess = EventAccess(),  # noqa: B008 - immutable
    ) -> None:
        self._directory = directory
        self._access = access
        self._incoming = directory / INCOMING
        self._clock = clock
        self._lock: filelock.BaseFileLock | None = None
        self._segment: _Segment | None = None
        self._last = 0
        self.last_received = 0
        """The time, in epoch milliseconds, when the last line present at `open` was received; 0 without one."""
        self.newest = 0
        """The time in the name of the last published file; 0 if unknown."""
        self.watermark = WatermarkFile(directory, self._incoming, access)

    @property
    def is_open(self) -> bool:
        """Return true if the directory is ours."""
        return self._lock is not None

    @property
    def size(self) -> int:
        """Return the bytes of the segment being written; 0 without one."""
        return self._segment.length if self._segment else 0

    def open(self) -> None:
        """Lock the directory, and publish the segments of the previous process.

        Raises:
            ConfigError: other users can write there, so that anyone could make events; or a file is another user's.
            ServerError: another program uses it.
            OSError: the disk fails.
        """
        if self._lock is not None:
            return
        self._make_directories()
        for directory in (self._directory, self._incoming):
            if directory.stat().st_mode & _WRITABLE_BY_OTHERS:
                raise ConfigError(
                    f"`{directory}` can be written by other users, who could forge events; chmod go-w it "
                    "(`service.events_dir`)"
                )
        self._lock = self._taken()
        try:
            published, left = self._files(self._directory), self._files(self._incoming)
            mark = self.watermark.read()
            self.newest = max([mark.newest if mark else 0, *map(_stamp, published)])
            self._last = max([self.newest, *map(_stamp, left)])
            self.last_received = max(map(_last_received, (*published[-1:], *left)), default=0)
            self._align(published)
            self.publish()
        except (OSError, ConfigError):
            self._give_back()
            raise

    def append(self, lines: bytes) -> None:
        """Write lines to the disk.

        Raises:
            OSError: the disk fails; the lines may be there all the same, as whole lines.
        """
        if self._segment is None:
            self._segment = self._begin()
        try:
            self._segment.append(lines)
        except OSError:
            # The kernel's state of a file after a failed write or fsync is unknown, so nothing more is appended.
            self._segment.abandon()
            self._segment = None
            raise

    def publish(self) -> None:
        """Publish all segments.

        Raises:
            OSError: the disk fails; `publish` may be called again.
        """
        if self._segment is not None:
            self._segment.close()
            self._segment = None
        self._make_directories()
        failed: OSError | None = None
        if paths := self._files(self._incoming):
            for path in paths:
                try:
                    self._move_in(path)
                except OSError as e:  # one that cannot be moved must not hold up the others
                    failed = e
            fsync_directory(self._directory)
            fsync_directory(self._incoming)
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Publish all segments and unlock the directory.

        Raises:
            OSError: the disk fails; the next `open` publishes them.
        """
        if self._lock is not None:
            try:
                self.publish()
            finally:
                self._give_back()

    def _begin(self) -> _Segment:
        self._make_directories()
        # Later than every other even if the clock was set back.
        self._last = max(int(self._clock() * 1000), self._last + 1)
        segment = _Segment(self._incoming / event_name(self._last, self.newest))
        try:
            fsync_directory(self._incoming)
        except OSError:
            segment.abandon()
            raise
        return segment

    def _move_in(self, path: Path) -> None:
        with opened(path, os.O_RDWR | os.O_NOFOLLOW) as descriptor:
            length = os.fstat(descriptor).st_size
            whole = _length_of_whole_lines(descriptor, length)
            if whole < length:
                os.ftruncate(descriptor, whole)
            self._access.give_file(descriptor)  # before any reader can open it
            os.fsync(descriptor)
        if whole:
            path.rename(self._directory / path.name)
            self.newest = max(self.newest, _stamp(path))
        else:
            path.unlink()

    def _files(self, directory: Path) -> list[Path]:
        return sorted(path for path in directory.iterdir() if path.suffix == SUFFIX)

    def _align(self, published: Iterable[Path]) -> None:
        """Set the permissions of files of an earlier process or setting; first `.incoming`, closed to any group."""
        EventAccess().align_directory(self._incoming)
        for path in (*published, self._directory / WATERMARK):
            with suppress(FileNotFoundError):  # no watermark yet, or a file was moved at the same time
                self._access.align_file(path)
        self._access.align_directory(self._directory)

    def _make_directories(self) -> None:
        if not self._incoming.is_dir():
            is_new = not self._directory.exists()
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._incoming.mkdir(exist_ok=True, mode=0o700)
            if is_new:  # an existing one is checked before it is changed
                self._access.align_directory(self._directory)
            fsync_directory(self._directory.parent)
            fsync_directory(self._directory)

    def _taken(self) -> filelock.BaseFileLock:
        # Locked here and unlocked in another thread.
        lock = filelock.FileLock(self._incoming / _LOCK, timeout=0, mode=0o600, thread_local=False)
        holder = self._incoming / _HOLDER
        try:
            lock.acquire()
        except filelock.Timeout:
            who = "another process"
            with suppress(OSError):
                who = holder.read_text(encoding="utf-8") or who
            raise ServerError(
                f"`{self._directory}` is used by {who}; give each decision service its own `service.events_dir`"
            ) from None
        with suppress(OSError):  # only for the error message of a second process
            replace_file(holder, [f"process {os.getpid()} on {platform.node()}".encode()])
        return lock

    def _give_back(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            with suppress(OSError):
                (self._incoming / _HOLDER).unlink(missing_ok=True)
            lock.release()


class _Segment:
    """Growing file; `length` is the part that is durable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        self.length = 0

    def append(self, lines: bytes) -> None:
        """Append lines.

        Raises:
            OSError: the disk fails.
        """
        write_all(self._descriptor, lines)
        os.fsync(self._descriptor)
        self.length += len(lines)

    def abandon(self) -> None:
        """Cut off what is not durable; if that fails, half a line is cut off when the file is published."""
        with suppress(OSError):
            os.ftruncate(self._descriptor, self.length)
        self.close()

    def close(self) -> None:
        """Close the file for appending."""
        with suppress(OSError):  # all data is already on disk
            os.close(self._descriptor)


class _Received(msgspec.Struct):
    received: int = 0


def _last_received(path: Path) -> int:
    """Return the time when the last whole line was received (lines are in that order); 0 if unknown."""
    with suppress(OSError, Undecodable), opened(path, os.O_RDONLY | os.O_NOFOLLOW) as descriptor:
        end = _length_of_whole_lines(descriptor, os.fstat(descriptor).st_size)
        start = _length_of_whole_lines(descriptor, max(0, end - 1))
        return decode(os.pread(descriptor, end - start, start), _Received).received
    return 0


def _length_of_whole_lines(descriptor: int, end: int) -> int:
    while end:
        start = max(0, end - _PIECE)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _stamp(path: Path) -> int:
    time_, _, _ = path.name.partition("-")
    return int(time_) if time_.isascii() and time_.isdecimal() else 0
