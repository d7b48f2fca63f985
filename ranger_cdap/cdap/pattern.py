"""`EntityPattern`: entities named with `*`, as in document 004, and the questions that stand for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.errors import InvalidEntity

STAR = "*"

# What a star inside a name is replaced by. CDAP allows `~` in no name, so no policy is about such an entity alone: what
# lets all of them pass was written with a star. The lengths differ, so that a policy made of `?` lets none or one pass.
_STAND_INS = ("", "~", "~" * 41)


@dataclass(frozen=True, slots=True, order=True)
class EntityPattern:
    """All entities of a type whose parts match: `program:ns1.app.*`, `dataset:ns1.local*`, `dataset_type:ns1.*Type`.

    `entity_pattern` builds one and checks its parts.
    """

    type: str
    parts: tuple[str, ...]

    def probes(self) -> tuple[EntityId, ...]:
        """The questions to ask of Ranger: the pattern is allowed only if each of them is.

        A part that is a star is asked as `*`, which Ranger answers by policies that match everything there.
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
    """The pattern of that type with those parts; without a star it is the entity itself.

    Raises:
        UnknownEntityType: there is no such type.
        InvalidEntity: the number of parts is wrong, or a part has characters CDAP does not allow.
    """
    if not any(STAR in part for part in parts):
        return entity_id(type_name, parts)
    kind = entity_type(type_name)
    if len(parts) != len(kind.patterns):
        wanted = ", ".join(kind.path[1:]) or "no parts"
        raise InvalidEntity(f"`{type_name}` is made of {wanted}, not of {len(parts)} parts")
    for level, allowed, part in zip(kind.path[1:], kind.patterns, parts, strict=True):
        if part != STAR and not allowed.fullmatch(part.replace(STAR, "x")):
            raise InvalidEntity(f"`{part}` is not a pattern of names that CDAP allows for a {level}")
    return EntityPattern(type_name, parts)


def parse_pattern(text: str) -> EntityId | EntityPattern:
    """The entities a person or a row names: `program:ns1.app.*`, `dataset:ns1.workspace`.

    Raises:
        UnknownEntityType, InvalidEntity: as `entity_pattern`.
    """
    type_name, colon, rest = text.partition(":")
    if not colon:
        raise InvalidEntity(f"`{text}` is not an entity; write it as type:name, like `dataset:ns1.local*`")
    count = len(entity_type(type_name).patterns)
    return entity_pattern(type_name, tuple(rest.split(".", count - 1)) if count else ())
