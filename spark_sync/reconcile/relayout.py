"""`sync relayout`: move the grants of existing lives into the policies of the configured layout, under the lease.

The ledger records the moves first; then they are sent like any pending grant. After a kill in between, the next run or
relayout sends the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from ranger_cdap.config import Settings
from ranger_cdap.errors import RangerAdminError
from spark_sync.grants.outcome import StepOutcome
from spark_sync.grants.plan import Layout
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.push import SENDING, push, ranger_admin
from spark_sync.grants.relayout import Relayout, relaid
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.manual import manual_ledger
from spark_sync.reconcile.reconcile import RangerClient, gather_facts


@dataclass(frozen=True, slots=True)
class RelayoutReport:
    """Result of a relayout into `layout`. `created`, `updated`, `deleted`: the policies that the `moves` concern.

    `kept`: grants that stay in the other layout, with the reason. `outcomes`: of all that was sent, if it was. `error`:
    why that stopped early, `None` if it did not.
    """

    layout: Layout
    moves: tuple[Life, ...] = ()
    created: int = 0
    updated: int = 0
    deleted: int = 0
    kept: tuple[Life, ...] = ()
    outcomes: tuple[StepOutcome, ...] = ()
    error: RangerAdminError | None = None


def relayout(
    settings: Settings,
    *,
    send: bool = False,
    ranger: RangerClient | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> RelayoutReport:
    """Show the grants whose policy is of the other layout and, with `send`, move them.

    Args:
        send: record and send the moves, with everything else that is pending.
        ranger: where policies are read and written; the Ranger Admin of the settings if `None`.

    Raises:
        LeaseHeld: a run is in progress.
        SyncError: the ledger failed.
        RangerAdminError: Ranger Admin cannot be read; nothing was sent.
    """
    planning = plan_settings(settings)
    connection: AbstractContextManager[RangerClient] = nullcontext(ranger) if ranger else ranger_admin(settings)
    with manual_ledger(settings) as ledger, connection as rest:
        applied = ledger.lives((State.APPLIED,))
        policies = rest.list_policies(planning.service)
        known = gather_facts(applied, policies, None, planning, rest)
        held = [(life, facts.holding(life)) for facts in known for life in facts.lives]
        sizes = ledger.place_sizes({life.creator for life in applied if life.creator})
        found = relaid(held, policies, sizes, planning)
        report = _report(planning.layout, found, sizes)
        if not send:
            return report
        ledger.record([LedgerChange(life.entity, (life,)) for life in found.moving])
        progress(SENDING)
        outcomes, error = push(ledger, settings, rest, planning=planning, progress=progress)
    return replace(report, outcomes=tuple(outcomes), error=error)


def _report(layout: Layout, found: Relayout, sizes: dict[str, int]) -> RelayoutReport:
    """Count the policies that the moves concern."""
    if layout == "creator":
        homes = {life.home for life in found.moving}
        created = len([home for home in homes if not sizes.get(home)])
        return RelayoutReport(
            layout, found.moving, created, len(homes) - created, deleted=len(found.moving), kept=found.kept
        )
    leaving = Counter(life.home for life in found.former)
    deleted = len([place for place, count in leaving.items() if sizes.get(place, 0) <= count])
    return RelayoutReport(
        layout, found.moving, len(found.moving), len(leaving) - deleted, deleted=deleted, kept=found.kept
    )
