"""`RunReport`: the result of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ranger_cdap.errors import RangerAdminError
from spark_sync.grants.plan import Step
from spark_sync.ledger.grant_terms import OutdatedGrants
from spark_sync.ledger.life import PENDING_STATES, Life, State
from spark_sync.sources.source import SourceReport

if TYPE_CHECKING:
    from spark_sync.notification import NotifyResult


@dataclass(frozen=True, slots=True)
class RunReport:
    """Result of a run. `granted`, `revoked`: changes in Ranger. `waiting`: unsettled lives of this run, and
    all blocked ones, and closed ones on whose entities others have rights, each with a reason.

    `planned`: the steps that a dry run did not send, planned anew whenever they are asked for.
    `silent`: sources whose decision service lags so far behind that the hold-back applied.
    `counts`: the ledger after the run, by state. `outdated`: grants by former settings, which `sync regrant` changes.
    `error`: why the push stopped early, `None` if it did not. `notified`: the decision
    services notified of changes. `went_back`: what was healed because Ranger is in an older state than the ledger, in a
    sentence; empty if it is not. `undecided`: whether events wait for a
    later time of their source. `run_id`: 128 random bits as hexadecimal digits, also the id of the run's trace.
    """

    sources: tuple[SourceReport, ...]
    granted: Collection[Life] = ()
    revoked: Collection[Life] = ()
    waiting: Collection[Life] = ()
    planned: Iterable[Step] = ()
    silent: tuple[str, ...] = ()
    counts: Mapping[State, int] = field(default_factory=dict)
    outdated: OutdatedGrants | None = None
    error: RangerAdminError | None = None
    notified: tuple[NotifyResult, ...] = ()
    undecided: bool = False
    went_back: str = ""
    run_id: str = ""

    @property
    def trouble(self) -> str:
        """Return the error's message, empty without one."""
        return str(self.error or "")

    @property
    def wrote_nothing(self) -> bool:
        """Return whether the run changed no policy in Ranger."""
        return not (self.granted or self.revoked)

    @property
    def pending(self) -> int:
        """Return the number of lives with a pending change."""
        return sum(self.counts.get(state, 0) for state in PENDING_STATES)

    @property
    def unchanged(self) -> int:
        """Return the number of grants that were in Ranger before the run and still are."""
        return self.counts.get(State.APPLIED, 0) - len(self.granted)
