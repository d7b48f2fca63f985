"""Manual overrides of the ledger: under the lease, only if its tables belong together, and audited."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput
from spark_sync.ledger.lease import lease
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.ledger_version import note_versions, verify
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile import overrides
from spark_sync.reconcile.override_audit import audit_record, on_record, override_audit

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger


@contextmanager
def manual_ledger(settings: Settings) -> Iterator[DeltaLedger]:
    """Open the ledger for corrections, under the lease; the next run finds the changes in it.

    Raises:
        LeaseHeld: a run is in progress.
        LedgerLost: the ledger is older than what was read, or another one.
        SyncError: the ledger failed.
    """
    from spark_sync.ledger.delta_ledger import DeltaLedger

    state = settings.sync.state_dir
    with lease(state) as held:
        ledger = DeltaLedger(state, settings.cdap.instance)
        ledger.hold(held)
        verify(ledger, noting=True)
        yield ledger
        note_versions(ledger)


def retry(settings: Settings, entities: Collection[EntityId]) -> list[LedgerChange]:
    """Make blocked and failed lives pending again: of these entities, or of all if none is given.

    Named lives that were not blocked or failed stay as they are.

    Raises:
        InvalidInput: an entity is not in the ledger.
        SyncError: as `manual_ledger`.
    """
    with manual_ledger(settings) as ledger:
        if entities:
            lives = [life for entity in entities for life in _lives_of(ledger, entity) if life.is_open]
        else:
            lives = ledger.lives((State.BLOCKED, State.FAILED))
        changes = [LedgerChange(life, overrides.retry(life) or life) for life in lives]
        ledger.record(changes)
    return changes


def override(
    settings: Settings, entity: EntityId, user: str | None, *, now: int, why: str = "", anyone: bool = False
) -> list[LedgerChange]:
    """Make a user the creator of an entity, by their name in Ranger, or no one.

    Args:
        now: epoch milliseconds.
        why: goes to the audit; required to assign an entity that is contested or suspended.
        anyone: as in `overrides.assign`.

    Raises:
        UnsafeGrant, InvalidInput: as `overrides.assign` and `overrides.forget`.
        SyncError: as `manual_ledger`.
    """
    from spark_sync.grants.plan_settings import configured_name, plan_settings
    from spark_sync.grants.ranger_names import RangerNames

    # The time before which every event is decided; a later deletion still ends the overridden life.
    decided = now - round(settings.sync.hold_back * 1000)
    if user is not None:
        planning = plan_settings(settings, names=RangerNames(settings).current())
        user = configured_name(planning.names, user, "USER")
    with override_audit(settings) as audit, manual_ledger(settings) as ledger:
        lives = _lives_of(ledger, entity)
        before = overrides.current(entity, lives)
        if user is None:
            changes = overrides.forget(entity, lives, decided=decided)
        else:
            changes = overrides.assign(
                entity,
                lives,
                user,
                planning.gives[entity.type],
                non_creators=planning.non_creators,
                decided=decided,
                anyone=anyone,
                terms=planning.terms,
            )
            if overrides.is_doubted(before) and not why.strip():
                raise InvalidInput(f"`{entity}` is {before.state}; give the reason for the audit with --reason")
        with on_record(audit, audit_record(settings, before, user, why, now=now)):
            ledger.record(changes)
    return changes


def _lives_of(ledger: DeltaLedger, entity: EntityId) -> list[Life]:
    lives = ledger.find_lives(entities=[entity])
    if not lives:
        raise InvalidInput(f"`{entity}` is not in the ledger; if it exists, take an inventory for `sync baseline`")
    return lives
