"""Log records as JSON lines: one object a line, whatever a message holds."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Final

import msgspec

_FIELDS: Final = ("request_id", "caller", "route", "status", "seconds")
# JSON leaves them as they are, and some programs that read lines take them for the end of one.
_OTHER_LINE_ENDS: Final = {0x7F: "\\u007f", 0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON; a line break in a message can't begin another record."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: record.__dict__[name] for name in _FIELDS if name in record.__dict__}
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return _encoded(entry).translate(_OTHER_LINE_ENDS)


def _encoded(entry: dict[str, object]) -> str:
    try:
        return msgspec.json.encode(entry).decode()
    except UnicodeEncodeError:
        return json.dumps(entry, default=str)
