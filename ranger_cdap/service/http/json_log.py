"""Log records as lines, of JSON or of text: one line each, whatever a message contains, with the same fields."""

from __future__ import annotations

import json
import logging
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import msgspec

_FIELDS: Final = ("request_id", "trace_id", "caller", "route", "status", "seconds", "repeated")
REFUSED: Final = frozenset({401, 421, 429, 503})
"""Statuses that anyone can cause, as often as they like."""
_SECONDS: Final = 60.0
_MOST_KINDS: Final = 1_000
# JSON leaves them unescaped, and some programs that read lines treat them as line ends.
_OTHER_LINE_ENDS: Final = {0x7F: "\\u007f", 0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass(eq=False, slots=True)
class OncePerMinute:
    """Rate limit: one occasion per minute of each kind, of a bounded number of kinds."""

    clock: Callable[[], float] = time.monotonic
    _seen: dict[tuple[object, ...], tuple[float, int]] = field(default_factory=dict)

    def left_out(self, kind: tuple[object, ...]) -> int | None:
        """Return how many occasions were left out since the last one; None if this one is to be left out, too."""
        now = self.clock()
        at, left_out = self._seen.get(kind, (-math.inf, 0))
        if now - at < _SECONDS:
            self._seen[kind] = (at, left_out + 1)
            return None
        if len(self._seen) >= _MOST_KINDS:
            self._seen.clear()
        self._seen[kind] = (now, 0)
        return left_out


class Repeats(logging.Filter):
    """Rate limit: one record per minute for warnings of a kind, and for rejected requests of a route and status.

    The next record has the number of dropped ones in `repeated`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._limit = OncePerMinute(clock)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return true if the record is to be written."""
        kind = _kind(record)
        if kind is None:
            return True
        left_out = self._limit.left_out(kind)
        if left_out:
            record.repeated = left_out
        return left_out is not None


def _kind(record: logging.LogRecord) -> tuple[object, ...] | None:
    """Return the key by which repeated records are recognised; None for records that are never dropped."""
    status = record.__dict__.get("status")
    if status is not None:
        return (record.name, record.__dict__.get("route"), status) if status in REFUSED else None
    return (record.name, record.levelno, record.msg) if record.levelno >= logging.WARNING else None


class JsonLines(logging.Formatter):
    """Formatter of records as lines of JSON; a line break in a message cannot begin another record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: record.__dict__[name] for name in _FIELDS if name in record.__dict__}
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return self.encoded(entry).translate(_OTHER_LINE_ENDS)

    def encoded(self, entry: dict[str, object]) -> str:
        """Return the fields as text without line feeds."""
        return _encoded(entry)


class TextLines(JsonLines):
    """The same for a terminal: time, level, logger and message, then the other fields, quoted as in JSON."""

    def encoded(self, entry: dict[str, object]) -> str:
        """Return the fields as text without control characters."""
        time_, level, logger, message, *others = entry.items()
        shown = (f"{name}={_encoded(value)}" for name, value in others)
        return " ".join([f"{time_[1]} {level[1]} {logger[1]}: {_encoded(message[1])[1:-1]}", *shown])


def _encoded(entry: object) -> str:
    try:
        return msgspec.json.encode(entry).decode()
    except UnicodeEncodeError:
        return json.dumps(entry, default=str)


def log_lines(level: str, form: logging.Formatter) -> None:
    """Log lines of that level and above to standard error, in this whole process."""
    # A short-lived command reports the state of its policies itself; a service has to log it.
    logging.getLogger("ranger_cdap.ranger.refresh.policy_refresher").setLevel(logging.NOTSET)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(form)
    handler.addFilter(Repeats())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
