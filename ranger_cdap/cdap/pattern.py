"""Entity patterns with `*`, as in document 004, and the entities by which all that match are decided.

Policies know an entity by the values that its name matches, so entities that match the same values are decided alike.
One entity stands for each set of values that some entity of a pattern matches; the pattern is allowed if each of them
is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import msgspec

from ranger_cdap.cdap.entity import (
    LONGEST_PART,
    PROGRAM_TYPES,
    EntityId,
    entity_id,
    entity_type,
    split_entity,
    wrong_part_count,
)
from ranger_cdap.errors import InvalidEntity, InvalidInput

if TYPE_CHECKING:  # every command reads patterns, few of them evaluate policies
    from ranger_cdap.engine import NamedValues

STAR = "*"

MOST_STEPS = 200_000
"""Effort after which distinguishing the names of a level is given up."""

MOST_ENTITIES = 5_000
"""Number of entities that may stand for one pattern."""

_NAME_CHARACTERS = string.ascii_letters + string.digits + string.punctuation
_ANY_NAME = "?*"
_END = "\0"


class EntityPattern(msgspec.Struct, frozen=True, order=True):
    """Pattern for entities of one type: `program:ns1.app.*`, `dataset:ns1.local*`, `dataset_type:ns1.*Type`.

    `entity_pattern` builds one and checks its parts.
    """

    type: str
    parts: tuple[str, ...]

    @property
    def open_levels(self) -> tuple[str, ...]:
        """Return the levels on which it has a star."""
        return tuple(
            level for level, part in zip(entity_type(self.type).path[1:], self.parts, strict=True) if STAR in part
        )

    @property
    def example(self) -> EntityId:
        """Return an entity in the shape of the pattern, whose names on the open levels mean nothing."""
        return EntityId(self.type, tuple("x" if STAR in part else part for part in self.parts))

    def representatives(self, named: Mapping[str, NamedValues]) -> tuple[EntityId, ...] | None:
        """Return entities that match the pattern, one for each set of named values (by level) that some entity matches.

        Names are those CDAP allows. None if there are too many, or too many ways to distinguish them.
        """
        kind = entity_type(self.type)
        names: list[tuple[str, ...]] = []
        for level, allowed, part in zip(kind.path[1:], kind.patterns, self.parts, strict=True):
            if STAR not in part:
                names.append((part,))
                continue
            found = _names(part, allowed, _valid_names(level), named.get(level))
            if found is None:
                return None
            names.append(found)
        if prod(map(len, names)) > MOST_ENTITIES:
            return None
        return tuple(EntityId(self.type, parts) for parts in product(*names))

    def __str__(self) -> str:
        return f"{self.type}:{'.'.join(self.parts)}"


def entity_pattern(type_name: str, parts: tuple[str, ...]) -> EntityId | EntityPattern:
    """Return the pattern of that type with those parts; without a star, the entity itself.

    Raises:
        UnknownEntityType: there is no such type.
        InvalidEntity: the number of parts is wrong, or a part has characters CDAP does not allow.
    """
    if not any(STAR in part for part in parts):
        return entity_id(type_name, parts)
    kind = entity_type(type_name)
    if len(parts) != len(kind.patterns):
        raise wrong_part_count(kind, len(parts))
    for level, allowed, part in zip(kind.path[1:], kind.patterns, parts, strict=True):
        if part != STAR and not allowed.fullmatch(part.replace(STAR, "x")):
            raise InvalidEntity(f"`{part}` is not a pattern of names that CDAP allows for a {level}")
    return EntityPattern(type_name, parts)


def parse_pattern(text: str) -> EntityId | EntityPattern:
    """Parse a pattern or an entity: `program:ns1.app.*`, `dataset:ns1.workspace`.

    Raises:
        UnknownEntityType, InvalidEntity: as `entity_pattern`.
    """
    return entity_pattern(*split_entity(text))


def recorded_pattern(type_name: str, resource: str) -> tuple[str, EntityId | EntityPattern] | None:
    """Return instance and entity or pattern of an audit record, as `dataset` on `cdap/ns1/kv`; None if it is none."""
    try:
        # A principal may contain the separator.
        instance, *parts = resource.split("/", len(entity_type(type_name).path) - 1)
        return instance, entity_pattern(type_name, tuple(parts))
    except InvalidInput:
        return None


def _valid_names(level: str) -> tuple[str, ...]:
    """Return wildcards for the names of a level, of which a name of allowed characters must match one."""
    return tuple(f"{kind}.{_ANY_NAME}" for kind in sorted(PROGRAM_TYPES)) if level == "program" else (_ANY_NAME,)


def _names(
    part: str, allowed: re.Pattern[str], valid: tuple[str, ...], named: NamedValues | None
) -> tuple[str, ...] | None:
    """Return the shortest name for each set of values that some name of the pattern's part matches."""
    machine = _Wildcards(part, valid, named)
    characters = [c for c in _NAME_CHARACTERS if allowed.fullmatch(f"x{c}") or allowed.fullmatch(f"worker.x{c}")]
    first = [c for c in characters if allowed.fullmatch(c) or allowed.fullmatch(f"{c}.x")]
    names: dict[frozenset[int], str] = {}
    states, steps = {machine.start: ""}, 0
    waiting = [machine.start]
    for state in waiting:
        name = states[state]
        if machine.accepts(state):
            names.setdefault(machine.matched(state), name)
        if len(name) == LONGEST_PART:
            continue
        for character in machine.different(state, characters if name else first):
            following = machine.after(state, character)
            steps += len(state)
            if following not in states and machine.may_accept(following):
                states[following] = name + character
                waiting.append(following)
        if steps > MOST_STEPS:
            return None
    return tuple(names.values())


