"""`drift_of`: differences between ledger, inventory and Ranger. Pure; see `repair` for settling them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, entity_type
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_for
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.cdap.named_entities import exact_entity
from ranger_cdap.errors import UnsafeGrant
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, former_guids, guid_of, may_be_ours
from spark_sync.grants.plan import PlanSettings, own_right, sent_contents
from spark_sync.grants.regrant import is_changed, regranted
from spark_sync.grants.rights_of_others import by_entity
from spark_sync.grants.zones import blocked, placed
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import GRANTING_STATES, RELEASED, Life, State

AHEAD: Final = 16
"""Numbers beyond the newest known life to try for a policy of ours: the ledger may be an old copy."""
BEGINNING: Final = Position(0, after_creations=False, source="", id="")


class Drift(StrEnum):
    """The kinds of drift.

    `unrecorded`: our policy that the ledger does not record. `stale`: one of a life that has ended. `entity_deleted`: a
    grant whose entity is not in the inventory. `missing`: our policy was deleted manually. `edited`: a person
    took the creator's right out of it. `outdated`: a grant by former settings. `unknown`: an entity that the ledger
    does not know. `no_such_entity`: rights of others on an entity that does not exist. `wrong_zone`: a grant without
    effect, as its entity is in another security zone.
    """

    UNRECORDED = "unrecorded"
    STALE = "stale"
    ENTITY_DELETED = "entity_deleted"
    MISSING = "missing"
    EDITED = "edited"
    OUTDATED = "outdated"
    UNKNOWN = "unknown"
    NO_SUCH_ENTITY = "no-such-entity"
    WRONG_ZONE = "wrong-zone"


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about one entity.

    `policies`: those in Ranger with the guid of one of its lives, by the life's number. `others`: other policies by
    which someone has rights on it. `listed`: whether the inventory, taken at `taken`, has it; `None` without one.
    `lacking`: whether it would have it, if it existed.
    """

    entity: EntityId
    lives: tuple[Life, ...]
    policies: Mapping[int, Policy]
    others: tuple[Policy, ...]
    listed: bool | None
    lacking: bool
    taken: int

    @property
    def decided(self) -> list[Life]:
        """Return the lives by number, without unconfirmed ones."""
        return sorted(
            (life for life in self.lives if life.state is not State.UNCONFIRMED), key=lambda life: life.number
        )

    @property
    def current(self) -> Life | None:
        """Return the open life, if the ledger has one."""
        return next((life for life in self.decided if life.is_open), None)

    @property
    def is_gone(self) -> bool:
        """Return whether the entity does not exist, by the inventory or by a certain deletion."""
        current = self.current
        if self.lacking:
            return current is None or current.begun.time < self.taken
        decided = self.decided
        return current is None and not self.listed and bool(decided) and decided[-1].is_deleted


@dataclass(frozen=True, slots=True)
class DriftFinding:
    """A difference about life `number` of an entity (0 if the ledger has none), with everything needed to repair it.

    `life`: that life in the ledger. `policy`: its policy in Ranger; `users`: those named by an unrecorded policy.
    `facts`: the entity, with all its lives.
    """

    drift: Drift
    facts: Facts
    number: int = 0
    life: Life | None = None
    policy: Policy | None = None
    users: tuple[str, ...] = ()

    @property
    def entity(self) -> EntityId:
        """Return the entity of the finding."""
        return self.facts.entity


def survey(
    lives: Iterable[Life], policies: Iterable[Policy], inventory: Inventory | None, settings: PlanSettings
) -> list[Facts]:
    """Return the facts from ledger, Ranger and inventory, by entity.

    Args:
        lives: all of the ledger.
        policies: all of Ranger's service.
        inventory: the existing entities; without one, none is found to be deleted or unknown.
    """
    lives, policies = list(lives), list(policies)
    lives_of = grouped((life.entity, life) for life in lives)
    ours: dict[EntityId, dict[int, Policy]] = {}
    by_guid = {guid_of(life, settings.instance): life for life in lives}
    recorded = ((policy, by_guid.get(policy.guid)) for policy in policies)
    for policy, life in (*recorded, *unrecorded(lives, policies, settings.instance)):
        if life and (policy.zone_name == life.zone or life.number not in ours.get(life.entity, ())):
            ours.setdefault(life.entity, {})[life.number] = policy
    listed = frozenset(inventory.entities) if inventory else frozenset[EntityId]()
    others = by_entity(policies, settings.instance)
    lacking = {entity for entity in {*lives_of, *others} if inventory and inventory.lacks(entity)}

    return [
        Facts(
            entity,
            tuple(lives_of.get(entity, ())),
            ours.get(entity, {}),
            others=tuple(each for each in others.get(entity, ()) if each not in ours.get(entity, {}).values()),
            listed=entity in listed if inventory else None,
            lacking=entity in lacking,
            taken=inventory.taken if inventory else 0,
        )
        for entity in sorted({*lives_of, *ours, *listed, *lacking})
    ]


