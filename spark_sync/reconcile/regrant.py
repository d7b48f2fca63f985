"""`sync regrant`: bring the grants of existing lives in line with changed settings, under the lease.

The ledger records first what the settings want; then it is sent like any pending grant. After a kill in between, the
next run or regrant sends the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Settings
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.ledger_mark import marked_rest
from spark_sync.grants.observe import look
from spark_sync.grants.plan import PlanSettings, Step, plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import PolicyRest, held_rest, policy_rest
from spark_sync.grants.push import SENDING, push
from spark_sync.grants.regrant import is_changed, regranted
from spark_sync.grants.writer import StepOutcome
from spark_sync.grants.zones import all_policies, moves_into, zones_of
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.drift import Facts
from spark_sync.reconcile.manual import manual_ledger
from spark_sync.reconcile.reconcile import gather_facts

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger

FOLLOWING_STATES: Final = (State.KNOWN, State.PENDING, State.APPLIED, State.FAILED)
"""The states of lives whose grant settings may decide."""


@dataclass(frozen=True, slots=True)
class RegrantReport:
    """Result of a regrant. `planned`: the steps that bring grants in line with the settings. `kept`: lives that a
    manual change keeps as they are, with the reason. `outcomes`: of all that was sent, if it was. `error`: why that
    stopped early, `None` if it did not. `went_back`: as of a run.
    """

    planned: tuple[Step, ...]
    kept: tuple[Life, ...]
    outcomes: tuple[StepOutcome, ...] = ()
    error: RangerAdminError | None = None
    went_back: str = ""


def regrant(
    settings: Settings,
    *,
    entities: Collection[EntityId] = (),
    zone: str = "",
    send: bool = False,
    ranger: PolicyRest | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> RegrantReport:
    """Show which grants of these entities, or of all, the changed settings concern and, with `send`, change them.

    Args:
        zone: move the grants that wait for a decision about this security zone into it, and change nothing else.
        send: record and send the changes, with everything else that is pending.
        ranger: where policies are read and written; the Ranger Admin of the settings if `None`.

    Raises:
        InvalidInput: there is no such zone.
        LeaseHeld: a run is in progress.
        LedgerLost: the ledger is older than what was read, or another one.
        SyncError: the ledger failed.
        RangerAdminError: Ranger Admin cannot be read; nothing was written.
    """
    with manual_ledger(settings) as ledger, policy_rest(settings, ranger) as unguarded:
        rest = marked_rest(held_rest(unguarded, ledger.lease), ledger)
        planning, went_back = plan_settings(settings), ""
        zones = zones_of(planning, rest)
        policies = all_policies(rest, planning.service, zones)
        if send:
            # A push would take for a person's edit what a restore of Ranger changed.
            changed, went_back = look(ledger, rest, planning, zones, policies)
            ledger.record(changed)
        changes = (
            moves_into(zone, ledger.lives((State.BLOCKED,)), zones)
            if zone
            else regrants(ledger, rest, planning, policies, entities)
        )
        kept = tuple(after for _, after, _ in changes if after and after.state is State.BLOCKED)
        sent = (after for before, after, _ in changes if before and after and is_changed(before, after))
        planned = tuple(plan(sent, planning))
        if not send:
            return RegrantReport(planned, kept)
        ledger.record(changes)
        progress(SENDING)
        outcomes = list[StepOutcome]()
        error = push(ledger, rest, planning, outcomes.append, zones=lambda: zones, progress=progress)
    return RegrantReport(planned, kept, tuple(outcomes), error, went_back)


def regrants(
    ledger: DeltaLedger,
    ranger: PolicyRest,
    planning: PlanSettings,
    policies: Sequence[Policy],
    entities: Collection[EntityId] = (),
) -> list[LedgerChange]:
    """Return the lives that changed settings concern: of these entities, or all. `policies`: all of Ranger's service.

    Raises:
        InvalidInput: an entity is unknown.
        RangerAdminError: Ranger Admin cannot be read.
    """
    # Of an entity that is named, any life makes it a known one.
    lives = ledger.lives(list(State) if entities else FOLLOWING_STATES)
    return changes_of(gather_facts(lives, policies, None, planning, ranger, entities), planning)


def changes_of(known: Iterable[Facts], planning: PlanSettings) -> list[LedgerChange]:
    """Return the lives that changed settings concern. Pure."""
    policies = [(life, facts.policies.get(life.number)) for facts in known for life in facts.lives]
    changes = (LedgerChange(life, regranted(life, there, planning), there) for life, there in policies)
    return [change for change in changes if change.after != change.before]