class _Wildcards:
    """Wildcards read side by side: a state is the set of positions in them that a beginning of a name leads to."""

    def __init__(self, part: str, valid: tuple[str, ...], named: NamedValues | None) -> None:
        self._cells = ""
        self._starts: list[int] = []
        self._asked = self._add((part,))
        self._valid = self._add(valid)
        texts = sorted(named.texts) if named else []
        self._add(texts)
        self._folded_from = len(self._cells)
        if named and named.ignore_case:
            self._add(sorted(text.casefold() for text in texts))
        self.start = frozenset(position for start in self._starts for position in self._reached(start))

    def _add(self, texts: Iterable[str]) -> range:
        begin = len(self._cells)
        for text in texts:
            self._starts.append(len(self._cells))
            self._cells += text.replace(_END, "") + _END
        return range(begin, len(self._cells))

    def _reached(self, position: int) -> Iterator[int]:
        yield position
        while self._cells[position] == STAR:
            position += 1
            yield position

    def after(self, state: frozenset[int], character: str) -> frozenset[int]:
        """Return the state after one more character."""
        found: set[int] = set()
        for position in state:
            cell = self._cells[position]
            if cell == STAR:
                found.add(position)
                found.update(self._reached(position))
            elif cell == "?" or cell == (character.casefold() if position >= self._folded_from else character):
                found.update(self._reached(position + 1))
        return frozenset(found)

    def different(self, state: frozenset[int], characters: Iterable[str]) -> Iterator[str]:
        """Yield the characters that the wildcards may distinguish here, and one for all others."""
        expected = {self._cells[position] for position in state}
        others = True
        for character in characters:
            if character in expected or character.casefold() in expected:
                yield character
            elif others:
                others = False
                yield character

    def matched(self, state: frozenset[int]) -> frozenset[int]:
        """Return the ends of the wildcards that the name matches."""
        return frozenset(position for position in state if self._cells[position] == _END)

    def accepts(self, state: frozenset[int]) -> bool:
        """Return true if the name is valid and matches the pattern."""
        ends = self.matched(state)
        return any(end in self._asked for end in ends) and any(end in self._valid for end in ends)

    def may_accept(self, state: frozenset[int]) -> bool:
        """Return true if the name is the beginning of a valid one that matches the pattern."""
        return any(at in self._asked for at in state) and any(at in self._valid for at in state)
