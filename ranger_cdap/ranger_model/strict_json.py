"""Strict JSON, in which no object has a field twice: parsers differ in which of the two they take. Pure.

Law: every reader of it accepts what Python's parser does, with the same value, except repeated fields, `NaN` and
`Infinity`, halves of characters, numbers beyond a double, a byte order mark and deep nesting.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import Any, Final

from msgspec.json import Decoder, Encoder

from ranger_cdap.ranger_model.json_text import Refusal, T, Undecodable, decode

LONGEST: Final = 1 << 20
"""Most bytes of a line that is parsed."""

HALF: Final = LONGEST // 2 + 1
"""Bytes of the beginning and of the end that represent a longer line."""

DEEPEST: Final = 64
"""Deepest nesting of objects and lists."""

NOT_ONE_OBJECT: Final = "not one JSON object"
_LOOKED_THROUGH: Final = 16_384
"""Largest text, in bytes, in which a repeated field is searched by name, which takes some fifty times as long."""

_decoder: Final = Decoder()
_encode: Final = Encoder().encode


class BadLine(ValueError):
    """A line that is rejected; the message is the reason."""


def decode_strictly(text: bytes, form: type[T] | Decoder[T], refuse: Refusal = Undecodable) -> T:
    """Decode JSON text of a type, in linear time.

    Raises:
        Undecodable: it cannot be read, or an object has a field twice; `refuse` makes another error of the reason.
    """
    found = decode(text, form, refuse)
    refuse_repeated(decode(text, _decoder, refuse), text, refuse)
    return found


def refuse_repeated(
    value: Any, text: bytes, refuse: Refusal = Undecodable, looked_through: int = _LOOKED_THROUGH
) -> None:
    """Refuse text of which the value lacks a field, because that came twice: each text has two quotation marks.

    Raises:
        Undecodable: the reason names the field if the text has at most `looked_through` bytes.
    """
    read, written = text, _encode(value)
    if b"\\"[0] in text:  # a number is found in a fraction of the time
        read, written = _unescaped(read), _unescaped(written)
    if read.count(b'"') == written.count(b'"'):
        return
    with suppress(RecursionError):
        if len(text) <= looked_through:
            json.loads(text, object_pairs_hook=partial(_require_once, refuse))
    raise refuse("a field is repeated")


def text_of(line: bytes) -> str:
    """Return the text of a line.

    Raises:
        BadLine: it is not UTF-8.
    """
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise BadLine("not UTF-8") from None


def read_object(line: str) -> dict[str, Any]:
    """Parse a line that is exactly one JSON object, in linear time.

    Raises:
        BadLine: the line is anything else, is too long, or an object in it has a field twice.
    """
    try:
        if len(line) > LONGEST or len(text := line.encode()) > LONGEST:
            raise BadLine(f"longer than {LONGEST} bytes")
    except UnicodeEncodeError:
        raise BadLine("not UTF-8") from None
    value = decode(text, _decoder, lambda _: BadLine(NOT_ONE_OBJECT))
    refuse_repeated(value, text, BadLine, LONGEST)
    if not isinstance(value, dict):
        raise BadLine(NOT_ONE_OBJECT)
    if line.count("{") + line.count("[") > DEEPEST and _is_deeper(value, DEEPEST):
        raise BadLine(f"nested more than {DEEPEST} deep")
    return value


def quoted(text: object) -> str:
    """Quote an untrusted text for a reason: shortened, in backticks."""
    return f"`{str(text)[:80]}`"


def _unescaped(text: bytes) -> bytes:
    """Return JSON text without escaped quotation marks; those left begin and end texts."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"")


def _require_once(refuse: Refusal, pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise refuse(f"field {quoted(name)} is repeated")
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
