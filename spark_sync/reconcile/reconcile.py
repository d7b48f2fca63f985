"""`sync reconcile`: compare ledger, inventory and Ranger, and record in the ledger how differences are settled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.config import Settings
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import guid_of, may_be_ours
from spark_sync.grants.ledger_mark import adopt_marks
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import PolicyRest, policy_rest
from spark_sync.grants.rights_of_others import by_entity
from spark_sync.grants.zones import all_policies, zones_of
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.drift import Drift, Facts, drift_of, named_entity, survey, unrecorded
from spark_sync.reconcile.manual import manual_ledger
from spark_sync.reconcile.repair import RepairAction, Repairs, repair_all

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger


def reconcile(
    settings: Settings,
    *,
    inventory: Inventory | None = None,
    action: RepairAction | None = None,
    entities: Collection[EntityId] = (),
    ranger: PolicyRest | None = None,
) -> Repairs:
    """Compare and, with an action, repair the findings it can settle. Ranger is only read.

    Args:
        entities: the entities to compare; all if empty.
        ranger: where policies are read; the Ranger Admin of the settings if `None`.

    Raises:
        LeaseHeld: a run is in progress.
        LedgerLost: the ledger is older than what was read, or another one.
        SyncError: the ledger failed.
        RangerAdminError: Ranger Admin cannot be read; nothing was written.
    """
    planning = plan_settings(settings)
    with manual_ledger(settings) as ledger:
        with policy_rest(settings, ranger) as rest:
            planning = replace(planning, zones=(zones := zones_of(planning, rest)))
            policies = all_policies(rest, planning.service, zones)
            lives = (
                lives_to_compare(ledger, policies, planning.instance, entities)
                if inventory is None
                else ledger.lives(list(State))
            )
            known = gather_facts(lives, policies, inventory, planning, rest, entities)
        if action is None:
            return Repairs((), (), tuple(finding for facts in known for finding in drift_of(facts, planning)))
        repairs = repair_all(known, planning, action)
        ledger.record(repairs.changes)
        if action is RepairAction.ADOPT and not entities:
            adopt_marks(ledger, policies)
    return repairs


def lives_to_compare(
    ledger: DeltaLedger, policies: Sequence[Policy], instance: str, entities: Collection[EntityId] = ()
) -> list[Life]:
    """Return all lives of these entities, and of all that policies can differ about from the ledger.

    Most lives of a large ledger are none of these: known without a creator, or ended.
    """
    granted = {life.entity for page in ledger.pages_with_grants() for life in page}
    named = {entity for policy in filter(may_be_ours, policies) if (entity := named_entity(policy, instance))}
    touched = {*granted, *named, *by_entity(policies, instance), *entities}
    lives = ledger.find_lives(entities=touched) if touched else []
    return lives if all(life for _, life in unrecorded(lives, policies, instance)) else ledger.lives(list(State))


def gather_facts(
    lives: Collection[Life],
    policies: Sequence[Policy],
    inventory: Inventory | None,
    settings: PlanSettings,
    ranger: PolicyRest,
    entities: Collection[EntityId] = (),
) -> list[Facts]:
    """Return the facts about these entities, or all. A policy absent from the list is looked up before it counts.

    Ranger gives an account without rights an empty list, but refuses it a single policy.

    Raises:
        InvalidInput: an entity is unknown.
        RangerAdminError: Ranger Admin cannot be read.
    """
    known = survey(lives, policies, inventory, settings)
    found = (f for facts in known if not entities or facts.entity in entities for f in drift_of(facts, settings))
    missing = ((guid_of(f.life, settings.instance), f.life.zone) for f in found if f.drift is Drift.MISSING and f.life)
    looked_up = [there for guid in missing if (there := ranger.policy_by_guid(settings.service, *guid))]
    if looked_up:
        known = survey(lives, [*policies, *looked_up], inventory, settings)
    for entity in set(entities) - {facts.entity for facts in known}:
        raise InvalidInput(f"neither the ledger nor Ranger nor an inventory knows `{entity}`")
    return [facts for facts in known if not entities or facts.entity in entities]
