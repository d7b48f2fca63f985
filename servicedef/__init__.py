"""The service definition that teaches Ranger the entities of CDAP and the actions READ, WRITE, ADMIN and EXECUTE."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

FILE_NAME: Final = "ranger-servicedef-cdap.json"
LOOKUP_CLASS: Final = "rangercdap.lookup.RangerServiceCdap"
"""The class of the look-up jar; a definition names it only where Ranger Admin has the jar."""

NOT_LISTED: Final = frozenset({"topic"})
"""The levels that CDAP has no list of, so nothing can be looked up."""


def service_definition() -> dict[str, Any]:
    """Return the definition as Ranger's JSON, read from the package each time."""
    definition: dict[str, Any] = json.loads(files(__name__).joinpath(FILE_NAME).read_bytes())
    return definition


@dataclass(frozen=True, slots=True)
class ValuePattern:
    """Form of a policy's value at a level, if any entity of CDAP can match it, and that form in words."""

    pattern: re.Pattern[str]
    message: str

    def accepts(self, value: str) -> bool:
        """Return True if an entity may match the value; Ranger refuses to save others."""
        return self.pattern.fullmatch(value) is not None


@cache
def value_patterns() -> Mapping[str, ValuePattern]:
    """Return the patterns of the definition's levels (`validationRegEx`), by name; others take any value."""
    return {
        row["name"]: ValuePattern(re.compile(row["validationRegEx"]), row["validationMessage"])
        for row in service_definition()["resources"]
        if row["validationRegEx"]
    }


def with_lookup(definition: Mapping[str, Any], *, on: bool = True) -> dict[str, Any]:
    """Return the definition with the look-up of names in CDAP switched on or off, at our levels."""
    ours = {row["name"] for row in service_definition()["resources"]}
    resources = [
        {**row, "lookupSupported": on and row["name"] not in NOT_LISTED} if row["name"] in ours else row
        for row in definition["resources"]
    ]
    return {**definition, "implClass": LOOKUP_CLASS if on else "", "resources": resources}


def has_lookup(definition: Mapping[str, Any]) -> bool:
    """Return whether the definition names the class of the look-up jar."""
    return definition.get("implClass") == LOOKUP_CLASS


def hierarchies(definition: dict[str, Any]) -> set[tuple[str, ...]]:
    """Return every path from a root to a level that may be the last one of a policy (`isValidLeaf`).

    Raises:
        ValueError: a parent is missing or levels do not grow downwards, so Ranger could not use the definition.
    """
    resources = {resource["name"]: resource for resource in definition["resources"]}
    if len(resources) != len(definition["resources"]):
        raise ValueError("two resources have one name")
    paths = set()
    for resource in resources.values():
        path = [resource["name"]]
        while parent := resources[path[0]]["parent"]:
            if parent not in resources:
                raise ValueError(f"resource `{path[0]}` has the unknown parent `{parent}`")
            if resources[parent]["level"] >= resources[path[0]]["level"]:
                raise ValueError(f"resource `{path[0]}` is not below its parent `{parent}` by level")
            path.insert(0, parent)
        if resource["isValidLeaf"]:
            paths.add(tuple(path))
    return paths


def access_types(definition: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the actions, in the definition's order."""
    return tuple(access["name"] for access in definition["accessTypes"])