def drift_of(facts: Facts, settings: PlanSettings) -> list[DriftFinding]:
    """Return the differences about one entity, in the order in which they are to be settled.

    A change that the next run makes anyway is none.
    """
    found = [*_of_policies(facts, settings), *_of_lives(facts, settings)]
    current = facts.current
    if current is not None and not found:
        there = facts.policies.get(current.number)
        if is_changed(current, regranted(current, there, settings)):
            found.append(DriftFinding(Drift.OUTDATED, facts, current.number, current, there))
    if current is None and not found and _is_unknown(facts):
        found.append(DriftFinding(Drift.UNKNOWN, facts))
    others = facts.others if facts.is_gone else ()
    return [*found, *(DriftFinding(Drift.NO_SUCH_ENTITY, facts, policy=policy) for policy in others)]


def _of_policies(facts: Facts, settings: PlanSettings) -> Iterator[DriftFinding]:
    """Return the findings about our policies without a life that records them, newest first."""
    rows = {life.number: life for life in facts.decided}
    for number, policy in sorted(facts.policies.items(), reverse=True):
        life = rows.get(number)
        if life is not None and (life.state not in (State.KNOWN, State.CLOSED) or life.reason == RELEASED):
            continue
        over = life is not None and life.state is State.CLOSED
        later = any(n > number for n in facts.policies) or any(
            n > number and other.state is not State.KNOWN for n, other in rows.items()
        )
        kind = Drift.STALE if over or later else Drift.UNRECORDED
        yield DriftFinding(kind, facts, number, life, policy, tuple(_users(policy, facts.entity, settings.instance)))


def _of_lives(facts: Facts, settings: PlanSettings) -> Iterator[DriftFinding]:
    """Return the findings about lives with a present or former grant that Ranger or the inventory contradicts."""
    for life in facts.decided:
        policy = facts.policies.get(life.number)
        if life.state not in GRANTING_STATES:
            continue
        if facts.listed is False and life.begun.time < facts.taken:
            yield DriftFinding(Drift.ENTITY_DELETED, facts, life.number, life, policy)
        elif _is_missing(life, facts, settings):
            yield DriftFinding(Drift.MISSING, facts, life.number, life)
        elif policy is not None and _is_edited(life, policy, settings):
            yield DriftFinding(Drift.EDITED, facts, life.number, life, policy)
        elif policy is not None and settings.zones and blocked(placed(life, settings.zones), settings.zones):
            yield DriftFinding(Drift.WRONG_ZONE, facts, life.number, life, policy)


def _is_missing(life: Life, facts: Facts, settings: PlanSettings) -> bool:
    went = settings.zones and life.zone not in ("", *settings.zones.names)
    if went or (life.state is State.PENDING and not life.accesses):
        return False  # it went with its zone, or a killed run deleted it; the next one records that
    return life.policy_id >= 0 and life.number not in facts.policies


def _is_edited(life: Life, policy: Policy, settings: PlanSettings) -> bool:
    if life.state in (State.PENDING, State.FAILED) and life.policy_id < 0:
        return False  # the next run compares it itself
    if content_of(policy) in {life.written, *sent_contents(life, settings)}:
        return False
    return bool(own_right(life, settings).taken_from(policy))


def _is_unknown(facts: Facts) -> bool:
    ended_since = any(life.ended is not None and life.ended.time >= facts.taken for life in facts.decided)
    table = load_creations()
    reported = entity_type(facts.entity.type) in table.entities and not table.skips(facts.entity)
    return facts.listed is True and not ended_since and reported


def _users(policy: Policy, entity: EntityId, instance: str) -> Iterator[str]:
    """Return the users that a policy allows by name and who can be grantees, so that their grant can be revoked."""
    for user in sorted({user for item in policy.policy_items for user in item.users}):
        with suppress(UnsafeGrant):
            yield grant_for(entity, user, instance, ACCESS_TYPES, non_creators=()).user


def unrecorded(
    lives: Iterable[Life], policies: Iterable[Policy], instance: str
) -> Iterator[tuple[Policy, Life | None]]:
    """Yield the policies that may be ours but belong to none of the lives, with the life that their guid names.

    That is one of the entity they are on, or none.
    """
    lives = list(lives)
    lives_of = grouped((life.entity, life) for life in lives)
    guids = {guid for life in lives for guid in (guid_of(life, instance), *former_guids(life, instance))}
    unnamed = (policy for policy in filter(may_be_ours, policies) if policy.guid not in guids)
    return ((policy, _unrecorded(policy, lives_of, instance)) for policy in unnamed)


def _unrecorded(policy: Policy, lives_of: Mapping[EntityId, Collection[Life]], instance: str) -> Life | None:
    """Return the life to which the guid of a policy belongs, if the policy is on exactly its entity."""
    if may_be_ours(policy) and (entity := named_entity(policy, instance)):
        newest = max((life.number for life in lives_of.get(entity, ())), default=0)
        for number in range(1, newest + AHEAD + 1):
            life = Life(entity, number, None, BEGINNING, State.KNOWN)
            if guid_of(life, instance) == policy.guid:
                return life
    return None


def named_entity(policy: Policy, instance: str) -> EntityId | None:
    """Return the entity that a policy is on, if it is exactly one."""
    found = exact_entity(replaced(policy, additional_resources=[]))
    return found[1] if found and found[0] == instance else None
