"""`observe`: what people have done to the policies of lives since the last look, at most once a minute.

Law: a creator keeps the right for as long as the life is open, whatever people do to our policy, unless they took it.
A policy that they moved to another resource is theirs, and the next push writes one again. A restore of Ranger is not
their doing (`went_back`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import FORMER_LABEL, granted_resource
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, deleted_manually, guid_of, may_be_ours, seen
from spark_sync.grants.own_right import covers
from spark_sync.grants.plan import WITHOUT_GRANT, PlanSettings, own_right
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.rights_of_others import by_entity, entities_of, left_on
from spark_sync.grants.went_back import sentence, went_back
from spark_sync.grants.zones import Zones, elsewhere, followed, settled
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import DOUBTED_STATES, GRANTING_STATES, Life, State

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger

EVERY: Final = 60_000
"""Milliseconds between looks: one of 100,000 policies takes Ranger Admin seconds."""
_OBSERVED: Final = (State.APPLIED, State.BLOCKED)
_HELD: Final = (*GRANTING_STATES, *DOUBTED_STATES, State.CLOSING)
"""The states of lives whose policies may be in Ranger."""


class Observation(msgspec.Struct, frozen=True):
    """Times of the last look, and of the last one that found Ranger to have gone back, in epoch milliseconds."""

    looked: int = 0
    noticed: int = 0
    went_back: str = ""

    @classmethod
    def last(cls, ledger: DeltaLedger) -> Observation:
        """Return what the last look noted."""
        return ledger.notes.read("observed", cls) or cls()


class Look(NamedTuple):
    """Lives that a look at Ranger changes, and a sentence if Ranger went back."""

    changed: list[LedgerChange]
    went_back: str


def observe(
    ledger: DeltaLedger,
    ranger: PolicyRest,
    planning: PlanSettings,
    zones: Callable[[], Zones],
    policies: Callable[[], Sequence[Policy]],
    *,
    now: int,
) -> str:
    """Record in the ledger what people did to grants and, if Ranger went back, which are to be healed.

    Return a sentence in that case. `zones` and `policies` read those of Ranger.

    Raises:
        RangerAdminError: Ranger Admin cannot be read; nothing is recorded.
    """
    before = Observation.last(ledger)
    # In this order: a run that follows comes every second, and must not read all lives for nothing.
    if 0 <= now - before.looked < EVERY:
        return ""
    if not any(group.state in (*_OBSERVED, *DOUBTED_STATES, State.CLOSED) for group, _ in ledger.grant_groups()):
        return ""
    changed, went_back = look(ledger, ranger, planning, zones(), policies())
    ledger.record(changed)
    noticed = (now, went_back) if went_back else (before.noticed, before.went_back)
    ledger.notes.write("observed", Observation(now, *noticed))
    return went_back


def look(
    ledger: DeltaLedger, ranger: PolicyRest, planning: PlanSettings, zones: Zones, listed: Sequence[Policy]
) -> Look:
    """Return the lives that people's edits of policies, changed zones, or a restore of Ranger, change.

    A policy of ours that is not listed is looked up.
    """
    instance = planning.instance
    policies = {policy.guid: policy for policy in listed}
    by_guid = grouped((policy.guid, policy) for policy in listed)

    def follow(life: Life) -> tuple[Life, Policy | None]:
        guid = guid_of(life, instance)
        life, there = followed(life, by_guid.get(guid, ()), zones)
        return life, there or (ranger.policy_by_guid(planning.service, guid, life.zone) if _is_seen(life) else None)

    lives = ledger.lives(_HELD)
    found = [follow(life) for life in lives]
    known = {there.guid for _, there in found if there}
    unknown = (each for each in listed if each.guid not in known and may_be_ours(each))
    others = [life for life in _lives_on(unknown, ledger, instance) if life.state not in _HELD]
    healed = went_back([*found, *map(follow, others)], policies, instance)
    left = ledger.lives_with_rights_left()
    if healed is not None:  # rights of others that had been revoked may be back
        left += [each for each in _lives_on(listed, ledger, instance) if each.state is State.CLOSED and each.is_deleted]
    named = by_entity(listed, instance) if left else {}
    changes = [
        *(LedgerChange(life, left_on(life, named, ledger, ranger, planning)) for life in left),
        *(
            LedgerChange(before, _left(life, there, by_guid.get(guid_of(life, instance), ()), planning, zones), there)
            for before, (life, there) in zip(lives, found, strict=True)
        ),
        *(healed or ()),
    ]
    changed = {(each.life.entity, each.life.number): each for each in changes if each.after != each.before}
    return Look(list(changed.values()), "" if healed is None else sentence(healed))


def _left(life: Life, there: Policy | None, mine: Sequence[Policy], planning: PlanSettings, zones: Zones) -> Life:
    """Return a life as people and zones have left it; what it still has in another zone is to be removed."""
    after = settled(life, observed(life, there, planning) if _is_seen(life) else life, zones)
    if elsewhere(life, mine, zones) in (None, there):
        return after
    return replace(after, moves=True, state=State.PENDING if after.state is State.APPLIED else after.state)


def _is_seen(life: Life) -> bool:
    """Return whether edits of the life's policy by people change it."""
    return life.state in _OBSERVED and bool(life.applied or life.taken)


def _lives_on(policies: Iterable[Policy], ledger: DeltaLedger, instance: str) -> list[Life]:
    """Return the lives of the entities that policies name."""
    named: set[EntityId] = set().union(*(entities_of(policy, instance) for policy in policies))
    return ledger.find_lives(entities=named) if named else []


def observed(life: Life, there: Policy | None, planning: PlanSettings) -> Life:
    """Return the life as people have left it, with its newest policy in Ranger, `None` if that is deleted. Pure."""
    moved = there is not None and not covers(there, granted_resource(life.entity, planning.instance))
    if moved and not life.taken:
        return life.become(State.PENDING, reason="", copy=life.copy + 1, **WITHOUT_GRANT)
    if there is None:
        return deleted_manually(life)
    if content_of(there) == life.written:
        if not there.additional_resources:  # an older form: a push brings it up to date
            return life.become(State.PENDING, reason="", taken="")
        taken = ""
    else:
        as_before = moved or (life.taken and FORMER_LABEL in there.policy_labels)
        taken = life.taken if as_before else own_right(life, planning).taken_from(there)
    if taken:
        return life.become(State.BLOCKED, reason=taken, taken=taken, **seen(there))
    return life.become(State.APPLIED if life.applied else State.PENDING, reason="", taken="", **seen(there))
