"""`FileSink`: audit records as JSON lines in a rotated file; several processes may write to it."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.audit.chain import NO_LINK, Link, chained, cut_mark, read_line, start_mark
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.disk import fsync_directory
from ranger_cdap.forks import restart_after_fork

LONGEST_LINE: Final = 16 << 20
"""Longest line that is read back, in bytes; a request, and so its record, is much smaller."""
_BLOCK: Final = 65_536
_UNKNOWN: Final = -1


class FileSink:
    """Sink that appends JSON lines to a file that only its owner can read.

    A file that would exceed `max_bytes` becomes `.1`, `.1` becomes `.2`, and so on up to `keep`. A write locks the
    file, also against other processes: lines never mix, and a rotation loses none. `durable`: a write returns when the
    records are on disk. `chain`: each line names the previous one by its hash (`chain.py`), across rotations, restarts
    and all writing processes.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = 0,
        keep: int = 10,
        durable: bool = False,
        chain: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._durable = durable
        self._chain = chain
        self._clock = clock
        self._encode = msgspec.json.Encoder().encode
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._size = _UNKNOWN
        self._link = NO_LINK
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Open the file again: a lock held by the descriptor of the parent would not exclude the parent."""
        self._lock = threading.Lock()
        self._size = _UNKNOWN
        self._release()

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Append each record as one line.

        Raises:
            OSError: the disk failed; none is written, as far as the disk can still be changed.
        """
        documents = [self._encode(record) for record in records]
        with self._lock:
            while True:
                with self._locked() as descriptor:
                    if self._append(descriptor, documents):
                        return

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._release()

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Lock the file that has the name now against all other writers."""
        descriptor = self._opened()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        while not self._is_the_file(descriptor):  # another process rotated it in the meantime
            self._release()
            descriptor = self._opened()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield descriptor
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _opened(self) -> int:
        if self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._size = _UNKNOWN
            if self._durable:
                fsync_directory(self._path.parent)
        return self._descriptor

    def _is_the_file(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _append(self, descriptor: int, documents: Sequence[bytes]) -> bool:
        """Append the documents; false if the file was full, or its chain not ours to continue, and was rotated."""
        size, piece, marks = os.fstat(descriptor).st_size, b"", list[bytes]()
        if size != self._size:  # first write, or another process has written
            last, piece = last_line(descriptor)
            if self._chain and size and read_line(last) is None:
                self._rotate()
                return False
            marks = self._resume(last, piece) if self._chain else []
        lines, link = self._lines([*marks, *documents])
        if self._max_bytes and not piece and 0 < size > self._max_bytes - len(lines):
            self._rotate()
            return False
        self._put(descriptor, b"\n" + lines if piece else lines, size)
        self._link = link
        return True

    def _resume(self, last: bytes, piece: bytes) -> list[bytes]:
        """Continue after the last whole line; return marks for the start of a chain and for a line cut off by a crash.

        Truncating the file while we run does not change where we continue, so that the gap can be detected.
        """
        whole = read_line(piece)  # only the line end is missing
        found = whole or read_line(last or self._last_of_older())
        if found is not None and found.link.number > self._link.number:
            self._link = found.link
        now = int(self._clock() * 1000)
        if self._link == NO_LINK:
            return [start_mark(last or self._last_of_older(), now)]
        return [cut_mark(piece, now)] if piece and whole is None else []

    def _last_of_older(self) -> bytes:
        for number in range(1, self._keep + 1):
            try:
                descriptor = os.open(f"{self._path}.{number}", os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                break
            try:
                if line := last_line(descriptor)[0]:
                    return line
            finally:
                os.close(descriptor)
        return b""

    def _lines(self, documents: Sequence[bytes]) -> tuple[bytes, Link]:
        if not self._chain:
            return b"".join(document + b"\n" for document in documents), NO_LINK
        link, lines = self._link, list[bytes]()
        for document in documents:
            line, link = chained(document, link)
            lines += line, b"\n"
        return b"".join(lines), link

    def _put(self, descriptor: int, lines: bytes, size: int) -> None:
        """Write all lines after the first `size` bytes, or none."""
        self._size = _UNKNOWN
        try:
            write_all(descriptor, lines)
            if self._durable:
                os.fdatasync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
        self._size = size + len(lines)

    def _rotate(self) -> None:
        """Rename the file to that of an older one; the next attempt creates a new file."""
        for number in range(self._keep, 0, -1):
            source = self._path if number == 1 else Path(f"{self._path}.{number - 1}")
            with suppress(FileNotFoundError):
                source.replace(f"{self._path}.{number}")
        if not self._keep:
            self._path.unlink(missing_ok=True)

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def write_all(descriptor: int, lines: bytes) -> None:
    """Write all lines, by one call if the disk has room.

    Raises:
        OSError: the disk does not take all of them.
    """
    left = memoryview(lines)
    while left:
        left = left[os.write(descriptor, left) :]


def last_line(descriptor: int) -> tuple[bytes, bytes]:
    """Return the last whole line of a file without its end, empty if there is none, and the bytes after it.

    Only the end of a line longer than `LONGEST_LINE` is read.
    """
    at, tail = os.fstat(descriptor).st_size, b""
    while at and tail.count(b"\n") < 2 and len(tail) <= LONGEST_LINE:
        start = max(0, at - _BLOCK)
        tail, at = os.pread(descriptor, at - start, start) + tail, start
    whole, end, piece = tail.rpartition(b"\n")
    return (whole.rpartition(b"\n")[2], piece) if end else (b"", piece)
