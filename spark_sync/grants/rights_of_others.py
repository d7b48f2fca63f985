"""Rights of others on deleted entities: which stay, and which `sync.on_deletion` revokes.

Law: only allow items of a policy on exactly the deleted entity are removed, and no item that denies, excepts, masks or
filters. A policy under a condition or for a period stays, since it is a limit that a person set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.named_entities import allows, exact_entity, named_entities
from ranger_cdap.errors import NotFound, RequestRejected
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import overwritten
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.zones import all_policies, zones_of
from spark_sync.ledger.life import RIGHTS_LEFT, RIGHTS_UNREAD, Life, State

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger

Audited = Callable[[Life, Policy], AbstractContextManager[None]]
"""Puts a removal on record: for the life of a deleted entity, from this policy."""

_ROUNDS: Final = 3
"""Lists of Ranger's policies in a run, until one shows nothing to revoke."""


def by_entity(policies: Iterable[Policy], instance: str) -> dict[EntityId, list[Policy]]:
    """Return the policies that allow someone something, by the entities that they name."""
    allowing = filter(allows, policies)
    return grouped((entity, policy) for policy in allowing for entity in entities_of(policy, instance))


def entities_of(policy: Policy, instance: str) -> set[EntityId]:
    """Return the entities that a policy names."""
    named = (each for one in (policy.resources, *policy.additional_resources) for each in named_entities(one))
    return {entity for where, entity in named if where == instance}


def left_on(
    life: Life,
    named: Mapping[EntityId, Sequence[Policy]],
    ledger: DeltaLedger,
    ranger: PolicyRest,
    planning: PlanSettings,
) -> Life:
    """Return a closed life with the rights of others on its entity as its reason."""
    return replace(life, reason=_sentence(_others(life, named, ledger, ranger, planning)[0]))


def shown_rights(ledger: DeltaLedger) -> list[Life]:
    """Return the closed lives on whose entities others have rights, as far as Ranger was read since their end."""
    return [life for life in ledger.lives_with_rights_left() if life.reason != RIGHTS_UNREAD]


def may_revoke(life: Life, planning: PlanSettings) -> bool:
    """Return whether rights of others on the entity of an ended life are revoked, if they are not an administrator's.

    By default they are if its creator could pass theirs on.
    """
    if planning.on_deletion is not None:
        return planning.on_deletion == "revoke-exact"
    return _could_delegate(life, planning)


def revoke_rights(
    ended: Sequence[Life],
    ledger: DeltaLedger,
    ranger: PolicyRest,
    planning: PlanSettings,
    audited: Audited = lambda _life, _policy: nullcontext(),
) -> list[Life]:
    """Revoke the rights of others on the entities of closed lives; those where a list still shows some are closing.

    A person who could pass on rights may do so until their own are revoked, so the list is read again after a change.
    The reason of a life says what was disabled and what stays.

    Raises:
        RangerAdminError: Ranger Admin is unavailable; the lives stay as they are.
    """
    closed, remaining, notes = list[Life](), list(ended), dict[EntityId, list[str]]()
    for _ in range(_ROUNDS):
        listed = all_policies(ranger, planning.service, planning.zones or zones_of(planning, ranger))
        named, again = by_entity(listed, planning.instance), list[Life]()
        for life in remaining:
            found, revocable = _others(life, named, ledger, ranger, planning)
            said = notes.setdefault(life.entity, [])
            revocable = [each for each in revocable if not any(note.startswith(_refusal(each)) for note in said)]
            for policy in revocable:
                if note := _revoke(policy, life, ranger, audited):
                    said.append(note)
            if revocable:
                again.append(life)
            else:
                closed.append(replace(life, reason=joined(life.reason, *said, _sentence(found))))
        remaining = again
        if not remaining:
            return closed
    why = "rights of others on it were changed again and again while they were revoked; the next run goes on"
    return [*closed, *(replace(life, state=State.CLOSING, reason=why) for life in remaining)]


