"""JSON bodies of which nothing is dropped: a field that comes twice means one thing here and another elsewhere."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

_LOOKED_THROUGH: Final = 16_384
"""Bytes of a body in which a repeated field is looked for by name, which takes some fifty times as long."""


class Repeated(ValueError):
    """An object has a field twice."""


def refuse_repeated_fields(data: bytes) -> None:
    """Read all objects of a body that is valid JSON.

    Raises:
        Repeated: one of them has a field twice; which, is said where that is quickly found.
    """
    if _holds_all(msgspec.json.decode(data), data):
        return
    if len(data) <= _LOOKED_THROUGH:
        json.loads(data, object_pairs_hook=_object)
    raise Repeated("a field comes twice")


def refuse_repeated_outer_fields(data: bytes, read: msgspec.Struct) -> None:
    """The same for the outermost object alone, whose fields are kept as they came (`msgspec.Raw`).

    Raises:
        Repeated: it has a field twice.
    """
    if not _holds_all(read, data):
        raise Repeated("a field comes twice")


def _holds_all(read: Any, data: bytes) -> bool:
    """Whether nothing was dropped: each text has two quotation marks of its own."""
    return _marks(msgspec.json.encode(read)) == _marks(data)


def _marks(data: bytes) -> int:
    """The quotation marks that begin and end texts; those inside are escaped."""
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return data.count(b'"')


def _object(pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise Repeated(f"field `{name[:80]}` comes twice")
        names.add(name)
