"""Entities below one that are enough to tell whether a user may see any there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from ranger_cdap.cdap.entity import PROGRAM_TYPES, EntityId, entity_type, entity_types, from_resource


def descendants(entity: EntityId, named: Iterable[Mapping[str, str]]) -> Iterator[EntityId]:
    """Yield an entity of each type below `entity`, then each named one with one of each type below it.

    `named` are resources below it. A name is put for a wildcard; one with a name that CDAP does not allow is left out.
    None is below the instance, which is in no list.
    """
    path = entity_type(entity.type).path
    kinds = [kind for kind in entity_types().values() if kind.path[: len(path)] == path != kind.path]
    resources = ({level: _name(level, value) for level, value in resource.items()} for resource in named)
    below = (found[1] for found in map(from_resource, resources) if found)
    for one in chain([entity], below) if kinds and entity.parent else ():
        depth = len(entity_type(one.type).path)
        for kind in kinds:
            if kind.path[:depth] == entity_type(one.type).path:
                yield EntityId(kind.name, (*one.parts, *(_name(level, "*") for level in kind.path[depth:])))


def _name(level: str, value: str) -> str:
    name = value.replace("*", "x").replace("?", "x")
    return f"{min(PROGRAM_TYPES)}.{name}" if level == "program" and "." not in name else name
