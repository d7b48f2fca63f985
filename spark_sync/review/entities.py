"""Entities of a review: those of an inventory."""

from __future__ import annotations

from pathlib import Path

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import read_inventory
from ranger_cdap.errors import InvalidInput


def read_entities(path: Path, *, instance: str, now: int) -> tuple[EntityId, ...]:
    """Return the entities of an inventory, each once, in its order; `now` in epoch milliseconds.

    One bad line rejects the file: an entity missing from a review looks as if no user had access to it.

    Raises:
        InvalidInput: it cannot be read, has no entities, is of another instance or of the future, or a line is none.
    """
    found = read_inventory(path, instance=instance, now=now).entities
    if not found:
        raise InvalidInput(f"`{path}` lists no entities, so there is nothing to review")
    return found
