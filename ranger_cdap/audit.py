"""Audit records, with Ranger's field names, and where they go.

A sink that fails never changes a decision: the record is lost and counted, and the failure is logged once until the
sink works again.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from ranger_cdap.config import AuditSettings
from ranger_cdap.errors import ConfigError

logger = logging.getLogger(__name__)


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One access of one person to one entity, in the fields of Ranger's audit store; times in epoch milliseconds."""

    repo: str
    reqUser: str  # noqa: N815 Ranger's name
    evtTime: int  # noqa: N815
    access: str
    resource: str
    resType: str  # noqa: N815
    action: str
    result: int
    policy: int
    policyVersion: int = -1  # noqa: N815
    reason: str = ""
    cliIP: str = ""  # noqa: N815
    repoType: str = "cdap"  # noqa: N815
    enforcer: str = "ranger-acl"
    enforced: bool = True
    agent: str = "cdap"
    agentHost: str = msgspec.field(default_factory=socket.gethostname)  # noqa: N815
    logType: str = "RangerAudit"  # noqa: N815
    id: str = msgspec.field(default_factory=lambda: str(uuid.uuid4()))


class AuditSink(Protocol):
    """Where audit records go."""

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Store the records or raise."""

    def close(self) -> None:
        """Release what is held."""


SinkFactory = Callable[[AuditSettings], AuditSink]


class FileSink:
    """JSON lines appended to one file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._encode = msgspec.json.Encoder().encode
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Append each record as one line; all of them by one write, so that lines of several processes don't mix."""
        lines = b"".join(self._encode(record) + b"\n" for record in records)
        with self._lock:
            if self._descriptor is None:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            if os.write(self._descriptor, lines) != len(lines):
                raise OSError(errno.ENOSPC, "the audit file took only a part of the records")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None


class LogSink:
    """Each record as one line of JSON in the log `ranger_cdap.audit.records`, level INFO."""

    def __init__(self) -> None:
        self._log = logging.getLogger(f"{__name__}.records")
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
    return FileSink(settings.file)


def _log_sink(_: AuditSettings) -> AuditSink:
    return LogSink()


BUILT_IN_SINKS: dict[str, SinkFactory] = {"file": _file_sink, "log": _log_sink}


class AuditTrail:
    """Hands records to every sink; `lost` counts those a sink did not take."""

    def __init__(self, sinks: Iterable[AuditSink]) -> None:
        self._sinks = tuple(sinks)
        self._failing: set[int] = set()
        self.lost = 0

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Give the records to each sink; never raises."""
        if not records:
            return
        for number, sink in enumerate(self._sinks):
            try:
                sink.write(records)
                self._failing.discard(number)
            except Exception as e:
                self.lost += len(records)
                if number not in self._failing:
                    self._failing.add(number)
                    logger.warning(
                        "audit records are being lost: sink `%s` fails with %s", type(sink).__name__, type(e).__name__
                    )

    def close(self) -> None:
        """Close every sink; a sink that fails doesn't keep the others open."""
        for sink in self._sinks:
            try:
                sink.close()
            except Exception as e:
                logger.warning("audit sink `%s` could not be closed: %s", type(sink).__name__, type(e).__name__)


def open_trail(settings: AuditSettings, factories: dict[str, SinkFactory]) -> AuditTrail:
    """The trail to the sinks that the settings name.

    Raises:
        ConfigError: a name is unknown, or its sink lacks a setting.
    """
    for name in settings.sinks:
        if name not in factories:
            raise ConfigError(f"there is no audit sink `{name}`; known are {', '.join(sorted(factories))}")
    return AuditTrail([factories[name](settings) for name in settings.sinks])
