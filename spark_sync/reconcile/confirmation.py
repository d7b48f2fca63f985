"""Asking CDAP whether an entity exists, where the ledger cannot tell: what is asked, and what its answers prove. Pure.

An answer is an event of the source `cdap`, kept as all others are. Its time is that of the decision service's journal,
read before CDAP is asked and after it has answered, so that no two clocks are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import EntityEvent, Kind, Stage
from spark_sync.ledger.life import Life, State

SOURCE: Final = "cdap"
"""The source of CDAP's answers in the ledger."""

ASKED_FOR: Final = (State.UNCONFIRMED, State.CONTESTED, State.SUSPENDED)
"""What depends on whether the entity exists."""


@dataclass(frozen=True, slots=True)
class Existence:
    """What CDAP answered about an entity; `author` of its oldest version, created at `authored`, if CDAP names them."""

    exists: bool
    author: str = ""
    authored: int = 0


@dataclass(frozen=True, slots=True)
class Round:
    """One round of questions: `journal` is the source whose journal's clock `begun` and `ended` are read from."""

    id: str
    journal: str
    begun: int
    ended: int


def questions(lives: Iterable[Life]) -> list[EntityId]:
    """The entities to ask about, each once, in order."""
    return sorted({life.entity for life in lives if life.is_open and life.state in ASKED_FOR})


def answers(entities: Iterable[EntityId], look_up: Callable[[EntityId], Existence | None]) -> dict[EntityId, Existence]:
    """What CDAP answers; an entity of which it says nothing that can be believed is left out."""
    found = ((entity, look_up(entity)) for entity in entities)
    return {entity: existence for entity, existence in found if existence is not None}


def events_of(found: dict[EntityId, Existence], asked: Round) -> Iterator[EntityEvent]:
    """The events of a round's answers."""
    for entity, existence in found.items():
        yield EntityEvent(
            entity=entity,
            kind=Kind.CREATE if existence.exists else Kind.DELETE,
            stage=Stage.ANSWER,
            user=existence.author,
            started=asked.begun,
            ended=asked.ended,
            source=SOURCE,
            id=f"{asked.id}#{entity}",
            clock=asked.journal,
            requested=existence.authored,
            received=asked.ended,
        )