def _others(
    life: Life,
    named: Mapping[EntityId, Sequence[Policy]],
    ledger: DeltaLedger,
    ranger: PolicyRest,
    planning: PlanSettings,
) -> tuple[list[Policy], list[Policy]]:
    """Return the policies by which others have rights on an ended life's entity, and those that are to be revoked.

    A policy changed after the entity was created again belongs to the new one, except where it may be the former
    creator's doing: no one else can pass on rights on it before their grant is revoked. Ranger's list has neither
    authors nor times, so each policy is read if these count.
    """
    if not (policies := named.get(life.entity)):
        return [], []
    later = [each for each in ledger.find_lives(entities=[life.entity]) if each.number > life.number]
    begun = min((each.begun.time for each in later if each.state is not State.UNCONFIRMED), default=None)
    ours = {each.policy_id for each in later}
    if begun is not None or may_revoke(life, planning):
        read = (ranger.policy_by_guid(planning.service, each.guid, each.zone_name) for each in policies)
        policies = by_entity(filter(None, read), planning.instance).get(life.entity, [])
    found, revocable = [], []
    for policy in (each for each in policies if each.id not in ours):
        is_former = begun is None or changed(policy) < begun
        delegated = _could_delegate(life, planning) and not _by_administrator(policy, planning)
        if is_former or delegated:
            found.append(policy)
        wanted = delegated or (planning.on_deletion is not None and is_former)
        if wanted and may_revoke(life, planning) and _is_exact(policy, life.entity, planning.instance):
            revocable.append(policy)
    revocable.sort(key=lambda policy: life.holder not in (policy.created_by, policy.updated_by))
    return found, revocable


def _could_delegate(life: Life, planning: PlanSettings) -> bool:
    return planning.delegate_admin or (life.terms is not None and life.terms.delegate_admin)


def _by_administrator(policy: Policy, planning: PlanSettings) -> bool:
    """Return whether an administrator wrote a policy and saved it last."""
    return {policy.created_by, policy.updated_by} <= planning.administrators


def _is_exact(policy: Policy, entity: EntityId, instance: str) -> bool:
    limited = policy.conditions or policy.validity_schedules or any(item.conditions for item in policy.items())
    return not limited and exact_entity(policy) == (instance, entity)


def _revoke(policy: Policy, life: Life, ranger: PolicyRest, audited: Audited) -> str:
    """Take all allow items out of a policy that was just read; return what is to be reported."""
    rest = without_rights(policy)
    try:
        with audited(life, policy):
            if lost := overwritten(policy, ranger.update_policy(rest)):
                return lost
    except NotFound:
        return ""
    except RequestRejected as e:
        return f"{_refusal(policy)}: {e}"
    return "" if rest.is_enabled else f"policy {policy.id} (`{policy.name}`) has no items left and is disabled"


def without_rights(policy: Policy) -> Policy:
    """Return a policy without its allow items; one that has no items left is disabled.

    Ranger refuses a policy without items that is not audited.
    """
    stays = policy.items() != policy.policy_items or policy.is_deny_all_else
    return replaced(
        policy,
        policy_items=[],
        is_enabled=stays or bool(policy.data_mask_policy_items or policy.row_filter_policy_items),
        is_audit_enabled=policy.is_audit_enabled or not policy.deny_policy_items,
    )


def changed(policy: Policy) -> int:
    """Return when a policy was last saved, in epoch milliseconds; 0 if that is unknown."""
    return policy.update_time if isinstance(policy.update_time, int) else 0


def joined(*reasons: str) -> str:
    """Return several reasons as one."""
    return "; ".join(filter(None, reasons))


def _refusal(policy: Policy) -> str:
    return f"Ranger refuses to change policy {policy.id} (`{policy.name}`)"


def _sentence(policies: Sequence[Policy]) -> str:
    if not policies:
        return ""
    texts = (f"{', '.join(allows(policy))} by policy {policy.id} (`{policy.name}`)" for policy in policies)
    return f"{RIGHTS_LEFT}: {'; '.join(texts)}"
