"""Log records as JSON lines: one object a line, whatever a message holds."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Final

import msgspec

_FIELDS: Final = ("request_id", "caller", "status", "milliseconds")


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
        return msgspec.json.encode(entry).decode()
