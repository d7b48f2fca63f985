"""JSON bodies of which nothing is dropped: a field that comes twice means one thing here and another elsewhere."""

from __future__ import annotations

import json
from typing import Any

import msgspec


class Repeated(ValueError):
    """An object has a field twice."""


def refuse_repeated_fields(data: bytes) -> None:
    """Read all objects of a body that is valid JSON.

    Raises:
        Repeated: one of them has a field twice.
    """
    if b"\\" in data or not _holds_all(msgspec.json.decode(data), data):
        json.loads(data, object_pairs_hook=_object)


def refuse_repeated_outer_fields(data: bytes, read: msgspec.Struct) -> None:
    """The same for the outermost object alone, whose fields are kept as they came (`msgspec.Raw`).

    Raises:
        Repeated: it has a field twice.
    """
    if not _holds_all(read, data):
        raise Repeated("a field comes twice")


def _holds_all(read: Any, data: bytes) -> bool:
    """Whether nothing was dropped: a text has two quotation marks, unless there are escaped ones."""
    return msgspec.json.encode(read).count(b'"') == data.count(b'"')


def _object(pairs: list[tuple[str, Any]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) != len(pairs):
        twice = next(name for n, (name, _) in enumerate(pairs) if name in {before for before, _ in pairs[:n]})
        raise Repeated(f"field `{twice[:80]}` comes twice")
