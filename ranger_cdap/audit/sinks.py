"""Where audit records can go: a file that is rotated, the log, Ranger's Solr, and whatever plugins add."""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import filelock
import msgspec

from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.audit.solr import SolrSink
from ranger_cdap.config import AuditSettings
from ranger_cdap.errors import ConfigError


class AuditSink(Protocol):
    """Where audit records go; it is asked from one thread at a time."""

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Store the records or raise: `AuditRefused` if they are not wanted as they are, else they are sent again."""

    def close(self) -> None:
        """Release what is held."""


SinkFactory = Callable[[AuditSettings], AuditSink]


class FileSink:
    """JSON lines appended to one file that only its owner can read.

    When it would grow beyond `max_bytes`, it becomes `.1`, `.1` becomes `.2`, and so on up to `keep`. Several processes
    may write to it.
    """

    def __init__(self, path: Path, *, max_bytes: int = 0, keep: int = 10) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._encode = msgspec.json.Encoder().encode
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Append each record as one line; all of them by one write, so that lines of several processes don't mix."""
        lines = b"".join(self._encode(record) + b"\n" for record in records)
        with self._lock:
            descriptor = self._ready(len(lines))
            if os.write(descriptor, lines) != len(lines):
                raise OSError(errno.ENOSPC, "the audit file took only a part of the records")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._release()

    def _ready(self, more: int) -> int:
        """The open file, rotated if it would become too large; also when another process has just done that."""
        if self._descriptor is None or not self._is_the_file(self._descriptor):
            self._release()
            self._descriptor = self._open()
        if self._max_bytes and os.fstat(self._descriptor).st_size + more > self._max_bytes:
            self._rotate(more)
            self._release()
            self._descriptor = self._open()
        return self._descriptor

    def _open(self) -> int:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def _is_the_file(self, descriptor: int) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(os.fstat(descriptor), there)

    def _rotate(self, more: int) -> None:
        with filelock.FileLock(f"{self._path}.lock", timeout=10, mode=0o600):
            if not self._path.exists() or not 0 < self._path.stat().st_size > self._max_bytes - more:
                return  # another process did it, or there is nothing to put away
            for number in range(self._keep, 0, -1):
                source = self._path if number == 1 else Path(f"{self._path}.{number - 1}")
                with suppress(FileNotFoundError):
                    source.replace(f"{self._path}.{number}")

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class LogSink:
    """Each record as one line of JSON in the log `ranger_cdap.audit.records`, level INFO."""

    def __init__(self) -> None:
        self._log = logging.getLogger("ranger_cdap.audit.records")
        self._encode = msgspec.json.Encoder().encode

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Log each record; JSON escapes line breaks, so a hostile name can't forge a line."""
        for record in records:
            self._log.info("%s", self._encode(record).decode())

    def close(self) -> None:
        """Nothing is held."""


def _file_sink(settings: AuditSettings) -> AuditSink:
    if settings.file is None:
        raise ConfigError("the audit sink `file` needs the setting `audit.file`")
    return FileSink(settings.file, max_bytes=settings.file_max_bytes, keep=settings.file_keep)


def _log_sink(_: AuditSettings) -> AuditSink:
    return LogSink()


def _solr_sink(settings: AuditSettings) -> AuditSink:
    if not settings.solr_url:
        raise ConfigError("the audit sink `solr` needs the setting `audit.solr_url`, the address of the collection")
    return SolrSink(settings.solr_url, settings.solr_username, settings.solr_password, ca_file=settings.solr_ca_file)


BUILT_IN_SINKS: dict[str, SinkFactory] = {"file": _file_sink, "log": _log_sink, "solr": _solr_sink}
