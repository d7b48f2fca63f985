"""`EntityEvent`: somebody created or deleted an entity, as one source tells it."""

from __future__ import annotations

from dataclasses import dataclass

from ranger_cdap.cdap.creations import Kind, Strength
from ranger_cdap.cdap.entity import EntityId

__all__ = ["EntityEvent", "Kind", "Position", "Strength"]


@dataclass(frozen=True, slots=True)
class EntityEvent:
    """An event; (source, id) is its key, `time` is in epoch milliseconds.

    `requester` is who sent the request where the user is somebody CDAP impersonates for him; else empty.

    A creation counts from the start of its request and a deletion from its end, so that of two that overlap the
    deletion wins: a grant that is missing can be given, one that is too much must not be.
    """

    entity: EntityId
    kind: Kind
    user: str
    time: int
    source: str
    strength: Strength
    id: str
    requester: str = ""

    @property
    def position(self) -> Position:
        """Where it stands in the order of events."""
        return Position(self.time, self.kind is Kind.DELETE, self.source, self.id)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The order of events: time, then creations before deletions, then source and id, so that every order is total."""

    time: int
    after_creations: bool
    source: str
    id: str
