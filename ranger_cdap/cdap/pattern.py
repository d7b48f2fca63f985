"""Entity patterns with `*`, as in document 004, and the probes that stand for all matching entities."""

from __future__ import annotations

from dataclasses import dataclass

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type, wrong_part_count
from ranger_cdap.errors import InvalidEntity

STAR = "*"

# Replacements for a star inside a name. CDAP allows `~` in no name, so no policy names such an entity literally: one
# that allows all probes was written with a star. The lengths differ, so that `?` in a policy allows at most one probe.
_STAND_INS = ("", "~", "~" * 41)


@dataclass(frozen=True, slots=True, order=True)
class EntityPattern:
    """Pattern for entities of one type: `program:ns1.app.*`, `dataset:ns1.local*`, `dataset_type:ns1.*Type`.

    `entity_pattern` builds one and checks its parts.
    """

    type: str
    parts: tuple[str, ...]

    def probes(self) -> tuple[EntityId, ...]:
        """Return the entities to ask Ranger about; the pattern is allowed only if each of them is.

        A part that is only a star stays `*`, which Ranger matches with policies that cover every value there.
        """
        if all(part == STAR or STAR not in part for part in self.parts):
            return (EntityId(self.type, self.parts),)
        return tuple(
            EntityId(self.type, tuple(p if p == STAR else p.replace(STAR, stand_in) for p in self.parts))
            for stand_in in _STAND_INS
        )

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
    type_name, colon, rest = text.partition(":")
    if not colon:
        raise InvalidEntity(f"`{text}` is not an entity; write it as type:name, like `dataset:ns1.local*`")
    count = len(entity_type(type_name).patterns)
    return entity_pattern(type_name, tuple(rest.split(".", count - 1)) if count else ())
