"""An entity and a pattern are written as they are read, whatever names CDAP allows."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import PROGRAM_TYPES, EntityId, EntityType, entity_id, entity_types, parse_entity
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern, parse_pattern

KINDS = st.sampled_from(sorted(entity_types()))


def names(kind: EntityType) -> Iterator[st.SearchStrategy[str]]:
    for level, pattern in zip(kind.path[1:], kind.patterns, strict=True):
        name = st.from_regex(pattern, fullmatch=True)
        if level == "program":
            name = st.builds(
                lambda one, rest: f"{one}.{rest.partition('.')[2]}", st.sampled_from([*PROGRAM_TYPES]), name
            )
        yield name


ENTITIES = KINDS.flatmap(lambda name: st.tuples(*names(entity_types()[name])).map(lambda parts: entity_id(name, parts)))


@st.composite
def patterns(draw: st.DrawFn) -> EntityId | EntityPattern:
    """A pattern with stars at any places of the names; one that CDAP's names cannot match is left with a star alone."""
    entity = draw(ENTITIES)
    parts = []
    for part in entity.parts:
        begin, end = sorted((draw(st.integers(0, len(part))), draw(st.integers(0, len(part)))))
        starred = f"{part[:begin]}*{part[end:]}"
        parts.append(draw(st.sampled_from([part, starred, f"*{part}*", "*"])))
    kind = entity_types()[entity.type]
    allowed = zip(parts, kind.patterns, strict=True)
    fitting = [part if pattern.fullmatch(part.replace("*", "x")) else "*" for part, pattern in allowed]
    return entity_pattern(entity.type, tuple(fitting))


@given(ENTITIES)
def test_an_entity_is_written_as_it_is_read(entity: EntityId) -> None:
    assert parse_entity(str(entity)) == entity == parse_pattern(str(entity))


@given(patterns())
def test_a_pattern_is_written_as_it_is_read(pattern: EntityId | EntityPattern) -> None:
    assert parse_pattern(str(pattern)) == pattern
