"""`Ledger`: what the sync job remembers: events, lives, baseline. An interface, so that the job knows no tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.life import Life, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class History:
    """Inputs of the fold for one entity: the events that may still change something, and its lives in the ledger."""

    entity: EntityId
    events: tuple[EntityEvent, ...]
    lives: tuple[Life, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of a fold or a push for one entity: lives to write, numbers of unconfirmed lives that are no more."""

    entity: EntityId
    lives: tuple[Life, ...] = ()
    dropped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Up to when events are decided (epoch milliseconds), and which younger things may change yet.

    What is of `decided` or later is folded again by a later run, and checks received after `closed`, which may not
    have ended.
    """

    decided: int
    closed: int


@dataclass(frozen=True, slots=True)
class Baseline:
    """When an inventory was taken, in epoch milliseconds, and which journal each source had then."""

    taken: int
    journals: Mapping[str, str]

    def counts_for(self, journals: Mapping[str, str]) -> bool:
        """Whether nothing is missing since it was taken: a journal that began later says nothing of the time before."""
        return all(self.journals.get(source) == journal for source, journal in journals.items())


class Ledger(Protocol):
    """One CDAP instance's ledger. All writes may be repeated: the same write again changes nothing."""

    def add_events(self, events: DataFrame) -> int:
        """Store the events whose (source, id) is new; the number of those."""

    def add_answers(self, events: Sequence[EntityEvent]) -> None:
        """Store what CDAP answered when it was asked."""

    def fold(self, decide: Callable[[History], Change | None]) -> None:
        """Record what `decide` makes of each entity that events may change and that is not folded yet.

        All changes are recorded in one step. `decide` may run on another machine.
        """

    def mark_folded(self, scope: Scope) -> None:
        """Everything of that scope is folded, and recorded."""

    def record(self, changes: Iterable[Change]) -> None:
        """Write lives, by (entity, number), in one step: all of them or, after a kill, none."""

    def lives(self, states: Collection[State]) -> list[Life]:
        """The lives in one of those states, by entity and number."""

    def counts(self) -> Counter[State]:
        """How many lives are in each state."""

    def baseline(self) -> Baseline | None:
        """The newest inventory; `None` without one."""

    def enter_baseline(
        self,
        taken: int,
        entities: Iterable[EntityId],
        versions: Mapping[EntityId, tuple[str, ...]],
        journals: Mapping[str, str],
    ) -> int:
        """Enter an inventory: entities without an open life become known; how many did. All events are folded again.

        `journals`: the journal of each source at that time; what it held before is not needed any more.
        """
