"""`find_drift`: where ledger, inventory and Ranger do not agree. Pure; what may be done about it is in `repair`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final
from uuid import UUID

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, entity_type, entity_types
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_for, held
from ranger_cdap.engine.model.wire import Policy
from ranger_cdap.errors import UnsafeGrant
from spark_sync.grants.grant_policy import content_of, guid_of
from spark_sync.grants.plan import PlanSettings, RevokePolicy, plan
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.baseline import Inventory

RELEASED: Final = "released: what stands in Ranger is left to people"
"""The reason of a life whose policy is no longer ours to care for; reconciling is silent about it."""
AHEAD: Final = 16
"""So many lives more than the ledger knows of, a policy of ours may belong to: the ledger may be an old copy."""
BEGINNING: Final = Position(0, after_creations=False, source="", id="")

_GRANTING = (State.PENDING, State.APPLIED, State.BLOCKED, State.FAILED)
_OURS_BY_GUID = 5  # the version of our guids; Ranger makes its own as version 4


class Drift(StrEnum):
    """The kinds of drift.

    `unrecorded`: a policy of ours that the ledger does not know. `leftover`: one of a life that the ledger says is
    over. `gone`: a grant whose entity is not in the inventory. `missing`: our policy was deleted manually. `edited`: it
    has another content than we wrote. `unknown`: an entity that the ledger does not know. `ownerless`: one without a
    creator.
    """

    UNRECORDED = "unrecorded"
    LEFTOVER = "leftover"
    GONE = "gone"
    MISSING = "missing"
    EDITED = "edited"
    UNKNOWN = "unknown"
    OWNERLESS = "ownerless"


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything about one entity.

    `policies`: those in Ranger that have the guid of one of its lives, by the life's number. `foreign`: those by id
    that hold something we added. `listed`: whether the inventory, taken at `taken`, has it; `None` without one.
    """

    entity: EntityId
    lives: tuple[Life, ...] = ()
    policies: Mapping[int, Policy] = field(default_factory=dict)
    foreign: Mapping[int, Policy] = field(default_factory=dict)
    listed: bool | None = None
    taken: int = 0

    @property
    def decided(self) -> list[Life]:
        """The lives by number, without one that is unconfirmed."""
        found = (life for life in self.lives if life.state is not State.UNCONFIRMED)
        return sorted(found, key=lambda life: life.number)

    @property
    def current(self) -> Life | None:
        """The life of the entity as it exists, as far as the ledger knows."""
        return next((life for life in self.decided if life.is_open), None)


@dataclass(frozen=True, slots=True)
class Finding:
    """A disagreement about life `number` of an entity (0 where the ledger has none), with what it takes to repair it.

    `life`: that life in the ledger. `policy`: its policy in Ranger, where it stands; `users`: whom that one names, if
    it is not recorded. `facts`: the entity, with all its lives.
    """

    drift: Drift
    facts: Facts
    number: int = 0
    life: Life | None = None
    policy: Policy | None = None
    users: tuple[str, ...] = ()

    @property
    def entity(self) -> EntityId:
        """The subject of the finding."""
        return self.facts.entity


def find_drift(
    lives: Iterable[Life],
    policies: Iterable[Policy],
    inventory: Inventory | None,
    settings: PlanSettings,
    *,
    ownerless: bool = False,
) -> list[Finding]:
    """All disagreements, by entity; what is only not sent yet, or waits for what a run will do anyway, is none.

    Args:
        lives: all of the ledger.
        policies: all of Ranger's service.
        inventory: what exists; without one nothing is said about what is gone or unknown.
        ownerless: also tell of entities without a creator, which is no mistake.
    """
    known = survey(lives, policies, inventory, settings)
    return [finding for facts in known for finding in drift_of(facts, settings, ownerless=ownerless)]


def survey(
    lives: Iterable[Life], policies: Iterable[Policy], inventory: Inventory | None, settings: PlanSettings
) -> list[Facts]:
    """The state in ledger, Ranger and inventory, by entity."""
    lives_of: dict[EntityId, list[Life]] = {}
    by_guid: dict[str, Life] = {}
    for life in lives:
        lives_of.setdefault(life.entity, []).append(life)
        by_guid[guid_of(life, settings.instance)] = life
    ours: dict[EntityId, dict[int, Policy]] = {}
    by_id: dict[int, Policy] = {}
    for policy in policies:
        if policy.id is not None:
            by_id[policy.id] = policy
        if holds := by_guid.get(policy.guid or "") or _unrecorded(policy, lives_of, settings.instance):
            ours.setdefault(holds.entity, {})[holds.number] = policy
    listed = frozenset(inventory.entities) if inventory else frozenset[EntityId]()

    def facts(entity: EntityId) -> Facts:
        mine = lives_of.get(entity, [])
        added_to = {life.policy_id for life in mine if life.merged} & by_id.keys()
        return Facts(
            entity,
            tuple(mine),
            ours.get(entity, {}),
            foreign={number: by_id[number] for number in added_to},
            listed=entity in listed if inventory else None,
            taken=inventory.taken if inventory else 0,
        )

    return [facts(entity) for entity in sorted({*lives_of, *ours, *listed})]


