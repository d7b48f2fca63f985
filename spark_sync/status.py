"""Contents and delay of the ledger, for `sync status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ranger_cdap.config import Settings
from spark_sync.grants.observe import Observation
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.rights_of_others import shown_rights
from spark_sync.ingest.dead_letters import rejected_lines
from spark_sync.ledger.grant_terms import OutdatedGrants, counts_of, outdated_grants
from spark_sync.ledger.ledger_version import verify
from spark_sync.ledger.life import Life, State
from spark_sync.sources import service_watermarks
from spark_sync.sources.missing_files import check_files

# The states that need attention.
WAITING = (
    State.UNCONFIRMED,
    State.CONTESTED,
    State.PENDING,
    State.SUSPENDED,
    State.BLOCKED,
    State.FAILED,
    State.CLOSING,
)


@dataclass(frozen=True, slots=True)
class StatusReport:
    """State of the sync job at `now`; all times are epoch milliseconds.

    `counts`: lives in each state. `baseline`: when it was taken; `journal_lost`: a check journal was replaced since, so
    that the baseline no longer counts. `waiting`: unsettled lives, and closed ones on whose entities others have
    rights, with their reasons. `newest`: the time of the newest decided event. `held_back`: the number of undecided
    events. `ahead`: the number of events with a time in the future, `clocks_ahead`: the sources whose decision service
    has a clock far ahead. `silent`: sources whose decision service lags so far behind
    that the hold-back applies. `outdated`: grants by former settings. `dead_letters`: the number of rejected lines.
    `observation`: the last look at Ranger, and when it was last found to have gone back.
    """

    now: int
    counts: Mapping[State, int]
    baseline: int | None
    journal_lost: bool
    waiting: tuple[Life, ...]
    newest: int | None
    held_back: int
    ahead: int
    clocks_ahead: tuple[str, ...]
    silent: tuple[str, ...]
    dead_letters: int
    outdated: OutdatedGrants | None
    observation: Observation

    @property
    def lag(self) -> int | None:
        """Return the age of the newest decided event; `None` before the first one."""
        return None if self.newest is None else max(0, self.now - self.newest)

    def waiting_in(self, *states: State) -> list[Life]:
        """Return the waiting lives in one of these states."""
        return [life for life in self.waiting if life.state in states]

    @property
    def oldest_pending(self) -> Life | None:
        """Return the pending grant that has waited longest."""
        pending = (life for life in self.waiting if life.state is State.PENDING)
        return min(pending, key=lambda life: life.begun, default=None)


def status(settings: Settings, *, now: int) -> StatusReport:
    """Return the state of the sync job; only reads, so it works during a run.

    Raises:
        LedgerLost: the ledger is older than after the last run, or another one, or files that it lacks were deleted.
        SyncError: the ledger failed.
    """
    from spark_sync.job import known_until
    from spark_sync.ledger.delta_ledger import DeltaLedger

    ledger = DeltaLedger(settings.sync.state_dir, settings.cdap.instance)
    verify(ledger)
    newest, held_back = ledger.decided_until()
    baseline = ledger.baseline()
    marks = service_watermarks.read(settings.sync.sources)
    for source in service_watermarks.journalled_sources(settings.sync.sources):
        check_files(source, marks.get(source.name), ledger.notes.files_read(source.name))
    journals = {name: mark.service for name, mark in marks.items()}
    known = known_until(settings.sync, marks, now)
    groups = ledger.grant_groups()
    planning = plan_settings(settings)
    return StatusReport(
        now=now,
        counts=counts_of(groups),
        baseline=baseline.taken if baseline else None,
        journal_lost=bool(baseline and not baseline.counts_for(journals)),
        waiting=(*ledger.lives(WAITING), *shown_rights(ledger)),
        newest=newest,
        held_back=held_back,
        ahead=ledger.ahead(now, known.latest),
        clocks_ahead=known.ahead,
        silent=known.silent,
        dead_letters=rejected_lines(settings.sync.state_dir),
        outdated=outdated_grants(groups, planning.gives, planning.terms),
        observation=Observation.last(ledger),
    )
