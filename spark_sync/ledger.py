"""`Ledger`: what the sync job remembers: events, lives, baseline. An interface, so that the job knows no tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ranger_cdap.cdap.entity import EntityId
from spark_sync.event import EntityEvent
from spark_sync.life import Life, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class History:
    """What the fold needs of one entity: the events that may still change something, and its lives in the ledger."""

    entity: EntityId
    events: tuple[EntityEvent, ...]
    lives: tuple[Life, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What a fold or a push changes of one entity: lives to write, numbers of unconfirmed lives that are no more."""

    entity: EntityId
    lives: tuple[Life, ...] = ()
    dropped: tuple[int, ...] = ()


class Ledger(Protocol):
    """One CDAP instance's ledger. All writes may be repeated: the same write again changes nothing."""

    def add_events(self, events: DataFrame) -> int:
        """Store the events whose (source, id) is new; the number of those."""

    def fold(self, decide: Callable[[History], Change | None], until: int, window: int) -> None:
        """Record what `decide` makes of each entity that events up to `until` may change and that is not folded yet.

        Its history holds what happened up to `until + window` (both in epoch milliseconds). All changes are recorded
        in one step. `decide` may run on another machine.
        """

    def mark_folded(self, until: int) -> None:
        """Everything up to `until` is folded, and recorded."""

    def record(self, changes: Iterable[Change]) -> None:
        """Write lives, by (entity, number), in one step: all of them or, after a kill, none."""

    def lives(self, states: Collection[State]) -> list[Life]:
        """The lives in one of those states, by entity and number."""

    def counts(self) -> Counter[State]:
        """How many lives are in each state."""

    def baseline(self) -> int | None:
        """When the newest inventory was taken, in epoch milliseconds; `None` without one."""

    def enter_baseline(self, taken: int, entities: Iterable[EntityId]) -> int:
        """Enter an inventory: entities without an open life become known; how many did. All events are folded anew."""
