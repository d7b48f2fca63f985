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

AUDIT_FILTERS: Final = "ranger.plugin.audit.filters"
"""The service setting with its audit filters; Ranger Admin sets a missing one to the definition's default."""

NOT_LISTED: Final = frozenset({"topic"})
"""The levels that CDAP has no list of, so nothing can be looked up."""


@cache
def _text() -> bytes:
    return files(__name__).joinpath(FILE_NAME).read_bytes()


def service_definition() -> dict[str, Any]:
    """Return the definition as Ranger's JSON, a new object each time."""
    definition: dict[str, Any] = json.loads(_text())
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
