"""Strict JSON, in which no object has a field twice: parsers differ in which of the two they take. Pure.

Law: every reader of it accepts what Python's parser does, with the same value, except repeated fields, `NaN` and
`Infinity`, halves of characters, numbers beyond a double, a byte order mark and deep nesting.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

import msgspec

from ranger_cdap.ranger_model.json_text import Undecodable, decode

LONGEST: Final = 1 << 20
"""Most bytes of a line that is parsed."""

HALF: Final = LONGEST // 2 + 1
"""Bytes of the beginning and of the end that represent a longer line."""

DEEPEST: Final = 64
"""Deepest nesting of objects and lists."""

NOT_ONE_OBJECT: Final = "not one JSON object"
_LOOKED_THROUGH: Final = 16_384
"""Largest text, in bytes, in which a repeated field is searched by name, which takes some fifty times as long."""

_decoder: Final = msgspec.json.Decoder()
_encode: Final = msgspec.json.Encoder().encode


class Repeated(Undecodable):
    """Object with a repeated field."""


class BadLine(ValueError):
    """A line that is rejected; the message is the reason."""


def decode_strictly(text: bytes, looked_through: int = _LOOKED_THROUGH) -> Any:
    """Decode JSON text, in linear time.

    Raises:
        Repeated: an object has a field twice; the message names it if the text has at most `looked_through` bytes.
        Undecodable: it cannot be read.
    """
    value = decode(text, _decoder)
    if holds_all(value, text):
        return value
    with suppress(RecursionError):
        if len(text) <= looked_through:
            json.loads(text, object_pairs_hook=_without_repetition)
    raise Repeated("a field is repeated")


def holds_all(value: Any, text: bytes) -> bool:
    """Return true if no field of the text was dropped in the value: each text in it has two quotation marks."""
    return _marks(_encode(value)) == _marks(text)


def read_object(line: str) -> dict[str, Any]:
    """Parse a line that is exactly one JSON object, in linear time.

    Raises:
        BadLine: the line is anything else, is too long, or an object in it has a field twice.
    """
    try:
        if len(line) > LONGEST or len(text := line.encode()) > LONGEST:
            raise BadLine(f"longer than {LONGEST} bytes")
        value = decode_strictly(text, LONGEST)
    except UnicodeEncodeError:
        raise BadLine("not UTF-8") from None
    except Repeated as e:
        raise BadLine(str(e)) from None
    except Undecodable:
        raise BadLine(NOT_ONE_OBJECT) from None
    if not isinstance(value, dict):
        raise BadLine(NOT_ONE_OBJECT)
    if line.count("{") + line.count("[") > DEEPEST and _is_deeper(value, DEEPEST):
        raise BadLine(f"nested more than {DEEPEST} deep")
    return value


def quoted(text: object) -> str:
    """Quote an untrusted text for a reason: shortened, in backticks."""
    return f"`{str(text)[:80]}`"


def _marks(text: bytes) -> int:
    """Count the quotation marks that begin and end texts; escaped ones inside do not count."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return text.count(b'"')


def _without_repetition(pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise Repeated(f"field {quoted(name)} is repeated")
        names.add(name)


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
