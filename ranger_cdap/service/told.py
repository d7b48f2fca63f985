"""What a record tells: who created or deleted what. Pure; as the sync job's source `data-plane` reads it in Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import unquote

import msgspec

from ranger_cdap.cdap.creations import Kind, RequestRow, load_creations
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.errors import InvalidEntity
from ranger_cdap.service.event_wire import CheckRecord, Record

_Row = tuple[RequestRow, re.Pattern[str]]
_NOTHING: Final[tuple[_Row, ...]] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """An entity, what happened to it, when (epoch milliseconds), and whose check it was.

    `requester` is who sent the request where the user is somebody CDAP impersonates for him; else empty.
    """

    kind: Kind
    entity: EntityId
    user: str
    time: int
    requester: str = ""


def told_by(record: Record) -> Iterator[Told]:
    """The creations and deletions of a record; most records tell of none."""
    rows = [row for row in _rows().get(record.method, _NOTHING) if record.code in row[0].request.codes]
    if not rows:
        return
    path = record.uri.partition("?")[0]
    matches = [(row, match) for row, pattern in rows if (match := pattern.fullmatch(path))]
    people = {check.principal for check in record.checks}
    for check in record.checks:
        for row, match in matches:
            entity = _entity(row, match, check)
            if entity is not None:
                time = record.started if row.kind is Kind.CREATE else record.ended
                yield Told(row.kind, entity, check.principal, time, _requester(people, check))
                break


def _entity(row: RequestRow, match: re.Match[str], check: CheckRecord) -> EntityId | None:
    """The entity of the row, if the check and the path are about it and agree."""
    levels = row.checked.path[1:]
    versions = 1 if row.checked.version_at else 0
    asked = (
        check.allowed
        and check.type in row.checked.cdap_names
        and check.child_type is msgspec.UNSET
        and row.permission in check.permissions
        and len(levels) <= len(check.parts) <= len(levels) + versions
    )
    if not asked:
        return None
    given = dict(zip(levels, check.parts, strict=False))
    with suppress(UnicodeDecodeError, InvalidEntity):
        named = {
            level: unquote(text, errors="strict")
            for level, text in zip(row.request.variables, match.groups(), strict=True)
        }
        if all(given.get(level, name) == name for level, name in named.items()):
            entity = entity_id(row.entity.name, [(named | given)[level] for level in row.entity.path[1:]])
            return None if _is_skipped(entity) else entity
    return None


def _requester(people: Set[str], check: CheckRecord) -> str:
    """The one other person the checks of the request are about; nobody knows where there are several."""
    return next(iter(people - {check.principal})) if len(people) == 2 else ""


def _is_skipped(entity: EntityId) -> bool:
    return any(re.search(pattern, str(entity)) for pattern in load_creations().skipped)


@cache
def _rows() -> Mapping[str, tuple[_Row, ...]]:
    """The rows for each method, in their order."""
    table = load_creations().data_plane
    compiled = [(row, re.compile(f"{row.request.uri}/?", re.ASCII)) for row in table]
    return {method: tuple(row for row in compiled if row[0].request.method == method) for method in _methods()}


def _methods() -> set[str]:
    return {row.request.method for row in load_creations().data_plane}
