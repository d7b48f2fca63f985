"""`push`: send pending changes to Ranger and record the results. The next push repairs a kill at any point.

See docs/explanation/grants.md for what is written, what is never touched, and what needs manual attention.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import RangerAdminError
from spark_sync.grants.plan import PlanSettings, Step, plan
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.rights_of_others import Audited, joined, may_revoke, revoke_rights
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.writer import StepOutcome
from spark_sync.grants.zones import Zones, placed, zones_of
from spark_sync.ledger.grant_terms import counts_of
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import PENDING_STATES, PUSH_STATES, RIGHTS_UNREAD, Life, State

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger

CHUNK: Final = 5_000
"""Outcomes recorded at a time; a kill in a long back-fill repeats at most these."""
AT_A_TIME: Final = 4
"""Grants sent concurrently."""
PATIENCE: Final = 60.0
"""Seconds that Ranger Admin may be unavailable before a run ends; pending grants stay in the ledger."""
SENDING: Final = "sending grants to Ranger"
_SHOWN: Final = 50
"""Grants from one progress message to the next."""

Told = Callable[[StepOutcome], None]
"""Told each outcome in order, once it is final; it is recorded soon after."""


def push(
    ledger: DeltaLedger,
    rest: PolicyRest,
    planning: PlanSettings,
    told: Told,
    *,
    executor: StepExecutor | None = None,
    zones: Callable[[], Zones] | None = None,
    audited: Audited = lambda _life, _policy: nullcontext(),
    progress: Callable[[str], None] = lambda _: None,
) -> RangerAdminError | None:
    """Send all pending changes and record the results; return why it stopped early, `None` if it did not.

    What is pending is read page by page, so that it need not be in memory.

    Args:
        rest: where policies are written.
        executor: carries the steps out; one of `AT_A_TIME` and `PATIENCE` if `None`.
        zones: reads the security zones of the service; by `rest` if `None`.
        audited: puts the removal of others' rights on deleted entities on record.
        progress: receives short messages that begin with `SENDING`.
    """
    counts = counts_of(ledger.grant_groups())
    if not any(counts[state] for state in PUSH_STATES):
        return None
    executor = executor or StepExecutor(AT_A_TIME, PATIENCE)
    known = executor.retried(zones or partial(zones_of, planning, rest), lambda _: None)
    if known is None:
        return executor.error
    total = sum(counts[state] for state in PENDING_STATES)
    sending = _Push(ledger, rest, replace(planning, zones=known), known, executor, _shown(told, total, progress))
    # Others lose their rights on a deleted entity before the creator of the next one gets theirs.
    for page in ledger.pages((State.CLOSING,)):
        sending.end(page, audited)
    for page in ledger.pages([state for state in PUSH_STATES if state is not State.CLOSING]):
        sending.grant(page)
    return executor.error or sending.error


def _shown(told: Told, total: int, progress: Callable[[str], None]) -> Told:
    """Return `told`, showing how far the push is, and how long it will take."""
    began, done = time.monotonic(), 0

    def one(outcome: StepOutcome) -> None:
        nonlocal done
        done += 1
        told(outcome)
        if done % _SHOWN == 0:
            progress(f"{SENDING}: {progress_text(done, total, time.monotonic() - began)}")

    return one


def progress_text(done: int, total: int, seconds: float) -> str:
    """Return how many of about that many are done after some seconds, how fast, and how long the others will take."""
    rate = done / max(seconds, 0.001)
    left = timedelta(seconds=round(max(0, total - done) / rate))
    return f"{done:,} of {max(total, done):,}, {rate:,.0f}/s, {left} left"


@dataclass
class _Push:
    """A push under way. `stuck`: entities on which a former grant could not be revoked, with that life if known."""

    ledger: DeltaLedger
    rest: PolicyRest
    planning: PlanSettings
    zones: Zones
    executor: StepExecutor
    told: Told
    stuck: dict[EntityId, Life | None] = field(default_factory=dict)
    error: RangerAdminError | None = None

    def end(self, page: Sequence[Life], audited: Audited) -> None:
        """Revoke the grants of lives that ended, and what others have on their entities."""
        revoked = list(self.executor.carry_out(_lanes(page, self.planning), self.rest))
        ended, error = _without_rights_of_others(revoked, self.ledger, self.rest, self.planning, audited)
        self.error = self.error or error
        self._record(ended)
        for outcome in ended:
            self.told(outcome)
        done = {each.life.entity for each in ended}
        self.stuck |= {life.entity: None for life in page if life.entity not in done}
        self.stuck |= {each.life.entity: each.life for each in ended if each.life.state is State.CLOSING}

    def grant(self, page: Sequence[Life]) -> None:
        """Send the grants of lives, but for those that wait until a former one on their entity is revoked."""
        self.ledger.record(LedgerChange(life, self._waiting(life)) for life in page if life.entity in self.stuck)
        others = [life for life in page if life.entity not in self.stuck]
        while others:
            sent, again = list[StepOutcome](), list[StepOutcome]()
            # Recorded first: a run that is killed would else not know where their policies are.
            placements = [LedgerChange(each, placed(each, self.zones)) for each in others]
            self.ledger.record(change for change in placements if change.after != change.before)
            lanes = _lanes((each.life for each in placements), self.planning)
            for outcome in self.executor.carry_out(lanes, self.rest):
                if outcome.again:
                    again.append(outcome)
                    continue
                self.told(outcome)
                sent.append(outcome)
                if len(sent) == CHUNK:
                    self._record(sent)
                    sent = []
            self._record([*sent, *again])
            others = [each.life for each in again]

    def _waiting(self, life: Life) -> Life:
        if life.state is not State.PENDING:
            return life
        former = self.stuck[life.entity]
        whose = f"the grant of `{former.holder}` on" if former else "what its creator had on"
        why = f": {former.reason}" if former and former.reason else ""
        return replace(life, reason=f"it waits until {whose} the former {life.entity} is revoked{why}")

    def _record(self, outcomes: Iterable[StepOutcome]) -> None:
        self.ledger.record(LedgerChange(step.life, life) for step, life, *_ in outcomes)


def _lanes(lives: Iterable[Life], planning: PlanSettings) -> Iterator[list[Step]]:
    return (list(lane) for _, lane in groupby(plan(lives, planning), key=lambda step: step.life.entity))


def _without_rights_of_others(
    ended: Sequence[StepOutcome], ledger: DeltaLedger, ranger: PolicyRest, planning: PlanSettings, audited: Audited
) -> tuple[list[StepOutcome], RangerAdminError | None]:
    """Return the outcomes once others have lost their rights on deleted entities, or are to be reported.

    If Ranger Admin fails, the lives are still closing.
    """
    done: dict[tuple[EntityId, int], Life] = {}
    error, wanted = None, list[Life]()
    for step, life, *_ in (each for each in ended if each.life.state is State.CLOSED and each.life.is_deleted):
        # By now people may have given rights for the next entity of that name.
        if may_revoke(life, planning) and not step.life.is_from_backup:
            wanted.append(life)
        else:
            done[life.entity, life.number] = replace(life, reason=joined(life.reason, RIGHTS_UNREAD))
    try:
        revoked = revoke_rights(wanted, ledger, ranger, planning, audited) if wanted else []
    except RangerAdminError as e:
        error, revoked = e, [replace(life, state=State.CLOSING, reason=str(e)) for life in wanted]
    done |= {(life.entity, life.number): life for life in revoked}
    return [each._replace(life=done.get((each.life.entity, each.life.number), each.life)) for each in ended], error
