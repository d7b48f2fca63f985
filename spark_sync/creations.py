"""The table `creations.toml`: what is a creation or a deletion, and which entities are skipped."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ranger_cdap.cdap.entity import EntityType, entity_type
from spark_sync.event import Kind, Strength

_VARIABLE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row for CDAP's audit messages: an entity type and a message type make an event."""

    entity: EntityType
    message: str
    kind: Kind
    strength: Strength


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A row for data-plane records: request, response and an allowed check make an event.

    `uri`: a regular expression for the path, with a group for each of `variables`, the levels named in the URI.
    """

    entity: EntityType
    checked: EntityType
    method: str
    uri: str
    variables: tuple[str, ...]
    permission: str
    codes: tuple[int, ...]
    kind: Kind
    strength: Strength


@dataclass(frozen=True, slots=True)
class Creations:
    """The whole table. `skipped`: regular expressions on an entity's text."""

    audit_v2: tuple[AuditRow, ...]
    data_plane: tuple[RequestRow, ...]
    skipped: tuple[str, ...]


@cache
def load_creations() -> Creations:
    """The table that comes with the package."""
    table = tomllib.loads(files(__package__).joinpath("creations.toml").read_text(encoding="utf-8"))
    return Creations(
        audit_v2=tuple(
            AuditRow(entity_type(row["entity"]), row["message"], Kind(row["kind"]), Strength(row["strength"]))
            for row in table["audit_v2"]
        ),
        data_plane=tuple(
            RequestRow(
                entity=entity_type(row["entity"]),
                checked=entity_type(row.get("checked", row["entity"])),
                method=row["method"],
                uri=_VARIABLE.sub("([^/]+)", row["uri"].replace(".", r"\.")),
                variables=tuple(_VARIABLE.findall(row["uri"])),
                permission=row["permission"],
                codes=tuple(row["codes"]),
                kind=Kind(row["kind"]),
                strength=Strength(row["strength"]),
            )
            for row in table["data_plane"]
        ),
        skipped=tuple(table["skipped"].values()),
    )
