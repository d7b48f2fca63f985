"""Spool of audit records on disk while their sink is unavailable; it outlives the program that wrote them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ranger_cdap.audit.held_files import HeldFiles
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.ranger_model.json_text import decode_or_none

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
        self._held = HeldFiles()
        self._sent: dict[Path, int] = {}
        self._held.adopt(directory.glob(f"{self._stem}.*.jsonl"))

    def of_this_process(self) -> Spool:
        """Return the spool of a forked process; its parent keeps the files it holds."""
        return Spool(self._directory, self._stem, max_bytes=self._max_bytes)

    @property
    def waits(self) -> bool:
        """Return true if records are pending."""
        return any(path.exists() for path in self._held.paths)

    def append(self, records: Sequence[AuditRecord]) -> bool:
        """Append records; false if the spool is full.

        Raises:
            OSError: the disk does not take them.
        """
        lines = b"".join(self._encode(record) + b"\n" for record in records)
        if self._held.size + len(lines) > self._max_bytes:
            return False
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._held.hold(self._own):
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
        for path in self._held.paths:
            if path.exists():
                self._send_file(path, deliver, most)
                path.unlink()
            self._sent.pop(path, None)
            if path != self._own:
                self._held.let_go(path)

    def close(self) -> None:
        """Leave the pending records to the next process."""
        self._held.let_all_go()

    def _send_file(self, path: Path, deliver: Callable[[Sequence[AuditRecord]], None], most: int) -> None:
        with path.open("rb") as lines:
            lines.seek(self._sent.get(path, 0))
            while batch := [line for _, line in zip(range(most), lines, strict=False)]:
                # A kill may have cut off a line.
                records = [record for line in batch if (record := decode_or_none(line, self._decoder)) is not None]
                if records:
                    deliver(records)
                self._sent[path] = self._sent.get(path, 0) + sum(map(len, batch))
