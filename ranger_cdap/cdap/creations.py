"""The table `creations.toml`: what is a creation or a deletion, and which entities are skipped."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from ranger_cdap.cdap.entity import EntityType, entity_type

_VARIABLE = re.compile(r"\{([a-z_]+)\}")


class Kind(StrEnum):
    """What happened to the entity."""

    CREATE = "CREATE"
    DELETE = "DELETE"


class Strength(StrEnum):
    """How much an event proves: CDAP's own message of a creation, or an allowed check with a good response."""

    AUTHORITATIVE = "authoritative"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row for CDAP's audit messages: an entity type and a message type of one of `versions` make an event."""

    entity: EntityType
    versions: tuple[int, ...]
    message: str
    kind: Kind
    strength: Strength


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its response.

    `uri`: a regular expression for the path, with a group for each of `variables`, the levels named in the URI.
    """

    method: str
    uri: str
    variables: tuple[str, ...]
    codes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A row for data-plane records: request, response and an allowed check make an event.

    `several`: the request is about several entities, so that it may have changed some of them whatever its answer is.
    Where neither URI nor check names the entity, it is about all of its type in the checked one. `of_version`: it is
    about one version of the entity, the one that the check names.
    """

    entity: EntityType
    checked: EntityType
    request: Request
    permission: str
    kind: Kind
    strength: Strength
    several: bool = False
    of_version: bool = False


@dataclass(frozen=True, slots=True)
class AccessRow:
    """A row for the router's access log: request and response alone make an event.

    `response`: the JSON path of the entity's last part in the response; empty where the URI names it. `several`,
    `of_version`: as in `RequestRow`.
    """

    entity: EntityType
    request: Request
    response: str
    kind: Kind
    strength: Strength
    several: bool = False
    of_version: bool = False


@dataclass(frozen=True, slots=True)
class JournalRow:
    """What an allowed check of one permission on one type of entity may begin or end.

    `child`: the type of the entities below the checked one that it is about; empty for the checked one itself.
    """

    checked: EntityType
    permission: str
    kind: Kind
    child: str


@dataclass(frozen=True, slots=True)
class Frames:
    """Calling methods that decide whether an allowed check is journalled (`[frames]` of the table)."""

    early: frozenset[str]
    preview: frozenset[str]
    schedule: frozenset[str]


@dataclass(frozen=True, slots=True)
class Creations:
    """The whole table. `skipped`: regular expressions on an entity's text.

    `replaced`: the types of what CDAP deletes of an entity of a type whenever it is created once more.
    """

    audit: tuple[AuditRow, ...]
    data_plane: tuple[RequestRow, ...]
    http_access: tuple[AccessRow, ...]
    skipped: tuple[str, ...]
    replaced: Mapping[str, frozenset[str]]
    frames: Frames
    journalled: Mapping[tuple[str, str], JournalRow]

    @property
    def entities(self) -> frozenset[EntityType]:
        """The types whose creations and deletions any source can tell of."""
        rows: tuple[AuditRow | RequestRow | AccessRow, ...] = (*self.audit, *self.data_plane, *self.http_access)
        return frozenset(row.entity for row in rows)

    def journal_row(self, cdap_type: str, permissions: Iterable[str]) -> JournalRow | None:
        """The row of an allowed check, by CDAP's entity type and permissions; `None` where it begins and ends nothing.

        Of several permissions one that creates comes first: what may begin a life must not be overlooked.
        """
        found = (self.journalled.get((cdap_type, permission)) for permission in permissions)
        return min((row for row in found if row), key=lambda row: row.kind is Kind.DELETE, default=None)


@cache
def load_creations() -> Creations:
    """The table that comes with the package."""
    table = tomllib.loads(files(__package__).joinpath("creations.toml").read_text(encoding="utf-8"))
    data_plane = tuple(
        RequestRow(
            entity=entity_type(row["entity"]),
            checked=entity_type(row.get("checked", row["entity"])),
            request=_request(row),
            permission=row["permission"],
            kind=Kind(row["kind"]),
            strength=Strength(row["strength"]),
            several=row.get("several", False),
            of_version=row.get("scope") == "version",
        )
        for row in table["data_plane"]
    )
    return Creations(
        audit=tuple(
            AuditRow(
                entity=entity_type(row["entity"]),
                versions=tuple(row["versions"]),
                message=row["message"],
                kind=Kind(row["kind"]),
                strength=Strength(row["strength"]),
            )
            for row in table["audit"]
        ),
        data_plane=data_plane,
        http_access=(
            *(
                AccessRow(row.entity, row.request, "", row.kind, row.strength, row.several, row.of_version)
                for row in data_plane
                if set(row.entity.path[1:]) <= set(row.request.variables)
            ),
            *(
                AccessRow(
                    entity=entity_type(row["entity"]),
                    request=_request(row),
                    response=row.get("response", ""),
                    kind=Kind(row["kind"]),
                    strength=Strength(row["strength"]),
                )
                for row in table["http_access"]
            ),
        ),
        skipped=tuple(table["skipped"].values()),
        replaced={name: frozenset(below) for name, below in table["replaced"].items()},
        frames=Frames(**{name: frozenset(frames) for name, frames in table["frames"].items()}),
        journalled=_journalled(data_plane),
    )


def _journalled(rows: Iterable[RequestRow]) -> dict[tuple[str, str], JournalRow]:
    """The checks that any row needs; where one permission both creates and deletes, what it creates counts."""
    journalled: dict[tuple[str, str], JournalRow] = {}
    for row in sorted(rows, key=lambda row: row.kind is Kind.DELETE):
        child = "" if row.entity == row.checked else row.entity.name
        for name in row.checked.cdap_names:
            journalled.setdefault((name, row.permission), JournalRow(row.checked, row.permission, row.kind, child))
    return journalled


def _request(row: Mapping[str, Any]) -> Request:
    return Request(
        method=row["method"],
        uri=_VARIABLE.sub("([^/]+)", row["uri"].replace(".", r"\.")),
        variables=tuple(_VARIABLE.findall(row["uri"])),
        codes=tuple(row["codes"]),
    )
