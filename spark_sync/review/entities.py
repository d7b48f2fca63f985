"""Entities of a review: an inventory in the format of the baseline, or a plain list."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.config.named_file import read_named
from ranger_cdap.errors import InvalidInput, reason
from spark_sync.reconcile.baseline import read_inventory


class _FirstLine(msgspec.Struct):
    """Field of a first line that distinguishes a header from an entity."""

    v: int | msgspec.UnsetType = msgspec.UNSET


class _EntityLine(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    parts: list[str]


def read_entities(path: Path, *, instance: str, now: int) -> tuple[EntityId, ...]:
    """Return the entities of a file, each once, in its order; `now` in epoch milliseconds.

    One bad line rejects the file: an entity missing from a review looks as if no user had access to it.

    Raises:
        InvalidInput: it cannot be read, is empty, of another instance or of the future, or a line is not an entity.
    """
    try:
        lines = read_named(path).splitlines()
    except OSError as e:
        raise InvalidInput(f"the entities in `{path}` cannot be read: {reason(e)}") from None
    if lines and _is_header(lines[0]):
        found = read_inventory(path, instance=instance, now=now).entities
    else:
        found = tuple(_entity(path, number, line) for number, line in enumerate(lines, start=1) if line.strip())
    if not found:
        raise InvalidInput(f"`{path}` lists no entities, so there is nothing to review")
    return tuple(dict.fromkeys(found))


def _is_header(line: bytes) -> bool:
    try:
        return msgspec.json.decode(line, type=_FirstLine).v is not msgspec.UNSET
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False


def _entity(path: Path, number: int, line: bytes) -> EntityId:
    try:
        entity = msgspec.json.decode(line, type=_EntityLine)
        return entity_id(entity.type, entity.parts)
    except (msgspec.MsgspecError, ValueError, RecursionError, InvalidInput) as e:
        raise InvalidInput(f"`{path}`, line {number}: {e}; nothing was reviewed") from None
