"""Existing entities of CDAP, listed by its REST API: the inventory that a baseline is taken from.

An entity that is missing could be taken over by anyone who touches it first, so all is listed or nothing is written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.disk import replace_file
from ranger_cdap.errors import CdapError, CdapNotFound, InvalidInput, reason
from spark_sync.reconcile.baseline import MARGIN, Inventory
from spark_sync.sources.cdap_http import CdapHttp

_PAGE: Final = 1000
_SYSTEM: Final = "system"
_ALWAYS_THERE: Final = "default"
_VARIABLE: Final = re.compile(r"\{([a-z_]+)\}")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Listing:
    """A row of `inventory.toml`; `within`: the type of the entities it is asked for, none for the whole instance.

    `versions`: the field of the version, where CDAP lists each; `unless`: the field of a release that lists the latest
    version only.
    """

    entity: str
    uri: str
    within: str | None
    name: str
    pages: str
    optional: bool
    versions: str = ""
    unless: str = ""


def take_inventory(
    cdap: CdapHttp, *, instance: str, now: int, programs: bool = False, progress: Progress = lambda _: None
) -> Inventory:
    """Everything that CDAP shows the account, dated a little before `now` (epoch milliseconds, before the first call).

    Raises:
        CdapError: CDAP is away, hides something or answers what cannot be read.
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
            versions |= _versions(rows)
        if listing.entity == "namespace":
            found["namespace"] = _all_namespaces(cdap, found["namespace"])
    if programs:
        progress("listing programs")
        found["program"] = [program for ns in found["namespace"] for program in _programs(cdap, ns)]
    entities = {entity for several in found.values() for entity in several}
    return Inventory(instance, now - MARGIN, tuple(sorted(entities)), versions)


def write_inventory(inventory: Inventory, path: Path) -> None:
    """Write the file that `sync baseline --from` reads; as a whole or not at all.

    Raises:
        InvalidInput: it cannot be written.
    """
    taken = datetime.fromtimestamp(inventory.taken / 1000, UTC).isoformat(timespec="milliseconds")
    lines: list[dict[str, Any]] = [{"v": 1, "instance": inventory.instance, "taken": taken}]
    for entity in inventory.entities:
        versions = inventory.versions.get(entity)
        lines.append({"type": entity.type, "parts": entity.parts} | ({"versions": versions} if versions else {}))
    try:
        replace_file(path, (msgspec.json.encode(line) + b"\n" for line in lines))
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be written: {reason(e)}") from None


@cache
def listings() -> tuple[Listing, ...]:
    """The rows of `inventory.toml`; what an entity lies in comes before it."""
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
class _Row:
    """An entity as CDAP lists it, with a version, empty where it has none; `latest_only`: CDAP lists no other one."""

    name: str
    version: str = ""
    latest_only: bool = False


def _rows(cdap: CdapHttp, listing: Listing, parent: EntityId | None) -> Iterator[_Row]:
    path = filled(listing.uri, parent)
    try:
        if listing.pages:
            yield from _paged(cdap, path, listing)
        else:
            yield from _rows_in(_get(cdap, path), listing, path)
    except CdapNotFound as e:
        if not listing.optional:
            raise CdapError(f"{e}; something was deleted meanwhile, or this is no CDAP: try again") from None


def _paged(cdap: CdapHttp, path: str, listing: Listing) -> Iterator[_Row]:
    """In pages where CDAP has them (6.6 and later); before that the answer is the whole list."""
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
    raise CdapError(f"CDAP answers `GET {path}` with the same page again and again")


def _rows_in(answer: Any, listing: Listing, path: str) -> Iterator[_Row]:
    if not isinstance(answer, Collection) or isinstance(answer, str):
        raise _unreadable(path)
    for one in answer:
        fields = one if isinstance(one, dict) else {listing.name: one}
        name, version = fields.get(listing.name), fields.get(listing.versions)
        if not isinstance(name, str):
            raise _unreadable(path)
        yield _Row(name, version if isinstance(version, str) else "", bool(listing.unless) and listing.unless in fields)


def _versions(rows: Iterable[tuple[EntityId, _Row]]) -> dict[EntityId, tuple[str, ...]]:
    """All versions of each entity, where every row of it names one."""
    found: dict[EntityId, set[str]] = {}
    for entity, row in rows:
        found.setdefault(entity, set()).add(row.version)
    return {entity: tuple(sorted(versions)) for entity, versions in found.items() if "" not in versions}


def _programs(cdap: CdapHttp, namespace: EntityId) -> Iterator[EntityId]:
    for kind, uri in _table()["programs"].items():
        path = filled(uri, namespace)
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
        raise CdapError(f"CDAP lists a {type_name} that this program cannot name: {e}") from None


def _all_namespaces(cdap: CdapHttp, namespaces: list[EntityId]) -> list[EntityId]:
    """Those of users. Every CDAP has `default`, so an account that does not see it does not see everything."""
    if EntityId("namespace", (_ALWAYS_THERE,)) not in namespaces:
        raise CdapError(
            f"the account does not see the namespace `{_ALWAYS_THERE}` of CDAP at `{cdap.url}`, so there is more that "
            "it does not see; an inventory needs an account that may read everything"
        )
    return [namespace for namespace in namespaces if namespace.parts != (_SYSTEM,)]


def filled(uri: str, entity: EntityId | None) -> str:
    """The address with the names of an entity, or of what it is in, in their places."""
    names = dict(zip(entity_type(entity.type).path[1:], entity.parts, strict=True)) if entity else {}
    return _VARIABLE.sub(lambda found: quote(names[found[1]], safe=""), uri)


def _unreadable(path: str) -> CdapError:
    return CdapError(f"the answer to `GET {urlsplit(path).path}` is not a list of names that this program can read")
