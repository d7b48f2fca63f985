"""The table `deletions.toml`: the order in which CDAP deletes what is in a namespace."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class DeletionStep:
    """Step in which CDAP deletes all entities of a type; `place`: its place in the order.

    `checked`: CDAP checks the entities. `separate`: it sends itself a request for them. `all_first`: all of them are
    checked before one is deleted.
    """

    place: int
    checked: bool
    separate: bool
    all_first: bool


def may_be_refused(kind: str) -> bool:
    """Return true if the deletion of a namespace may be refused a check of an entity of that type."""
    step = deletion_steps().get(kind)
    return step is not None and step.checked


@cache
def deletion_steps() -> Mapping[str, DeletionStep]:
    """Return the step of each entity type in the deletion of a namespace; a type that is missing has none."""
    table = tomllib.loads(files(__package__).joinpath("deletions.toml").read_text(encoding="utf-8"))
    return {
        name: DeletionStep(place, row.get("checked", True), row.get("separate", False), row.get("all_first", False))
        for place, row in enumerate(table["namespace"])
        for name in row["entities"]
    }
