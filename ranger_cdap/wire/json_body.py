"""JSON bodies without repeated fields, which different parsers interpret differently."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

_LOOKED_THROUGH: Final = 16_384
"""Largest body, in bytes, in which a repeated field is searched by name, which takes some fifty times as long."""


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body without unknown fields: what a caller may not send is rejected, not ignored."""


class Repeated(ValueError):
    """Object with a repeated field."""


def refuse_repeated_fields(data: bytes) -> None:
    """Reject repeated fields in any object of a body that is valid JSON.

    Raises:
        Repeated: one of them has a field twice; the message names it if that is quickly found.
    """
    if _holds_all(msgspec.json.decode(data), data):
        return
    if len(data) <= _LOOKED_THROUGH:
        json.loads(data, object_pairs_hook=_object)
    raise Repeated("a field is repeated")


def refuse_repeated_outer_fields(data: bytes, read: msgspec.Struct) -> None:
    """Reject repeated fields of the outermost object, whose fields are kept undecoded (`msgspec.Raw`).

    Raises:
        Repeated: it has a field twice.
    """
    if not _holds_all(read, data):
        raise Repeated("a field is repeated")


def _holds_all(read: Any, data: bytes) -> bool:
    """Return true if nothing was dropped: each text has its own two quotation marks."""
    return _marks(msgspec.json.encode(read)) == _marks(data)


def _marks(data: bytes) -> int:
    """Count the quotation marks that begin and end texts; escaped ones inside do not count."""
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return data.count(b'"')


def _object(pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise Repeated(f"field `{name[:80]}` is repeated")
        names.add(name)
