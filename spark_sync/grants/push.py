"""`push`: send pending changes to Ranger and record the results. The next push repairs a kill at any point.

See docs/explanation/grants.md for what is written, what is never touched, and what needs manual attention.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import RangerAdminError
from spark_sync.grants.plan import PlanSettings, Step, plan
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.rights_of_others import Audited, joined, may_revoke, revoke_rights
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.writer import StepOutcome
from spark_sync.grants.zones import Zones, placed, zones_of
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import PUSH_STATES, RIGHTS_UNREAD, Life, State

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


class Pushed(NamedTuple):
    """Resulting lives in order; `error` is why the push stopped early, `None` if it did not."""

    outcomes: list[StepOutcome]
    error: RangerAdminError | None = None

    @property
    def trouble(self) -> str:
        """Return the error's message, empty without one."""
        return str(self.error or "")


def push(
    ledger: DeltaLedger,
    rest: PolicyRest,
    planning: PlanSettings,
    *,
    executor: StepExecutor | None = None,
    zones: Callable[[], Zones] | None = None,
    audited: Audited = lambda _life, _policy: nullcontext(),
    progress: Callable[[str], None] = lambda _: None,
) -> Pushed:
    """Send all pending changes and record the results.

    Args:
        rest: where policies are written.
        executor: carries the steps out; one of `AT_A_TIME` and `PATIENCE` if `None`.
        zones: reads the security zones of the service; by `rest` if `None`.
        audited: puts the removal of others' rights on deleted entities on record.
        progress: receives short messages that begin with `SENDING`.
    """
    if not (pending := ledger.lives(PUSH_STATES)):
        return Pushed([])
    executor = executor or StepExecutor(AT_A_TIME, PATIENCE)
    known = executor.retried(zones or partial(zones_of, planning, rest), lambda _: None)
    if known is None:
        return Pushed([], executor.error)
    planning = replace(planning, zones=known)
    sent: list[StepOutcome] = []
    # Others lose their rights on a deleted entity before the creator of the next one gets theirs.
    ending = [life for life in pending if life.state is State.CLOSING]
    ended = list(executor.carry_out(_lanes(ending, planning), rest))
    ended, error = _without_rights_of_others(ended, ledger, rest, planning, audited)
    if ended:
        _record(ledger, ended)
    stuck = {life.entity for life in ending} - {each.life.entity for each in ended}
    stuck |= {each.life.entity for each in ended if each.life.state is State.CLOSING}
    ledger.record(_waiting(pending, stuck, {each.life.entity: each.life for each in ended}))
    others = [life for life in pending if life.state is not State.CLOSING and life.entity not in stuck]
    while others:
        again: list[StepOutcome] = []
        # Recorded first: a run that is killed would else not know where their policies are.
        placements = [LedgerChange(each, placed(each, known)) for each in others]
        ledger.record(change for change in placements if change.after != change.before)
        for outcome in executor.carry_out(_lanes((each.life for each in placements), planning), rest):
            if outcome.again:
                again.append(outcome)
                continue
            sent.append(outcome)
            if len(sent) % _SHOWN == 0:
                progress(f"{SENDING}: {len(ended) + len(sent):,} of {len(pending):,}")
            if len(sent) % CHUNK == 0:
                _record(ledger, sent[-CHUNK:])
        _record(ledger, again)
        others = [each.life for each in again]
    _record(ledger, sent[len(sent) // CHUNK * CHUNK :])
    return Pushed([*ended, *sent], executor.error or error)


def _waiting(
    pending: Iterable[Life], stuck: Collection[EntityId], ended: Mapping[EntityId, Life]
) -> Iterator[LedgerChange]:
    """Yield the lives that wait until the grant of an earlier life of their entity is revoked, with that reason."""
    for life in pending:
        if life.state is State.PENDING and life.entity in stuck:
            former = ended.get(life.entity)
            whose = f"the grant of `{former.holder}` on" if former else "what its creator had on"
            why = f": {former.reason}" if former and former.reason else ""
            yield LedgerChange(
                life, replace(life, reason=f"it waits until {whose} the former {life.entity} is revoked{why}")
            )


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


def _record(ledger: DeltaLedger, outcomes: Iterable[StepOutcome]) -> None:
    ledger.record((LedgerChange(step.life, life) for step, life, *_ in outcomes))
