"""Confirmation by CDAP: the entities to ask about, and the events of its answers. Pure.

An answer is an event of the source `cdap`, stored like all others. Its time is that of the decision service's journal,
read before CDAP is asked and after it has answered, so that no two clocks are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import ChangeKind, EntityEvent, Stage
from spark_sync.ledger.life import UNDECIDED_STATES, Life

SOURCE: Final = "cdap"
"""The source of CDAP's answers in the ledger."""


@dataclass(frozen=True, slots=True)
class CdapAnswer:
    """CDAP's answer about an entity; `author` of its oldest version, created at `authored`, if CDAP names them."""

    exists: bool
    author: str = ""
    authored: int = 0


@dataclass(frozen=True, slots=True)
class Round:
    """Round of questions; `begun` and `ended` are read from the clock of the journal of the source `journal`."""

    id: str
    journal: str
    begun: int
    ended: int


def questions(lives: Iterable[Life]) -> list[EntityId]:
    """Return the entities to ask about, each once, in order."""
    return sorted({life.entity for life in lives if life.is_open and life.state in UNDECIDED_STATES})


def events_of(found: dict[EntityId, CdapAnswer], asked: Round) -> Iterator[EntityEvent]:
    """Return the events of a round's answers."""
    yield from (
        EntityEvent(
            entity=entity,
            kind=ChangeKind.CREATE if existence.exists else ChangeKind.DELETE,
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
        for entity, existence in found.items()
    )
