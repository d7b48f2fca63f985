"""The table `creations.toml`: creations, deletions and skipped entities."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from ranger_cdap.cdap.entity import EntityId, EntityType, entity_type

_VARIABLE = re.compile(r"\{([a-z_]+)\}")


class ChangeKind(StrEnum):
    """Kind of change to an entity."""

    CREATE = "CREATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Row for CDAP's audit messages: an entity type and a message type of one of `versions` make an event."""

    entity: EntityType
    versions: tuple[int, ...]
    message: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """Pattern of a request and its response.

    `uri`: a regular expression for the path, with one group per entry of `variables`, the levels named in the URI.
    """

    method: str
    uri: str
    variables: tuple[str, ...]
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RequestRow:
    """Row for data-plane records: request, response and an allowed check make an event.

    `several`: the request concerns several entities, so it may have changed some of them whatever its response.
    If neither URI nor check names the entity, it concerns all of its type in the checked one. `of_version`: it
    concerns one version of the entity, the one that the check names.
    """

    entity: EntityType
    checked: EntityType
    request: RequestPattern
    permission: str
    kind: ChangeKind
    several: bool
    of_version: bool


@dataclass(frozen=True, slots=True)
class AccessLogRow:
    """Row for the router's access log: request and response alone make an event.

    `response`: the JSON path of the entity's last part in the response; empty if the URI names it. `several`,
    `of_version`: as in `RequestRow`.
    """

    entity: EntityType
    request: RequestPattern
    response: str
    kind: ChangeKind
    several: bool
    of_version: bool


@dataclass(frozen=True, slots=True)
class JournalRow:
    """Row for the check journal: a permission and an entity type whose allowed check may begin or end a life.

    `child`: the type of the entities below the checked one that it concerns; empty for the checked one itself.
    """

    checked: EntityType
    permission: str
    kind: ChangeKind
    child: str


@dataclass(frozen=True, slots=True)
class Frames:
    """Calling methods that decide whether an allowed check is journalled (`[frames]` of the table)."""

    early: frozenset[str]
    preview: frozenset[str]
    schedule: frozenset[str]


@dataclass(frozen=True, slots=True)
class Creations:
    """The whole table. `skipped`: patterns of an entity's text, by kind.

    `replaced`: by type, the types of the entities below it that CDAP deletes when the entity is created again.
    """

    audit: tuple[AuditRow, ...]
    data_plane: tuple[RequestRow, ...]
    http_access: tuple[AccessLogRow, ...]
    skipped: Mapping[str, re.Pattern[str]]
    replaced: Mapping[str, frozenset[str]]
    frames: Frames
    journalled: Mapping[tuple[str, str], JournalRow]

    @property
    def entities(self) -> frozenset[EntityType]:
        """Return the types whose creations and deletions some source reports."""
        rows: tuple[AuditRow | RequestRow | AccessLogRow, ...] = (*self.audit, *self.data_plane, *self.http_access)
        return frozenset(row.entity for row in rows)

    def skips(self, entity: EntityId) -> bool:
        """Return true if the entity grants nothing to its creator (`[skipped]` of the table)."""
        text = str(entity)
        return any(pattern.search(text) for pattern in self.skipped.values())

    def is_of_preview(self, entity: EntityId) -> bool:
        """Return true if the entity ends with a preview."""
        return self.skipped["preview"].search(str(entity)) is not None

    def journal_row(self, cdap_type: str, permissions: Iterable[str]) -> JournalRow | None:
        """Return the row for CDAP's entity type and permissions; `None` if the check begins and ends no life.

        Of several permissions one that creates comes first: the possible beginning of a life must not be missed.
        """
        found = (self.journalled.get((cdap_type, permission)) for permission in permissions)
        return min((row for row in found if row), key=lambda row: row.kind is ChangeKind.DELETE, default=None)


@cache
def load_creations() -> Creations:
    """Return the table of the package."""
    table = tomllib.loads(files(__package__).joinpath("creations.toml").read_text(encoding="utf-8"))
    data_plane = tuple(
        RequestRow(
            **_common(row),
            checked=entity_type(row.get("checked", row["entity"])),
            request=_request(row),
            permission=row["permission"],
            several=row.get("several", False),
            of_version=row.get("scope") == "version",
        )
        for row in table["data_plane"]
    )
    return Creations(
        audit=tuple(
            AuditRow(**_common(row), versions=tuple(row["versions"]), message=row["message"]) for row in table["audit"]
        ),
        data_plane=data_plane,
        http_access=(
            *(
                AccessLogRow(row.entity, row.request, "", row.kind, row.several, row.of_version)
                for row in data_plane
                if set(row.entity.path[1:]) <= set(row.request.variables)
            ),
            *(
                AccessLogRow(
                    **_common(row),
                    request=_request(row),
                    response=row.get("response", ""),
                    several=False,
                    of_version=False,
                )
                for row in table["http_access"]
            ),
        ),
        skipped={kind: re.compile(pattern) for kind, pattern in table["skipped"].items()},
        replaced={name: frozenset(below) for name, below in table["replaced"].items()},
        frames=Frames(**{name: frozenset(frames) for name, frames in table["frames"].items()}),
        journalled=_journalled(data_plane),
    )


def _journalled(rows: Iterable[RequestRow]) -> dict[tuple[str, str], JournalRow]:
    """Return the checks that any row needs; a permission that both creates and deletes counts as creating."""
    journalled: dict[tuple[str, str], JournalRow] = {}
    for row in sorted(rows, key=lambda row: row.kind is ChangeKind.DELETE):
        child = "" if row.entity == row.checked else row.entity.name
        for name in row.checked.cdap_names:
            journalled.setdefault((name, row.permission), JournalRow(row.checked, row.permission, row.kind, child))
    return journalled


def _common(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "entity": entity_type(row["entity"]),
        "kind": ChangeKind(row["kind"]),
    }


def _request(row: Mapping[str, Any]) -> RequestPattern:
    return RequestPattern(
        method=row["method"],
        uri=_VARIABLE.sub("([^/]+)", row["uri"].replace(".", r"\.")),
        variables=tuple(_VARIABLE.findall(row["uri"])),
        codes=tuple(row["codes"]),
    )
