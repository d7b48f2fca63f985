"""Inventory of CDAP's entities by its REST API, the input of a baseline.

Anyone who touches a missing entity first could become its creator, so the inventory is complete or not written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.cdap.inventory import MARGIN, Inventory
from ranger_cdap.disk import os_errors_as, replace_file
from ranger_cdap.errors import CdapError, CdapNotFound, InvalidInput
from ranger_cdap.keyed import grouped_once
from spark_sync.sources.cdap_http import CdapHttp

_PAGE: Final = 1000
_SYSTEM: Final = "system"
ALWAYS_THERE: Final = EntityId("namespace", ("default",))
"""The namespace that every CDAP has."""
_VARIABLE: Final = re.compile(r"\{([a-z_]+)\}")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Listing:
    """Row of `inventory.toml`: the request that lists a type; `within`: the type of its parent, none for the instance.

    `versions`: the field of the version, if CDAP lists each; `unless`: a field of releases that list only the latest
    version.
    """

    entity: str
    uri: str
    within: str | None
    name: str
    pages: str
    optional: bool
    versions: str
    unless: str


def take_inventory(
    cdap: CdapHttp, *, instance: str, now: int, programs: bool = False, progress: Progress = lambda _: None
) -> Inventory:
    """List all entities of CDAP; the inventory is dated `MARGIN` before `now` (epoch milliseconds).

    Raises:
        CdapError: CDAP is unavailable, hides entities from the account, or its answer is invalid.
    """
    found: dict[str, list[EntityId]] = {}
    versions: dict[EntityId, tuple[str, ...]] = {}
    for listing in listings():
        progress(f"listing {listing.entity}s")
        above = [None] if listing.within is None else found[listing.within]
        rows = [
            (_entity(listing.entity, parent, row.name), row) for parent in above for row in _rows(cdap, listing, parent)
        ]
        found[listing.entity] = list(dict.fromkeys(entity for entity, _ in rows))
        if listing.versions and not any(row.latest_only for _, row in rows):
            named = grouped_once((entity, row.version) for entity, row in rows)
            # Of an entity whose rows do not all name one, they are unknown.
            versions |= {entity: tuple(sorted(all_)) for entity, all_ in named.items() if "" not in all_}
        if listing.entity == "namespace":
            found["namespace"] = _all_namespaces(cdap, found["namespace"])
    if programs:
        progress("listing programs")
        found["program"] = [program for ns in found["namespace"] for program in _programs(cdap, ns)]
    entities = {entity for several in found.values() for entity in several}
    return Inventory(instance, now - MARGIN, tuple(sorted(entities)), versions)


def write_inventory(inventory: Inventory, path: Path) -> None:
    """Write the file that `sync baseline --inventory` reads, atomically.

    Raises:
        InvalidInput: it cannot be written.
    """
    taken = datetime.fromtimestamp(inventory.taken / 1000, UTC).isoformat(timespec="milliseconds")
    lines: list[dict[str, Any]] = [{"v": 1, "instance": inventory.instance, "taken": taken}]
    for entity in inventory.entities:
        versions = inventory.versions.get(entity)
        lines.append({"type": entity.type, "parts": entity.parts} | ({"versions": versions} if versions else {}))
    with os_errors_as(InvalidInput, f"`{path}` cannot be written"):
        replace_file(path, (msgspec.json.encode(line) + b"\n" for line in lines))


@cache
def listings() -> tuple[Listing, ...]:
    """Return the rows of `inventory.toml`, parents before their children."""
    return tuple(
        Listing(
            entity=row["entity"],
            uri=row["uri"],
            within=(_VARIABLE.findall(row["uri"]) or [None])[-1],
            name=row["name"],
            pages=row.get("pages", ""),
            optional=row.get("optional", False),
            versions=row.get("versions", ""),
            unless=row.get("unless", ""),
        )
        for row in _table()["list"]
    )


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("inventory.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class _ListedEntity:
    """Listed entity with its version, empty if it has none; `latest_only`: CDAP lists no other version."""

    name: str
    version: str
    latest_only: bool


def _rows(cdap: CdapHttp, listing: Listing, parent: EntityId | None) -> Iterator[_ListedEntity]:
    path = fill_path(listing.uri, parent)
    try:
        if listing.pages:
            yield from _paged(cdap, path, listing)
        else:
            yield from _rows_in(_get(cdap, path), listing, path)
    except CdapNotFound as e:
        if not listing.optional:
            raise CdapError(f"{e}; an entity was deleted meanwhile, or this is not CDAP; try again") from None


def _paged(cdap: CdapHttp, path: str, listing: Listing) -> Iterator[_ListedEntity]:
    """Return the rows of a paged list (CDAP 6.6 and later), or of a whole one."""
    token, seen = "", set[str]()
    while token not in seen:
        seen.add(token)
        answer = cdap.get_json(path, {"pageSize": str(_PAGE)} | ({"pageToken": token} if token else {}))
        if not isinstance(answer, dict):
            yield from _rows_in(answer, listing, path)
            return
        yield from _rows_in(answer.get(listing.pages), listing, path)
        token = answer.get("nextPageToken") or ""
        if not token:
            return
        if not isinstance(token, str):
            raise _unreadable(path)
    raise CdapError(f"CDAP repeats the same page of `GET {path}`")


def _rows_in(answer: Any, listing: Listing, path: str) -> Iterator[_ListedEntity]:
    if not isinstance(answer, Collection) or isinstance(answer, str):
        raise _unreadable(path)
    for one in answer:
        fields = one if isinstance(one, dict) else {listing.name: one}
        name, version = fields.get(listing.name), fields.get(listing.versions)
        if not isinstance(name, str):
            raise _unreadable(path)
        yield _ListedEntity(
            name, version if isinstance(version, str) else "", bool(listing.unless) and listing.unless in fields
        )


def _programs(cdap: CdapHttp, namespace: EntityId) -> Iterator[EntityId]:
    for kind, uri in _table()["programs"].items():
        path = fill_path(uri, namespace)
        answer = _get(cdap, path)
        if not isinstance(answer, list):
            raise _unreadable(path)
        for one in answer:
            if not isinstance(one, dict) or not isinstance(one.get("app"), str) or not isinstance(one.get("name"), str):
                raise _unreadable(path)
            application = EntityId("application", (*namespace.parts, one["app"]))
            yield _entity("program", application, f"{kind}.{one['name']}")


def _get(cdap: CdapHttp, path: str) -> Any:
    path, _, query = path.partition("?")
    return cdap.get_json(path, dict(pair.split("=", 1) for pair in query.split("&")) if query else None)


def _entity(type_name: str, parent: EntityId | None, name: str) -> EntityId:
    try:
        return entity_id(type_name, (*(parent.parts if parent else ()), name))
    except InvalidInput as e:
        raise CdapError(f"CDAP lists a {type_name} with an invalid name: {e}") from None


def _all_namespaces(cdap: CdapHttp, namespaces: list[EntityId]) -> list[EntityId]:
    """Return the namespaces of users. Every CDAP has `default`; an account that cannot see it cannot see everything."""
    if ALWAYS_THERE not in namespaces:
        raise CdapError(
            f"the account cannot see the namespace `{ALWAYS_THERE.namespace}` of CDAP at `{cdap.url}`, so the inventory"
            " would be incomplete; use an account that may read everything"
        )
    return [namespace for namespace in namespaces if namespace.parts != (_SYSTEM,)]


def fill_path(uri: str, entity: EntityId | None) -> str:
    """Return the address with its variables replaced by the names of an entity."""
    names = dict(zip(entity_type(entity.type).path[1:], entity.parts, strict=True)) if entity else {}
    return _VARIABLE.sub(lambda found: quote(names[found[1]], safe=""), uri)


def _unreadable(path: str) -> CdapError:
    return CdapError(f"the answer to `GET {urlsplit(path).path}` is not a readable list of names")
