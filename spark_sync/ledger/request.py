"""`Request`: one request that may have created or deleted an entity, and which of two requests came first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import NEVER, Kind, Outcome, Position

UNKNOWN: Final = ""
"""Stands among the users of a request for someone whom nothing names."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The time in which a request took effect, if it did; both ends belong to it.

    CDAP acts after its allowed check (`started`) and before its answer (`ended`), both read from `clock`, a process of
    CDAP; empty where the process is not known. `journal` journalled the check at `journalled`, `store` stored the
    record at `stored`, each by its own clock: the journal's and the store's names are those of their sources.
    """

    started: int
    ended: int
    clock: str = ""
    journal: str = ""
    journalled: int = 0
    store: str = ""
    stored: int = NEVER

    def precedes(self, other: Interval, skew: int) -> bool:
        """Whether this one was surely over before the other one began.

        Times of one process compare as they are. Otherwise the decision service that stored the end of this one and
        journalled the beginning of the other one knows their order, whatever clocks the processes have. Only where
        there is no such service, clocks are believed to differ by at most `skew` milliseconds.
        """
        if self.clock and self.clock == other.clock:
            return self.ended < other.started
        if self.store and self.store == other.journal:
            return self.stored < other.journalled
        return self.ended + skew < other.started

    def overlaps(self, other: Interval, skew: int) -> bool:
        """Whether the order of the two is undecidable."""
        return not self.precedes(other, skew) and not other.precedes(self, skew)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that created or deleted an entity, or may have.

    `users`: who it may have been, `UNKNOWN` among them for someone not named. `corroborated`: the decision service
    journalled its check. `authoritative`: CDAP itself says that it created or deleted. `checked`: the service allowed
    it to `users`, and a source other than the service's records says that it succeeded. `seconded`: a second source
    tells of it too. `told_by`: source and id of its records and of what was taken for another view of it; more may
    come later. `settled`: everything that could contradict it is known. `lost_at`: when an allowed request whose end
    is not known counts as lost (by the journal's clock); `NEVER` where its end is known.
    """

    entity: EntityId
    kind: Kind
    users: frozenset[str]
    interval: Interval
    outcome: Outcome
    position: Position
    corroborated: bool = False
    authoritative: bool = False
    checked: bool = False
    seconded: bool = False
    settled: bool = True
    told_by: frozenset[tuple[str, str]] = frozenset()
    version: str = ""
    lost_at: int = NEVER

    @property
    def is_open(self) -> bool:
        """Whether its end is not known."""
        return self.lost_at < NEVER

    def was_over(self, later: Interval, skew: int) -> bool:
        """Whether it was over before the other interval began, or already counted as lost then."""
        if self.interval.precedes(later, skew):
            return True
        if not self.is_open:
            return False
        if self.interval.journal == later.journal:
            return self.lost_at <= later.journalled
        return self.lost_at + skew < later.started
