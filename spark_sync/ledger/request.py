"""`EntityRequest`: one request that may have created or deleted an entity, and the order of two requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Position

UNKNOWN: Final = ""
"""The user of a request whom no source names."""

DEADLINE: Final = 5_000
"""Milliseconds that CDAP's extension waits for the answer to a check."""

_STATED: Final = "stated"
"""The journal, of no source, of what an inventory or a person says."""

_PLAUSIBLE: Final = 900_000
"""Milliseconds from CDAP's time of a check until it is journalled, at most, unless the service's clock is wrong."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Closed interval of time in which a request took effect, if it did.

    CDAP acts after its allowed check (`started`) and before its answer (`ended`), both read from `clock`, a process of
    CDAP; empty if the process is unknown. The source `journal` journalled the check at `journalled`, the source `store`
    stored the record at `stored`, each by its own clock; the process's clock was `behind` that of the journal then.
    """

    started: int
    ended: int
    clock: str = ""
    journal: str = ""
    journalled: int = 0
    store: str = ""
    stored: int = NEVER
    behind: int = 0

    @classmethod
    def of_check(cls, check: EntityEvent, ended: int, store: str = "", stored: int = NEVER) -> Interval:
        """Return the interval from a journalled check on; `store`, `stored`: of the record of its request."""
        behind = check.received - check.started
        return cls(check.started, ended, check.clock, check.source, check.received, store, stored, behind)

    @classmethod
    def stated(cls, time: int) -> Interval:
        """Return the moment of an inventory, or of a person's word, in the order of what services stored."""
        return cls(time, time, journal=_STATED, journalled=time, store=_STATED, stored=time)

    def precedes(self, other: Interval, skew: int) -> bool:
        """Return whether this one was certainly over before the other one began.

        The decision services that stored the end of this one and journalled the beginning of the other one know their
        order, whatever clocks the processes have. Else times of one process are compared directly, if its clock was not
        set in between. Other clocks, those of services too, are assumed to differ by at most `skew` milliseconds.
        """
        one_service = bool(self.store) and self.store == other.journal
        begun = other.journalled if one_service else other.earliest
        if self.store and other.journal and self.stored + (0 if one_service else skew) < begun:
            return True
        if self.clock and self.clock == other.clock:
            return self.ended < other.started and self._runs_on_to(other, skew)
        comparable = not one_service and self._is_in_time(skew) and other._is_in_time(skew)
        return comparable and self.ended + skew < other.started

    @property
    def is_plausible(self) -> bool:
        """Return whether the clock of the service that journalled the check was not far ahead."""
        return self.behind <= _PLAUSIBLE

    @property
    def earliest(self) -> int:
        """Return a time before which it did not begin, by the clocks of services that are right.

        If its check was journalled far ahead, either clock may be wrong, and CDAP's may be ahead as well.
        """
        return self.journalled if self.is_plausible else self.started - _PLAUSIBLE

    def _runs_on_to(self, other: Interval, skew: int) -> bool:
        """Return whether their checks show that the clock of their process was not set in between."""
        if self.journal != other.journal:
            return abs(self.behind - other.behind) <= DEADLINE + skew
        return self.journalled <= other.journalled and abs(self.behind - other.behind) <= DEADLINE

    def _is_in_time(self, skew: int) -> bool:
        """Return whether the check, if one was journalled, shows no greater difference of the clocks."""
        return abs(self.behind) <= DEADLINE + skew


@dataclass(frozen=True, slots=True)
class EntityRequest:
    """A request that created or deleted an entity, or may have.

    `users`: its possible senders, `UNKNOWN` for one not named. `corroborated`: the decision service journalled its
    check. `authoritative`: CDAP itself reports the creation or deletion. `checked`: the service allowed it to `users`,
    and a source other than the service's records reports success. `confirmed`: a second source reports it too.
    `reported_by`: source and id of its records and other views; more may arrive later. `settled`: everything that could
    contradict it is known. `lost_at`: when an allowed request with an unknown end counts as lost (by the journal's
    clock); `NEVER` if its end is known.
    """

    entity: EntityId
    kind: ChangeKind
    users: frozenset[str]
    interval: Interval
    outcome: Outcome
    position: Position
    version: str
    corroborated: bool = False
    authoritative: bool = False
    checked: bool = False
    confirmed: bool = False
    settled: bool = True
    reported_by: frozenset[tuple[str, str]] = frozenset()
    lost_at: int = NEVER

    @property
    def is_open(self) -> bool:
        """Return whether its end is unknown."""
        return self.lost_at < NEVER

    def was_over(self, later: Interval, skew: int) -> bool:
        """Return whether it was over, or counted as lost, before the other interval began."""
        if self.interval.precedes(later, skew):
            return True
        if not self.is_open:
            return False
        if self.interval.journal == later.journal and later.is_plausible:
            return self.lost_at <= later.journalled
        return self.lost_at + skew < later.started
