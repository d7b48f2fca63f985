"""Tables of insights: named columns of one kind each, which every output shows in its own way. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any, Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ColumnKind(Enum):
    """Kind of the values of a column; an id is a number without separators.

    A time is in epoch milliseconds, and a value of any kind may be None.
    """

    TEXT = auto()
    NUMBER = auto()
    ID = auto()
    TIME = auto()
    FLAG = auto()
    TEXTS = auto()


@dataclass(frozen=True, slots=True)
class InsightTable:
    """Rows of an insight with a title and a sentence about them; the name is its field in JSON."""

    name: str
    title: str
    about: str
    columns: tuple[tuple[str, ColumnKind], ...]
    rows: tuple[tuple[Any, ...], ...]

    def documents(self) -> list[dict[str, Any]]:
        """Return the rows for JSON, with times in ISO 8601."""
        return [
            {name: iso(value) if kind is ColumnKind.TIME else value for (name, kind), value in self._pairs(row)}
            for row in self.rows
        ]

    def texts(self) -> list[list[str]]:
        """Return the rows for people."""
        return [[shown(kind, value) for (_, kind), value in self._pairs(row)] for row in self.rows]

    def _pairs(self, row: tuple[Any, ...]) -> Any:
        return zip(self.columns, row, strict=True)


def shown(kind: ColumnKind, value: Any) -> str:
    """Return a value for people; empty for None."""
    match kind, value:
        case _, None:
            return ""
        case ColumnKind.TIME, _:
            return _moment(value).strftime("%Y-%m-%d %H:%M")
        case ColumnKind.NUMBER, _:
            return f"{value:,}"
        case ColumnKind.FLAG, _:
            return "yes" if value else "no"
        case ColumnKind.TEXTS, _:
            return ", ".join(value)
    return str(value)


def _moment(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def iso(milliseconds: int | None) -> str | None:
    """Return a time in ISO 8601; None for none."""
    return None if milliseconds is None else _moment(milliseconds).isoformat(timespec="milliseconds")
