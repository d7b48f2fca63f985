"""Strict JSON lines: exactly one object, no field twice, no conversion of types."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn, TypeVar

import msgspec

LONGEST: Final = 1 << 20
"""Most bytes of a line that is parsed."""

HALF: Final = LONGEST // 2 + 1
"""Bytes of the beginning and of the end that represent a longer line."""

DEEPEST: Final = 64
"""Deepest nesting of objects and lists."""

NOT_ONE_OBJECT: Final = "not one JSON object"
_LONGEST_REASON: Final = 200

T = TypeVar("T")

_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


class BadLine(ValueError):
    """A line that is rejected; the message is the reason."""


def read_object(line: str) -> dict[str, Any]:
    """Parse a line that is exactly one JSON object, in linear time.

    Raises:
        BadLine: the line is anything else, is too long, or an object in it has a field twice.
    """
    if len(line) > LONGEST or (not line.isascii() and _byte_count(line) > LONGEST):
        raise BadLine(f"longer than {LONGEST} bytes")
    try:
        value = _decode(line)
        # A text has two quotation marks; if none is escaped, an equal number means that no field was dropped.
        if "\\" in line or _encode(value).count(b'"') != line.count('"'):
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


def convert_strictly(value: object, form: type[T]) -> T:
    """Convert the value to a type, strictly: numbers are not texts, nor texts numbers.

    Raises:
        BadLine: it does not fit.
    """
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as e:
        reason = " ".join(str(e).replace("`$.", "`").split())
        raise BadLine(f"{reason[:1].lower()}{reason[1:_LONGEST_REASON]}") from None


def quoted(text: object) -> str:
    """Quote an untrusted text for a reason: shortened, in backticks."""
    return f"`{str(text)[:80]}`"


def _byte_count(line: str) -> int:
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
