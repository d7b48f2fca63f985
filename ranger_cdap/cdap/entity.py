"""`EntityId`: a CDAP entity as a type and its parts, and the Ranger resource that stands for it."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from ranger_cdap.errors import InvalidEntity, UnknownEntityType

LONGEST_PART: Final = 1_000
"""Characters of a name: CDAP itself checks none, but a file system takes no more than 255 for most of them."""
PROGRAM_TYPES = frozenset({"mapreduce", "workflow", "service", "spark", "worker", "custom", "flow"})


@dataclass(frozen=True, slots=True)
class EntityType:
    """A row of `entities.toml`: the levels of the service definition, and a pattern for each part below."""

    name: str
    path: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]
    cdap_names: tuple[str, ...]
    version_at: int | None

    @property
    def parent(self) -> str | None:
        """The type one level up; `None` for the instance."""
        return self.path[-2] if len(self.path) > 1 else None


@dataclass(frozen=True, slots=True)
class Inner:
    """A row of `[inner]`: an entity type of CDAP without a resource of its own, decided on what its first parts name.

    `same_rows`: the rows of that entity decide (for a run those of its program); otherwise it is a thing within.
    """

    length: int
    within: str
    first: int
    same_rows: bool


class ResourceMapping(IntEnum):
    """How an entity of CDAP stands to the one it is decided on: it is that, lies within it, or is of unknown type."""

    ITSELF = 0
    WITHIN = 1
    UNKNOWN = 2


class ResolvedEntity(msgspec.Struct, frozen=True):
    """Where an entity of CDAP is decided: on `entity`, the nearest that has a resource."""

    entity: EntityId
    standing: ResourceMapping


class EntityId(msgspec.Struct, frozen=True, order=True):
    """A CDAP entity: `EntityId("dataset", ("ns1", "purchases"))`; versions are dropped, an instance has no parts.

    A program's last part is `<type>.<name>`. `entity_id`, `from_cdap` and `parse_entity` build one and check its parts.
    """

    type: str
    parts: tuple[str, ...]

    @property
    def namespace(self) -> str | None:
        """The namespace the entity is in (or is); `None` for an instance, a principal and a system service."""
        return self.parts[0] if "namespace" in entity_type(self.type).path else None

    @property
    def parent(self) -> EntityId | None:
        """The entity one level up; `None` for the instance."""
        above = entity_type(self.type).parent
        return EntityId(above, self.parts[:-1]) if above else None

    def ancestor(self, type_name: str) -> EntityId | None:
        """The entity of that type on the way up, this one included; `None` if there is none."""
        path = entity_type(self.type).path
        return EntityId(type_name, self.parts[: path.index(type_name)]) if type_name in path else None

    def is_within(self, other: EntityId) -> bool:
        """Whether this entity is `other` or lies below it."""
        return self.ancestor(other.type) == other

    def __str__(self) -> str:
        return f"{self.type}:{'.'.join(self.parts)}"


def entity_id(type_name: str, parts: Sequence[str]) -> EntityId:
    """The entity of that type with those parts (as many as the type has, each within its pattern).

    Raises:
        UnknownEntityType: there is no such type.
        InvalidEntity: the number of parts is wrong, or a part is too long or has characters CDAP does not allow.
    """
    for part in parts:
        if len(part) > LONGEST_PART:
            raise InvalidEntity(
                f"a part of the {type_name} has {len(part)} characters; CDAP's names have {LONGEST_PART}"
            )
    return _checked(type_name, tuple(parts))


@lru_cache(maxsize=16_384)
def _checked(type_name: str, parts: tuple[str, ...]) -> EntityId:
    kind = entity_type(type_name)
    if len(parts) != len(kind.patterns):
        wanted = ", ".join(kind.path[1:]) or "no parts"
        raise InvalidEntity(f"`{type_name}` is made of {wanted}, not of {len(parts)} parts")
    for level, pattern, part in zip(kind.path[1:], kind.patterns, parts, strict=True):
        if not pattern.fullmatch(part):
            raise InvalidEntity(f"`{part}` is not a name that CDAP allows for a {level}")
    if type_name == "program" and parts[2].partition(".")[0] not in PROGRAM_TYPES:
        raise InvalidEntity(f"`{parts[2]}` is not a program as type.name, like `workflow.DataPipelineWorkflow`")
    return EntityId(type_name, parts)


def from_cdap(cdap_type: str, id_parts: Sequence[str]) -> EntityId:
    """The entity CDAP means by an entity type and idParts of its SPI: aliases resolved, versions dropped.

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
    elif (at := entity_types()[name].version_at) is not None and len(parts) == at + 1:
        parts = parts[:at]
    return entity_id(name, parts)


