"""Entities below one that are enough to tell whether a user may see any there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from ranger_cdap.cdap.entity import PROGRAM_TYPES, EntityId, EntityType, entity_type, entity_types, from_resource


def descendants(entity: EntityId, named: Iterable[Mapping[str, str]]) -> Iterator[EntityId]:
    """Yield entities below `entity`, each once: of each type one that nothing names, then those that are named.

    `named` are resources below it. With each comes what is on the way to it and beside it, because some types are
    listed by their parent, and at last what has names of several, because some are listed by two rights. A name is put
    for a wildcard; one with a name that CDAP does not allow is left out. None is below the instance, which is in no
    list.
    """
    path = entity_type(entity.type).path
    kinds = [kind for kind in entity_types().values() if kind.path[: len(path)] == path != kind.path]
    return _once(_found(entity, kinds, named)) if kinds and entity.parent else iter(())


def _found(entity: EntityId, kinds: Sequence[EntityType], named: Iterable[Mapping[str, str]]) -> Iterator[EntityId]:
    path, names = entity_type(entity.type).path, dict[str, dict[str, None]]()
    yield from _below(entity, kinds)
    for resource in named:
        values = {level: _name(level, value) for level, value in resource.items()}
        for level, name in values.items():
            names.setdefault(level, {})[name] = None
        if found := from_resource(values):
            _, one = found
            ways = (one.ancestor(level) for level in entity_type(one.type).path[len(path) :])
            yield from (each for way in ways if way for each in _below(way, kinds))
    yield from (
        found[1]
        for kind in kinds
        for parts in product(*(names.get(level, ()) for level in kind.path[len(path) :]))
        if (found := from_resource(dict(zip(kind.path, ("", *entity.parts, *parts), strict=True))))
    )


def _below(one: EntityId, kinds: Iterable[EntityType]) -> Iterator[EntityId]:
    """Yield one of each of these types below an entity, and the entity itself if its type is one of them."""
    path = entity_type(one.type).path
    yield from (
        EntityId(kind.name, (*one.parts, *(_name(level, "*") for level in kind.path[len(path) :])))
        for kind in kinds
        if kind.path[: len(path)] == path
    )


def _once(entities: Iterable[EntityId]) -> Iterator[EntityId]:
    seen = set[EntityId]()
    for one in entities:
        if one not in seen:
            seen.add(one)
            yield one


def _name(level: str, value: str) -> str:
    name = value.replace("*", "x").replace("?", "x")
    return f"{min(PROGRAM_TYPES)}.{name}" if level == "program" and "." not in name else name
