"""`sync rezone`: move grants into the security zone that came over them, under the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput
from spark_sync.grants.observe import look
from spark_sync.grants.plan import plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import PolicyRest, policy_rest
from spark_sync.grants.push import SENDING, push
from spark_sync.grants.zones import Zones, placed, zones_of
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.manual import manual_ledger
from spark_sync.reconcile.regrant import RegrantReport


def rezone(
    settings: Settings,
    zone: str,
    *,
    send: bool = False,
    ranger: PolicyRest | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> RegrantReport:
    """Show which grants wait for a decision about a zone and, with `send`, move them there.

    Args:
        send: record and send the moves, with everything else that is pending.
        ranger: where policies are read and written; the Ranger Admin of the settings if `None`.

    Raises:
        InvalidInput: Ranger's service has no such zone.
        LeaseHeld: a run is in progress.
        LedgerLost: the ledger is older than what was read, or another one.
        SyncError: the ledger failed.
        RangerAdminError: Ranger Admin cannot be read; nothing was written.
    """
    with manual_ledger(settings) as ledger, policy_rest(settings, ranger) as rest:
        planning = plan_settings(settings)
        zones = zones_of(planning, rest)
        if zone not in zones.names:
            raise InvalidInput(f"service `{planning.service}` has no security zone `{zone}` in Ranger")
        changed, went_back = look(ledger, rest, planning)
        ledger.record(changed)
        moves = moves_into(zone, ledger.lives((State.BLOCKED,)), zones)
        planned = tuple(plan((each.life for each in moves), replace(planning, zones=zones)))
        if not send:
            return RegrantReport(planned, went_back=went_back)
        ledger.record(moves)
        progress(SENDING)
        outcomes, error = push(ledger, rest, planning, progress=progress)
    return RegrantReport(planned, (), tuple(outcomes), error, went_back)


def moves_into(zone: str, lives: Iterable[Life], zones: Zones) -> list[LedgerChange]:
    """Return the lives that wait for a decision about a zone, with their grants to be moved into it. Pure."""
    followed = replace(zones, follow=True)
    moved = ((life, placed(life, followed)) for life in lives if life.waits_for_zone)
    return [LedgerChange(life, there.become(State.PENDING, reason="")) for life, there in moved if there.zone == zone]
