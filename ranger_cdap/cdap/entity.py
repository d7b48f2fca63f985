"""CDAP entities as a type and parts (`EntityId`), and the Ranger resources they map to."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from ranger_cdap.errors import InvalidEntity, UnknownEntityType, suggestion

LONGEST_PART: Final = 1_000
"""Longest part of a name, in characters; CDAP sets no limit, but most names become file names (255 bytes)."""
PROGRAM_TYPES = frozenset({"mapreduce", "workflow", "service", "spark", "worker", "custom", "flow"})


class EntityType(msgspec.Struct, frozen=True):
    """Row of `entities.toml`: the levels of the service definition, and a pattern for each part below the instance."""

    name: str
    path: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    cdap_names: tuple[str, ...]
    version_at: int | None

    @property
    def parent(self) -> str | None:
        """Return the type one level up; `None` for the instance."""
        return self.path[-2] if len(self.path) > 1 else None


class Inner(msgspec.Struct, frozen=True):
    """Row of `[inner]`: a CDAP entity type without a resource of its own, decided on the entity its first parts name.

    `same_rows`: the rows of that entity apply (a run uses those of its program); without it, it lies within the entity.
    """

    length: int
    within: str
    first: int
    same_rows: bool


class ResourceMapping(IntEnum):
    """Relation of a CDAP entity to the entity it is decided on: the same, within it, or of unknown type."""

    ITSELF = 0
    WITHIN = 1
    UNKNOWN = 2


class ResolvedEntity(msgspec.Struct, frozen=True, gc=False):
    """Entity on which a CDAP entity is decided: the nearest one that has a Ranger resource."""

    entity: EntityId
    mapping: ResourceMapping


class EntityId(msgspec.Struct, frozen=True, order=True, gc=False):
    """CDAP entity, as `EntityId("dataset", ("ns1", "purchases"))`; versions are dropped, an instance has no parts.

    A program's last part is `<type>.<name>`. `entity_id`, `from_cdap` and `parse_entity` build one and check its parts.
    """

    type: str
    parts: tuple[str, ...]

    @property
    def namespace(self) -> str | None:
        """Return the namespace the entity is in (or is); `None` for an instance, a principal and a system service."""
        return self.parts[0] if "namespace" in entity_type(self.type).path else None

    @property
    def parent(self) -> EntityId | None:
        """Return the entity one level up; `None` for the instance."""
        above = entity_type(self.type).parent
        return EntityId(above, self.parts[:-1]) if above else None

    def ancestor(self, type_name: str) -> EntityId | None:
        """Return this entity or its ancestor of that type; `None` if there is none."""
        path = entity_type(self.type).path
        return EntityId(type_name, self.parts[: path.index(type_name)]) if type_name in path else None

    def is_within(self, other: EntityId) -> bool:
        """Return true if this entity is `other` or lies below it."""
        return self.ancestor(other.type) == other

    def __str__(self) -> str:
        return f"{self.type}:{'.'.join(self.parts)}"


def entity_id(type_name: str, parts: Sequence[str]) -> EntityId:
    """Return the entity of that type with those parts (as many as the type has, each matching its pattern).

    Raises:
        UnknownEntityType: there is no such type.
        InvalidEntity: the number of parts is wrong, or a part is too long or has characters CDAP does not allow.
    """
    for part in parts:
        if len(part) > LONGEST_PART:
            raise InvalidEntity(f"a part of the {type_name} has {len(part)} characters; the limit is {LONGEST_PART}")
    return _checked(type_name, tuple(parts))


@lru_cache(maxsize=16_384)
def _checked(type_name: str, parts: tuple[str, ...]) -> EntityId:
    kind = entity_type(type_name)
    if len(parts) != len(kind.patterns):
        raise wrong_part_count(kind, len(parts))
    for level, pattern, part in zip(kind.path[1:], kind.patterns, parts, strict=True):
        if not pattern.fullmatch(part):
            raise InvalidEntity(f"`{part}` is not a name that CDAP allows for a {level}")
    if type_name == "program" and parts[2].partition(".")[0] not in PROGRAM_TYPES:
        raise InvalidEntity(f"`{parts[2]}` is not a program; write it as type.name, like `workflow.Import`")
    return EntityId(type_name, parts)


def wrong_part_count(kind: EntityType, found: int) -> InvalidEntity:
    """Return the error for an entity with another number of parts than its type has."""
    names = f" ({', '.join(kind.path[1:])})" if kind.patterns else ""
    return InvalidEntity(f"`{kind.name}` needs {len(kind.patterns)} parts{names}, not {found}")


def from_cdap(cdap_type: str, id_parts: Sequence[str]) -> EntityId:
    """Return the entity for an entity type and idParts of CDAP's SPI, with aliases resolved and versions dropped.

    `PROGRAM` is `[namespace, application, version, type, name]`, `PROGRAMREFERENCE` lacks the version, an `INSTANCE`
    part is its name, often empty (cdap-facts.md §2.3 and §3.4).

    Raises:
        UnknownEntityType: the type is not one of `entities.toml`.
        InvalidEntity: the parts do not fit it.
    """
    known = _types_by_cdap_name()
    name = known.get(cdap_type) or known.get(cdap_type.upper())
    if name is None:
        raise UnknownEntityType(_nearest(cdap_type, known))
    parts = id_parts
    if name == "instance":
        parts = parts[1:]
    elif name == "program":
        if len(parts) == 5 and cdap_type.upper() == "PROGRAM":
            parts = (parts[0], parts[1], f"{parts[3].lower()}.{parts[4]}")
        elif len(parts) == 4:
            parts = (parts[0], parts[1], f"{parts[2].lower()}.{parts[3]}")
    elif (at := entity_type(name).version_at) is not None and len(parts) == len(entity_type(name).patterns) + 1:
        parts = (*parts[:at], *parts[at + 1 :])
    return entity_id(name, parts)


def resolve_entity(cdap_type: str, id_parts: Sequence[str]) -> ResolvedEntity:
    """Return the entity on which a CDAP entity is decided: itself, else its nearest ancestor with a resource.

    Works for any type. Of an unknown one, the first of several parts is the namespace that the entity lies in.

    Raises:
        InvalidEntity: the parts do not fit a type that is known.
    """
    known = _types_by_cdap_name()
    name = cdap_type if cdap_type in known else cdap_type.upper()
    if name in known:
        return ResolvedEntity(from_cdap(name, id_parts), ResourceMapping.ITSELF)
    if inner := inner_types().get(name):
        if len(id_parts) != inner.length or not all(id_parts):
            raise InvalidEntity(f"`{name}` needs {inner.length} non-empty parts, not {len(id_parts)}")
        above = from_cdap(inner.within, id_parts[: inner.first])
        return ResolvedEntity(above, ResourceMapping.ITSELF if inner.same_rows else ResourceMapping.WITHIN)
    if len(id_parts) > 1 and entity_type("namespace").patterns[0].fullmatch(id_parts[0]):
        return ResolvedEntity(EntityId("namespace", (id_parts[0],)), ResourceMapping.UNKNOWN)
    return ResolvedEntity(EntityId("instance", ()), ResourceMapping.UNKNOWN)


def type_of(cdap_type: str) -> tuple[str, ResourceMapping]:
    """Return our type for a CDAP entity type; empty if its entities have no resource of their own."""
    if name := _types_by_cdap_name().get(cdap_type.upper()):
        return name, ResourceMapping.ITSELF
    return "", ResourceMapping.WITHIN if cdap_type.upper() in inner_types() else ResourceMapping.UNKNOWN


def parse_entity(text: str) -> EntityId:
    """Parse an entity typed by a user: `dataset:ns1.purchases`, `program:ns1.app.workflow.W`, `instance:`.

    Only a type's last part may contain dots, so the split is unambiguous. For user input only;
    data never goes through it.

    Raises:
        UnknownEntityType, InvalidEntity: as `entity_id`.
    """
    return entity_id(*split_entity(text))


def split_entity(text: str) -> tuple[str, tuple[str, ...]]:
    """Return type and parts of an entity or pattern typed by a user, unchecked.

    Raises:
        UnknownEntityType, InvalidEntity: it has no type, or there is no such type.
    """
    type_name, colon, rest = text.partition(":")
    if not colon:
        raise InvalidEntity(f"`{text}` is not an entity; write it as type:name, like `dataset:ns1.purchases`")
    count = len(entity_type(type_name).patterns)
    return type_name, tuple(rest.split(".", count - 1)) if count else ()


def to_resource(entity: EntityId, instance: str) -> dict[str, str]:
    """Return the Ranger resource: `{"instance": "cdap", "namespace": "ns1", "dataset": "purchases"}`."""
    return dict(zip(entity_type(entity.type).path, (instance, *entity.parts), strict=True))


def from_resource(values: Mapping[str, str]) -> tuple[str, EntityId] | None:
    """Return the instance and the entity that a Ranger resource of single values is exactly on; `None` for no entity.

    An application with all its programs is one entity.
    """
    levels = frozenset(values) - ({"program"} if values.get("program") == "*" else set())
    kind = next((kind for kind in entity_types().values() if levels == frozenset(kind.path)), None)
    if kind is None:
        return None
    instance, *parts = (values[level] for level in kind.path)
    try:
        return instance, entity_id(kind.name, parts)
    except InvalidEntity:
        return None


def entity_type(name: str) -> EntityType:
    """Return the row of `entities.toml` with that name.

    Raises:
        UnknownEntityType: there is none; the message names the nearest.
    """
    kind = entity_types().get(name)
    if kind is None:
        raise UnknownEntityType(_nearest(name, entity_types()))
    return kind


@cache
def entity_types() -> Mapping[str, EntityType]:
    """Return all rows of `entities.toml`, by name."""
    table = _table()
    patterns = {name: re.compile(text, re.ASCII) for name, text in table["patterns"].items()}
    return {
        name: EntityType(
            name=name,
            path=tuple(row["path"]),
            patterns=tuple(patterns[part] for part in row["parts"]),
            cdap_names=tuple(row["cdap"]),
            version_at=row.get("version_at"),
        )
        for name, row in table["types"].items()
    }


@cache
def inner_types() -> Mapping[str, Inner]:
    """Return the CDAP entity types without a resource of their own, by CDAP's name."""
    return {name: Inner(**row) for name, row in _table()["inner"].items()}


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("entities.toml").read_text(encoding="utf-8"))


@cache
def _types_by_cdap_name() -> Mapping[str, str]:
    return {cdap: kind.name for kind in entity_types().values() for cdap in kind.cdap_names}


def _nearest(name: str, known: Mapping[str, object]) -> str:
    return f"there is no entity type `{name}`{suggestion(name, known, list_all=True)}"
