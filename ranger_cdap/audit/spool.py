"""Spool of audit records on disk while their sink is unavailable; it outlives the program that wrote them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import filelock
import msgspec

from ranger_cdap.audit.record import AuditRecord

_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9_.-]")


class Spool:
    """Pending records of one sink, oldest first; used by one thread.

    Each process has its own file, locked while it lives; a process that starts takes over the files of dead ones.
    Records are sent at least once: after a kill while sending, a file is sent again from its beginning.
    """

    def __init__(self, directory: Path, name: str, *, max_bytes: int) -> None:
        self._directory = directory
        self._stem = _NOT_IN_A_FILE_NAME.sub("_", name)
        self._max_bytes = max_bytes
        self._encode = msgspec.json.Encoder().encode
        self._decoder = msgspec.json.Decoder(AuditRecord)
        self._own = directory / f"{self._stem}.{os.getpid()}.jsonl"
        self._held: dict[Path, filelock.FileLock] = {}
        self._sent: dict[Path, int] = {}
        self._adopt()

    def of_this_process(self) -> Spool:
        """Return the spool of a forked process; its parent keeps the files it holds."""
        return Spool(self._directory, self._stem, max_bytes=self._max_bytes)

    @property
    def waits(self) -> bool:
        """Return true if records are pending."""
        return any(path.exists() for path in self._held)

    def append(self, records: Sequence[AuditRecord]) -> bool:
        """Append records; false if the spool is full.

        Raises:
            OSError: the disk does not take them.
        """
        lines = b"".join(self._encode(record) + b"\n" for record in records)
        if sum(path.stat().st_size for path in self._held if path.exists()) + len(lines) > self._max_bytes:
            return False
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._own not in self._held and not self._hold(self._own):
            raise OSError(f"the audit spool `{self._own}` is in use by another process")
        descriptor = os.open(self._own, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            if os.write(descriptor, lines) != len(lines):
                os.ftruncate(descriptor, before)
                raise OSError("the audit spool took only some of the records")
        finally:
            os.close(descriptor)
        return True

    def send(self, deliver: Callable[[Sequence[AuditRecord]], None], most: int) -> None:
        """Deliver the pending records, `most` at a time, and remove them.

        Raises:
            Exception: from `deliver`; records it did not take stay.
        """
        for path in list(self._held):
            if path.exists():
                self._send_file(path, deliver, most)
                path.unlink()
            self._sent.pop(path, None)
            if path != self._own:
                self._let_go(path)

    def close(self) -> None:
        """Leave the pending records to the next process."""
        for path in list(self._held):
            self._let_go(path)

    def _send_file(self, path: Path, deliver: Callable[[Sequence[AuditRecord]], None], most: int) -> None:
        with path.open("rb") as lines:
            lines.seek(self._sent.get(path, 0))
            while batch := [line for _, line in zip(range(most), lines, strict=False)]:
                records = [record for line in batch if (record := self._read(line)) is not None]
                if records:
                    deliver(records)
                self._sent[path] = self._sent.get(path, 0) + sum(map(len, batch))

    def _read(self, line: bytes) -> AuditRecord | None:
        """Return the record of a line; None for a line cut off by a kill."""
        try:
            return self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None

    def _adopt(self) -> None:
        for path in sorted(self._directory.glob(f"{self._stem}.*.jsonl")):
            self._hold(path)

    def _hold(self, path: Path) -> bool:
        lock = filelock.FileLock(f"{path}.lock", mode=0o600)
        try:
            lock.acquire(blocking=False)
        except (filelock.Timeout, OSError):
            return False
        self._held[path] = lock
        return True

    def _let_go(self, path: Path) -> None:
        lock = self._held.pop(path)
        if not path.exists():
            with suppress(OSError):
                Path(lock.lock_file).unlink()
        lock.release()