def resolve_entity(cdap_type: str, id_parts: Sequence[str]) -> ResolvedEntity:
    """Where CDAP's entity is decided: itself, else its nearest parent that has a resource; for any type at all.

    Of an unknown type only this is known: whatever lies in a namespace has the namespace as the first of several parts.

    Raises:
        InvalidEntity: the parts do not fit a type that is known.
    """
    known = _types_by_cdap_name()
    name = cdap_type if cdap_type in known else cdap_type.upper()
    if name in known:
        return ResolvedEntity(from_cdap(name, id_parts), ResourceMapping.ITSELF)
    if inner := inner_types().get(name):
        if len(id_parts) != inner.length or not all(id_parts):
            raise InvalidEntity(f"`{name}` is made of {inner.length} parts, not of {len(id_parts)}, and none is empty")
        above = from_cdap(inner.within, id_parts[: inner.first])
        return ResolvedEntity(above, ResourceMapping.ITSELF if inner.same_rows else ResourceMapping.WITHIN)
    if len(id_parts) > 1 and entity_type("namespace").patterns[0].fullmatch(id_parts[0]):
        return ResolvedEntity(EntityId("namespace", (id_parts[0],)), ResourceMapping.UNKNOWN)
    return ResolvedEntity(EntityId("instance", ()), ResourceMapping.UNKNOWN)


def type_of(cdap_type: str) -> tuple[str, ResourceMapping]:
    """Our type for an entity type of CDAP; empty where its entities have no resource of their own."""
    if name := _types_by_cdap_name().get(cdap_type.upper()):
        return name, ResourceMapping.ITSELF
    return "", ResourceMapping.WITHIN if cdap_type.upper() in inner_types() else ResourceMapping.UNKNOWN


def parse_entity(text: str) -> EntityId:
    """The entity a person typed: `dataset:ns1.purchases`, `program:ns1.app.workflow.W`, `instance:`.

    Only a type's last part may hold dots, so the split is unambiguous. For what people type;
    data never goes through it.

    Raises:
        UnknownEntityType, InvalidEntity: as `entity_id`.
    """
    type_name, colon, rest = text.partition(":")
    if not colon:
        raise InvalidEntity(f"`{text}` is not an entity; write it as type:name, like `dataset:ns1.purchases`")
    count = len(entity_type(type_name).patterns)
    return entity_id(type_name, rest.split(".", count - 1) if count else [])


def to_resource(entity: EntityId, instance: str) -> dict[str, str]:
    """Ranger's view: `{"instance": "cdap", "namespace": "ns1", "dataset": "purchases"}`."""
    return dict(zip(entity_type(entity.type).path, (instance, *entity.parts), strict=True))


def entity_type(name: str) -> EntityType:
    """The row of `entities.toml` with that name.

    Raises:
        UnknownEntityType: there is none; the message names the nearest.
    """
    try:
        return entity_types()[name]
    except KeyError:
        raise UnknownEntityType(_nearest(name, entity_types())) from None


@cache
def entity_types() -> Mapping[str, EntityType]:
    """All rows of `entities.toml`, by name."""
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
    """The entity types of CDAP without a resource of their own, by CDAP's name."""
    return {name: Inner(**row) for name, row in _table()["inner"].items()}


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath("entities.toml").read_text(encoding="utf-8"))


@cache
def _types_by_cdap_name() -> Mapping[str, str]:
    return {cdap: kind.name for kind in entity_types().values() for cdap in kind.cdap_names}


def _nearest(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"; did you mean `{near[0]}`?" if near else f"; known are {', '.join(known)}"
    return f"there is no entity type `{name}`{hint}"
