"""The report of a run, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ranger_cdap.errors import RangerAdminError
from spark_sync.grants.plan import Step
from spark_sync.ledger.life import PENDING_STATES, Life, State


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source in one run: lines read, lines rejected (see the dead letters), events that were new."""

    name: str
    lines: int
    rejected: int
    events: int


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run. `granted`, `revoked`: what changed in Ranger. `waiting`: lives it could not settle, each with a reason.

    `planned`: what would have been sent if it had not been a dry run.
    `silent`: sources whose decision service is so far behind that the hold-back applied.
    `counts`: the ledger after the run, by state. `error`: why the push stopped before its end, None if it did not.
    """

    sources: tuple[SourceReport, ...]
    granted: tuple[Life, ...] = ()
    revoked: tuple[Life, ...] = ()
    waiting: tuple[Life, ...] = ()
    planned: tuple[Step, ...] = ()
    silent: tuple[str, ...] = ()
    counts: Mapping[State, int] = field(default_factory=dict)
    error: RangerAdminError | None = None

    @property
    def trouble(self) -> str:
        """The error in words, empty without one."""
        return str(self.error or "")

    @property
    def wrote_nothing(self) -> bool:
        """Whether Ranger's policies are as they were before the run."""
        return not (self.granted or self.revoked)

    @property
    def owed(self) -> int:
        """Number of lives with a pending change."""
        return sum(self.counts.get(state, 0) for state in PENDING_STATES)

    @property
    def unchanged(self) -> int:
        """How many grants stood before and still stand."""
        return self.counts.get(State.APPLIED, 0) - len(self.granted)