def drift_of(facts: Facts, settings: PlanSettings, *, ownerless: bool = False) -> list[Finding]:
    """The disagreements about one entity, the one to be decided first before others."""
    found = [*_of_policies(facts, settings), *_of_lives(facts, settings)]
    current = facts.current
    if current is None and not found and _is_unknown(facts):
        found.append(Finding(Drift.UNKNOWN, facts))
    if ownerless and current is not None and not found and current.state is State.KNOWN and current.creator is None:
        found.append(Finding(Drift.OWNERLESS, facts, current.number, current))
    return found


def _of_policies(facts: Facts, settings: PlanSettings) -> Iterator[Finding]:
    """Policies of ours that no life holds, the newest first."""
    rows = {life.number: life for life in facts.decided}
    for number, policy in sorted(facts.policies.items(), reverse=True):
        life = rows.get(number)
        if life is not None and (life.state not in (State.KNOWN, State.CLOSED) or life.reason == RELEASED):
            continue
        over = life is not None and life.state is State.CLOSED
        later = any(n > number for n in facts.policies) or any(
            n > number and other.state is not State.KNOWN for n, other in rows.items()
        )
        kind = Drift.LEFTOVER if over or later else Drift.UNRECORDED
        yield Finding(kind, facts, number, life, policy, tuple(_users(policy, facts.entity, settings.instance)))


def _of_lives(facts: Facts, settings: PlanSettings) -> Iterator[Finding]:
    """Lives that grant something, or did, and about which Ranger or the inventory say something else."""
    for life in facts.decided:
        policy = facts.policies.get(life.number)
        if life.state not in (*_GRANTING, State.CLOSING):
            continue
        if life.is_open and facts.listed is False and life.begun.time < facts.taken:
            yield Finding(Drift.GONE, facts, life.number, life, policy)
        elif life.is_open and _is_missing(life, facts):
            yield Finding(Drift.MISSING, facts, life.number, life)
        elif policy is not None and _is_edited(life, policy, settings):
            yield Finding(Drift.EDITED, facts, life.number, life, policy)


def _is_missing(life: Life, facts: Facts) -> bool:
    if life.merged:
        theirs = facts.foreign.get(life.policy_id)
        left = held(theirs, life.creator or "") & frozenset(life.merged) if theirs else ()
        return life.state in (State.APPLIED, State.BLOCKED) and not left
    return life.policy_id >= 0 and life.number not in facts.policies


def _is_edited(life: Life, policy: Policy, settings: PlanSettings) -> bool:
    if life.merged or (life.state in (State.PENDING, State.FAILED) and life.policy_id < 0):
        return False  # the next run looks at what it finds there
    if life.is_open and life.written:
        return content_of(policy) != life.written
    over = replace(life, state=State.CLOSING, ended=life.ended or life.begun)
    (step,) = plan([over], settings)
    return not isinstance(step, RevokePolicy) or content_of(policy) not in step.contents


def _is_unknown(facts: Facts) -> bool:
    ended_since = any(life.ended is not None and life.ended.time >= facts.taken for life in facts.decided)
    return facts.listed is True and not ended_since and _has_creator(facts.entity)


def _has_creator(entity: EntityId) -> bool:
    """Whether events tell of such entities at all."""
    table = load_creations()
    skipped = any(re.search(pattern, str(entity)) for pattern in table.skipped)
    return entity_type(entity.type) in table.entities and not skipped


def _users(policy: Policy, entity: EntityId, instance: str) -> Iterator[str]:
    """Whom a policy allows something by name; only those who can be granted something, so that it can be taken back."""
    for user in sorted({user for item in policy.policyItems for user in item.users}):
        with suppress(UnsafeGrant):
            yield grant_for(entity, user, instance, ACCESS_TYPES, non_creators=()).user


def _unrecorded(policy: Policy, lives_of: Mapping[EntityId, Collection[Life]], instance: str) -> Life | None:
    """The life that the guid of a policy stands for, if the policy names its entity and nothing else."""
    with suppress(ValueError):
        if UUID(policy.guid or "").version == _OURS_BY_GUID and (entity := _named(policy, instance)):
            newest = max((life.number for life in lives_of.get(entity, ())), default=0)
            for number in range(1, newest + AHEAD + 1):
                life = Life(entity, number, None, BEGINNING, State.KNOWN)
                if guid_of(life, instance) == policy.guid:
                    return life
    return None


def _named(policy: Policy, instance: str) -> EntityId | None:
    values = {level: resource.values for level, resource in policy.resources.items()}
    if any(len(several) != 1 for several in values.values()) or values.get("instance") != [instance]:
        return None
    levels = frozenset(values)
    if values.get("program") == ["*"]:  # what stands for an application and its programs
        levels -= {"program"}
    for kind in entity_types().values():
        if frozenset(kind.path) == levels:
            return EntityId(kind.name, tuple(values[level][0] for level in kind.path[1:]))
    return None
