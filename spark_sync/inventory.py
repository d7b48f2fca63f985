"""What exists in CDAP, listed by its REST API: the inventory that a baseline is taken from.

An entity that is missing could be taken over by whoever touches it first, so all is listed or nothing is written.
"""

from __future__ import annotations

import os
import re
import tempfile
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
from ranger_cdap.errors import CdapError, CdapNotFound, InvalidInput, reason
from spark_sync.baseline import Inventory
from spark_sync.cdap_http import CdapHttp

MARGIN: Final = 300_000
"""So many milliseconds before its first request an inventory is dated: CDAP's clock may be behind ours.

What was created in between and is listed is known, so an earlier date takes nothing away from safety.
"""

_PAGE: Final = 1000
_SYSTEM: Final = "system"
_ALWAYS_THERE: Final = "default"
_VARIABLE: Final = re.compile(r"\{([a-z_]+)\}")

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Listing:
    """A row of `inventory.toml`; `within`: the type of the entities it is asked for, none for the whole instance."""

    entity: str
    uri: str
    within: str | None
    name: str
    pages: str
    optional: bool


def take_inventory(
    cdap: CdapHttp, *, instance: str, now: int, programs: bool = False, progress: Progress = lambda _: None
) -> Inventory:
    """Everything that CDAP shows the account, dated a little before `now` (epoch milliseconds, before the first call).

    Raises:
        CdapError: CDAP is away, hides something or answers what can't be read.
    """
    found: dict[str, list[EntityId]] = {}
    for listing in listings():
        progress(f"listing {listing.entity}s")
        above = [None] if listing.within is None else found[listing.within]
        found[listing.entity] = [
            _entity(listing.entity, parent, name) for parent in above for name in _names(cdap, listing, parent)
        ]
        if listing.entity == "namespace":
            found["namespace"] = _all_namespaces(cdap, found["namespace"])
    if programs:
        progress("listing programs")
        found["program"] = [program for ns in found["namespace"] for program in _programs(cdap, ns)]
    entities = {entity for several in found.values() for entity in several}
    return Inventory(instance, now - MARGIN, tuple(sorted(entities)))


def write_inventory(inventory: Inventory, path: Path) -> None:
    """Write the file that `sync baseline --from` reads; as a whole or not at all.

    Raises:
        InvalidInput: it can't be written.
    """
    taken = datetime.fromtimestamp(inventory.taken / 1000, UTC).isoformat(timespec="milliseconds")
    lines = [{"v": 1, "instance": inventory.instance, "taken": taken}]
    lines += [{"type": entity.type, "parts": list(entity.parts)} for entity in inventory.entities]
    temporary: str | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.writelines(msgspec.json.encode(line) + b"\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError as e:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise InvalidInput(f"`{path}` can't be written: {reason(e)}") from None


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
        )
        for row in _table()["list"]
    )


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("inventory.toml").read_text(encoding="utf-8"))


def _names(cdap: CdapHttp, listing: Listing, parent: EntityId | None) -> Iterator[str]:
    path = _filled(listing.uri, parent)
    try:
        if listing.pages:
            yield from _paged(cdap, path, listing)
        else:
            yield from _names_in(_get(cdap, path), listing.name, path)
    except CdapNotFound as e:
        if not listing.optional:
            raise CdapError(f"{e}; something was deleted meanwhile, or this is no CDAP: try again") from None


def _paged(cdap: CdapHttp, path: str, listing: Listing) -> Iterator[str]:
    """In pages where CDAP has them (6.6 and later); before that the answer is the whole list."""
    token, seen = "", set[str]()
    while token not in seen:
        seen.add(token)
        answer = cdap.get_json(path, {"pageSize": str(_PAGE)} | ({"pageToken": token} if token else {}))
        if not isinstance(answer, dict):
            yield from _names_in(answer, listing.name, path)
            return
        yield from _names_in(answer.get(listing.pages), listing.name, path)
        token = answer.get("nextPageToken") or ""
        if not token:
            return
        if not isinstance(token, str):
            raise _unreadable(path)
    raise CdapError(f"CDAP answers `GET {path}` with the same page again and again")


def _names_in(answer: Any, field: str, path: str) -> Iterator[str]:
    if not isinstance(answer, Collection) or isinstance(answer, str):
        raise _unreadable(path)
    for one in answer:
        name = one.get(field) if isinstance(one, dict) else one
        if not isinstance(name, str):
            raise _unreadable(path)
        yield name


def _programs(cdap: CdapHttp, namespace: EntityId) -> Iterator[EntityId]:
    for kind, uri in _table()["programs"].items():
        path = _filled(uri, namespace)
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
        raise CdapError(f"CDAP lists a {type_name} that this program can't name: {e}") from None


def _all_namespaces(cdap: CdapHttp, namespaces: list[EntityId]) -> list[EntityId]:
    """Those of users. Every CDAP has `default`, so an account that does not see it does not see everything."""
    if EntityId("namespace", (_ALWAYS_THERE,)) not in namespaces:
        raise CdapError(
            f"the account does not see the namespace `{_ALWAYS_THERE}` of CDAP at `{cdap.url}`, so there is more that "
            "it does not see; an inventory needs an account that may read everything"
        )
    return [namespace for namespace in namespaces if namespace.parts != (_SYSTEM,)]


def _filled(uri: str, entity: EntityId | None) -> str:
    names = dict(zip(entity_type(entity.type).path[1:], entity.parts, strict=True)) if entity else {}
    return _VARIABLE.sub(lambda found: quote(names[found[1]], safe=""), uri)


def _unreadable(path: str) -> CdapError:
    return CdapError(f"the answer to `GET {urlsplit(path).path}` is not a list of names that this program can read")
