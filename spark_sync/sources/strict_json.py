"""Lines that are exactly one JSON object: nothing before or after it, no field twice, every type as it is written."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn, TypeVar

import msgspec

LONGEST: Final = 1 << 20
"""The most bytes of a line that is parsed."""

HALF: Final = LONGEST // 2 + 1
"""So many bytes of the beginning and of the end of a longer line stand for it."""

DEEPEST: Final = 64
"""The most objects and lists that are nested in each other."""

NOT_ONE_OBJECT: Final = "not one JSON object"
_LONGEST_REASON: Final = 200

T = TypeVar("T")


class BadLine(ValueError):
    """A line that is not read; the message is the reason."""


def read_object(line: str) -> dict[str, Any]:
    """The one JSON object that the line is; in linear time, and only where the line is not too long.

    Raises:
        BadLine: the line is anything else, or an object in it has a field twice.
    """
    if len(line) > LONGEST or _byte_count(line) > LONGEST:
        raise BadLine(f"longer than {LONGEST} bytes")
    try:
        value = msgspec.json.decode(line)
        # A text has two quotation marks; where none is escaped, the same number means that nothing was dropped.
        if "\\" in line or msgspec.json.encode(value).count(b'"') != line.count('"'):
            json.loads(line, object_pairs_hook=_without_repetition, parse_constant=_refuse)
    except BadLine:
        raise
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        raise BadLine(NOT_ONE_OBJECT) from None
    if not isinstance(value, dict):
        raise BadLine(NOT_ONE_OBJECT)
    if line.count("{") + line.count("[") > DEEPEST and _is_deeper(value, DEEPEST):
        raise BadLine(f"nested more than {DEEPEST} deep")
    return value


def fitted(value: object, form: type[T]) -> T:
    """The value in its form; a number is no text, and a text no number.

    Raises:
        BadLine: it does not fit.
    """
    try:
        return msgspec.convert(value, form, strict=True)
    except msgspec.ValidationError as e:
        reason = " ".join(str(e).replace("`$.", "`").split())
        raise BadLine(f"{reason[:1].lower()}{reason[1:_LONGEST_REASON]}") from None


def quoted(text: object) -> str:
    """A foreign text for a reason: short, in backticks."""
    return f"`{str(text)[:80]}`"


def _byte_count(line: str) -> int:
    if line.isascii():
        return len(line)
    try:
        return len(line.encode())
    except UnicodeEncodeError:
        raise BadLine("not UTF-8") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise BadLine(f"field {quoted(name)} comes twice")
        names.add(name)


def _refuse(_: str) -> NoReturn:
    raise BadLine(NOT_ONE_OBJECT)


def _is_deeper(value: dict[str, Any], most: int) -> bool:
    level: list[Any] = [value]
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
