"""People who edit, share, move and remove policies while the job runs, with lives and Ranger in memory.

Every save is recorded with its author, so that the laws can say who removed what.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_guid, granted_resource
from ranger_cdap.config import CdapSettings, RangerSettings, Secret, Settings, SyncSettings
from ranger_cdap.errors import NotFound, RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyItemCondition, PolicyResource
from spark_sync.grants.grant_policy import content_of, former_guids, guid_of
from spark_sync.grants.observe import changes
from spark_sync.grants.own_right import covers, touches
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.push import push
from spark_sync.grants.refusals import NAME_TAKEN, RESOURCE_TAKEN
from spark_sync.grants.resultant import unchanged_accesses
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.ledger.event import Position
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.ledger.life_changes import ended, restored, suspended
from spark_sync.ledger.request import EntityRequest
from spark_sync.reconcile.overrides import retry
from spark_sync.reconcile.regrant import record, regrants
from tests.simulation.pipeline import Killed, Killer, MemoryLedger

ENTITIES = (
    EntityId("namespace", ("sales",)),
    EntityId("dataset", ("sales", "kv")),
    EntityId("application", ("sales", "shop")),
)
ELSEWHERE = EntityId("dataset", ("other", "place"))
CREATORS, NEIGHBOURS = ("nina", "zoe"), ("bob", "eve")
JOB = "sync"
Items = frozenset[tuple[Any, ...]]
COPIES = range(20)


def guids_of(life: Life) -> frozenset[str]:
    """The guids of the policies that the job may make for a life."""
    return _guids(life.entity, life.number)


@cache
def _guids(entity: EntityId, number: int) -> frozenset[str]:
    return frozenset(grant_guid("cdap", entity, number, copy) for copy in COPIES)


@cache
def _configured(delegate: bool) -> tuple[Settings, PlanSettings]:
    sync = SyncSettings(username="sync", password=Secret("x"), delegate_admin=delegate)
    ranger = RangerSettings(url="http://127.0.0.1:1", service="cdap")
    settings = Settings(ranger=ranger, cdap=CdapSettings(instance="cdap"), sync=sync)
    gives = dict.fromkeys(("namespace", "dataset", "application"), ACCESS_TYPES)
    return settings, replace(plan_settings(settings, unchanged_accesses), gives=gives, profile="p")


def items_in(policy: Policy) -> Items:
    """Everything that the items of a policy give or deny, one name and access type at a time."""
    return frozenset(
        (kind, sort, name, access.type, access.is_allowed, item.delegate_admin, str(item.conditions))
        for kind, items in policy.item_lists().items()
        for item in items
        for sort in ("users", "groups", "roles")
        for name in getattr(item, sort)
        for access in item.accesses
    )


@dataclass
class SharedRanger:
    """Policies by id, as Ranger keeps them: one enabled policy for each list of resources, and names once."""

    killer: Killer
    policies: dict[int, Policy] = field(default_factory=dict)
    author: str = JOB
    last: int = 0
    job_made: dict[str, str] = field(default_factory=dict)
    made_on: dict[str, dict[str, str]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    breaches: list[str] = field(default_factory=list)

    def create_policy(self, policy: Policy) -> Policy:
        self.killer.step()
        self._refuse(policy)
        self.last += 1
        guid = policy.guid or f"guid {self.last}"
        made = self.policies[self.last] = replaced(policy, id=self.last, guid=guid, version=1, updated_by=self.author)
        if self.author == JOB:
            self.job_made[guid] = policy.policy_items[0].users[0]
            self.made_on[guid] = {level: one.values[0] for level, one in policy.resources.items()}
            if guid in self.refused:
                self.breaches.append(f"law 7: the job wrote {policy.name} again, which a person had taken")
            self.written.add(content_of(made))
        self.killer.step()
        return made

    def update_policy(self, policy: Policy) -> Policy:
        self.killer.step()
        assert policy.id is not None
        before = self.policies[policy.id]
        self._refuse(policy)
        after = self.policies[policy.id] = replaced(policy, version=(before.version or 0) + 1, updated_by=self.author)
        if self.author == JOB:
            self._job_changed(before, after)
        self.killer.step()
        return after

    def delete_policy(self, policy_id: int) -> None:
        self.killer.step()
        if policy_id not in self.policies:
            raise NotFound("no such policy")
        gone = self.policies.pop(policy_id)
        if self.author == JOB and content_of(gone) not in self.written:
            others = {each for each in items_in(gone) if each[2] != self.job_made.get(gone.guid)}
            if others or gone.name.startswith("renamed") or gone.description == "ours now":
                self.breaches.append(f"law 9: the job deleted {gone.name}, which people had edited")
        self.killer.step()

    def policy_by_guid(self, service: str, guid: str) -> Policy | None:
        return next((policy for policy in self.policies.values() if policy.guid == guid), None)

    def list_policies(self, service: str) -> list[Policy]:
        return list(self.policies.values())

    def _refuse(self, policy: Policy) -> None:
        for known in self.policies.values():
            if known.id == policy.id:
                continue
            if known.name == policy.name:
                raise RequestRejected("name", status=400, reason_codes=(NAME_TAKEN,))
            if policy.guid and known.guid == policy.guid:
                raise RequestRejected("Duplicate entry", status=400)
            if known.is_enabled and policy.is_enabled and _listed(known) == _listed(policy):
                raise RequestRejected("resource", status=400, reason_codes=(RESOURCE_TAKEN,))

    def _job_changed(self, before: Policy, after: Policy) -> None:
        """Law 9: of a policy that people have edited the job changes only what is its creator's."""
        if before.guid not in self.job_made:
            self.breaches.append(f"law 9: the job wrote into {before.name}, which is a person's")
        if content_of(before) in self.written:
            self.written.add(content_of(after))
            return
        user = self.job_made.get(before.guid)
        if before.guid in self.taken and _gives(after, user or ""):
            self.breaches.append(f"law 7: the job gave {user} in {before.name} what a person had taken")
        changed = {each for each in items_in(before) ^ items_in(after) if each[2] != user}
        kept = [
            replaced(each, policy_items=[], policy_labels=[], version=None, updated_by=None) for each in (before, after)
        ]
        if not after.is_enabled and not after.items():
            kept = [replaced(each, is_enabled=False) for each in kept]
        if changed or kept[0] != kept[1]:
            self.breaches.append(f"law 9: the job changed {before.name}: {sorted(changed)}")


def _listed(policy: Policy) -> list[str]:
    return sorted(str(sorted(one.items())) for one in (policy.resources, *policy.additional_resources))


def resources(entity: EntityId) -> dict[str, PolicyResource]:
    return {level: PolicyResource(values=[value]) for level, value in granted_resource(entity, "cdap").items()}


def item(user: str, *accesses: str, **fields: Any) -> PolicyItem:
    return PolicyItem(users=[user], accesses=[PolicyItemAccess(type=access) for access in accesses], **fields)


class World:
    """One seed: lives begin and end, people make their moves, the job runs and is killed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"people {seed}")
        self.killer = Killer()
        self.ranger = SharedRanger(self.killer)
        self.ledger = MemoryLedger(self.killer)
        self.delegate = False
        self.happened: Counter[str] = Counter()
        self.time = 0

    def play(self) -> World:
        for _ in range(self.rng.randint(6, 24)):
            self.time += 10
            move = self.rng.choice(MOVES)
            if move(self):
                self.happened[move.__name__.strip("_")] += 1
        for _ in range(3):
            self.job()
        return self

    # The job

    def job(self, kill: int | None = None) -> None:
        settings, planning = _configured(self.delegate)
        self.killer.at, self.killer.steps = kill, 0
        admin: Any = self.ranger
        ledger: Any = self.ledger
        taken = [life for life in self.ledger.rows.values() if self.is_taken(life)]
        self.ranger.refused = {guid for life in taken for guid in guids_of(life)}
        try:
            seen = list(changes(self.ledger.lives((State.APPLIED, State.BLOCKED)), admin, planning))
            ledger.record([LedgerChange(life.entity, (life,)) for life in seen])
            record(ledger, regrants(ledger, settings, planning, ranger=admin))
            pushed = push(ledger, settings, admin, planning=planning, executor=StepExecutor(1, 0.0))
            assert pushed.error is None, pushed.error
        except Killed:
            self.happened["kill"] += 1
        finally:
            self.killer.at = None

    # What the laws ask

    def open_lives(self) -> Iterator[Life]:
        return (life for life in self.ledger.rows.values() if life.is_open)

    def policies_of(self, life: Life) -> list[Policy]:
        """The policies that the job made for a life, as they are now."""
        return [policy for policy in self.ranger.policies.values() if policy.guid in guids_of(life)]

    def is_taken(self, life: Life) -> bool:
        return not self.ranger.taken.isdisjoint(guids_of(life))

    # Saves of people

    def save(self, policy: Policy, **edit: Any) -> bool:
        """Save a policy as a person; record whether that takes the right of its creator, or gives it back."""
        after, before = replaced(policy, **edit), policy
        if after == before:
            return False
        self.ranger.author = self.rng.choice((*NEIGHBOURS, "admin"))
        try:
            self.ranger.update_policy(after)
        except RequestRejected:
            return False
        finally:
            self.ranger.author = JOB
        self._note(before, after)
        return True

    def _note(self, before: Policy, after: Policy | None) -> None:
        if (user := self.ranger.job_made.get(before.guid)) is None:
            return
        on, taken = self.ranger.made_on[before.guid], self.ranger.taken
        life = next(life for life in self.ledger.rows.values() if before.guid in guids_of(life))
        if before.guid in former_guids(life, "cdap"):
            return  # it is a person's
        if after is None and life.state is State.SUSPENDED:
            taken.difference_update({before.guid} if not life.taken else ())  # the next run would have deleted it
        elif after is None and before.guid == guid_of(life, "cdap") and life.policy_id == before.id:
            taken.add(before.guid)  # where it was between two looks is not known
        elif after is None and not life.taken:
            taken.discard(before.guid)  # that there was one is not known, if the run was killed that wrote it
        elif not covers(before, on) or after is None:
            return  # it is a person's
        elif not covers(after, on):  # it becomes one, as the next look finds; what it found before stays
            (taken.add if life.taken else taken.discard)(before.guid)
        elif _gives(after, user):
            taken.discard(before.guid)
        elif _gives(before, user):
            taken.add(before.guid)

    def some_policy(self, *, job: bool = True) -> Policy | None:
        found = [policy for policy in self.ranger.policies.values() if (policy.guid in self.ranger.job_made) is job]
        return self.rng.choice(found) if found else None


def _gives(policy: Policy, user: str) -> bool:
    given = {a.type for i in policy.policy_items if user in i.users and not i.conditions for a in i.accesses}
    denied = any(user in each.users for each in policy.deny_policy_items)
    return policy.is_enabled and not policy.conditions and not denied and given >= set(ACCESS_TYPES)


# Moves: each returns whether it could be made


def _create(world: World) -> bool:
    entity = world.rng.choice(ENTITIES)
    lives = world.ledger.lives_of(entity)
    if any(life.is_open for life in lives):
        return False
    creator = world.rng.choice(CREATORS)
    life = Life(
        *(entity, len(lives) + 1, creator, Position(world.time, False, "s", "1"), State.PENDING),
        accesses=ACCESS_TYPES,
    )
    world.ledger.rows[entity, life.number] = life
    return True


def _delete(world: World) -> bool:
    if not (found := list(world.open_lives())):
        return False
    life = world.rng.choice(found)
    world.ledger.rows[life.entity, life.number] = ended(life, Position(world.time, True, "s", "2"), recorded=True)
    return True


def _run(world: World) -> bool:
    world.job()
    return True


def _killed_run(world: World) -> bool:
    world.job(kill=world.rng.randint(0, 12))
    return True


def _doubt(world: World) -> bool:
    found = [life for life in world.open_lives() if life.state in (State.APPLIED, State.PENDING, State.BLOCKED)]
    if not found:
        return False
    life, doubt = world.rng.choice(found), object.__new__(EntityRequest)
    object.__setattr__(doubt, "users", frozenset({"eve"}))
    world.ledger.rows[life.entity, life.number] = suspended(life, doubt)
    return True


def _doubt_ends(world: World) -> bool:
    found = [life for life in world.open_lives() if life.state is State.SUSPENDED]
    if not found:
        return False
    life = world.rng.choice(found)
    if not life.taken:  # the job may have deleted the policy as well as a person
        world.ranger.taken -= guids_of(life) - {policy.guid for policy in world.policies_of(life)}
    world.ledger.rows[life.entity, life.number] = restored(life)
    return True


def _retry(world: World) -> bool:
    found = [life for life in world.open_lives() if life.taken and life.state is State.BLOCKED]
    if not found:
        return False
    life = world.rng.choice(found)
    after = retry(life)
    assert after is not None
    world.ledger.rows[life.entity, life.number] = after
    world.ranger.taken -= guids_of(life)
    return True


def _delegation(world: World) -> bool:
    world.delegate = not world.delegate
    return True


def _edit(edit: Callable[[World, Policy], dict[str, Any] | None]) -> Callable[[World], bool]:
    def move(world: World) -> bool:
        policy = world.some_policy()
        changed = edit(world, policy) if policy is not None else None
        return policy is not None and changed is not None and world.save(policy, **changed)

    move.__name__ = edit.__name__
    return move


@_edit
def _widen(world: World, policy: Policy) -> dict[str, Any] | None:
    if not policy.policy_items:
        return None
    first, *rest = policy.policy_items
    return {"policy_items": [replaced(first, users=[*first.users, "bob"]), *rest]}


@_edit
def _add_item(world: World, policy: Policy) -> dict[str, Any] | None:
    roles = {"roles": ["r"]} if world.rng.random() < 0.3 else {}
    return {"policy_items": [*policy.policy_items, item("bob", "read", **roles)]}


@_edit
def _split(world: World, policy: Policy) -> dict[str, Any] | None:
    split = [replaced(each, accesses=[a]) for each in policy.policy_items for a in each.accesses]
    return {"policy_items": split}


@_edit
def _remove_name(world: World, policy: Policy) -> dict[str, Any] | None:
    user = world.ranger.job_made[policy.guid]
    rest = [replaced(each, users=[name for name in each.users if name != user]) for each in policy.policy_items]
    return {"policy_items": [each for each in rest if each.users or each.groups or each.roles]}


@_edit
def _remove_access(world: World, policy: Policy) -> dict[str, Any] | None:
    rest = [replaced(each, accesses=each.accesses[1:]) for each in policy.policy_items]
    return {"policy_items": [each for each in rest if each.accesses]}


@_edit
def _condition(world: World, policy: Policy) -> dict[str, Any] | None:
    condition = [PolicyItemCondition(type="_expression", values=["false"])]
    if world.rng.random() < 0.5:
        return {"conditions": [] if policy.conditions else condition}
    return {"policy_items": [replaced(each, conditions=condition) for each in policy.policy_items]}


@_edit
def _deny(world: World, policy: Policy) -> dict[str, Any] | None:
    user = world.ranger.job_made[policy.guid]
    return {"deny_policy_items": [] if policy.deny_policy_items else [item(user, "read")]}


@_edit
def _switch(world: World, policy: Policy) -> dict[str, Any] | None:
    return {"is_enabled": not policy.is_enabled}


@_edit
def _rename(world: World, policy: Policy) -> dict[str, Any] | None:
    return {"name": f"renamed {policy.id}", "description": "ours now"}


@_edit
def _move(world: World, policy: Policy) -> dict[str, Any] | None:
    return {"resources": resources(ELSEWHERE), "additional_resources": [resources(ELSEWHERE)] * policy.id}


@_edit
def _widen_resource(world: World, policy: Policy) -> dict[str, Any] | None:
    more = [*policy.additional_resources, resources(ELSEWHERE)]
    return {"additional_resources": more}


def _remove_policy(world: World) -> bool:
    policy = world.some_policy()
    if policy is None or policy.id is None:
        return False
    world.ranger.author = "admin"
    world.ranger.delete_policy(policy.id)
    world.ranger.author = JOB
    world._note(policy, None)
    return True


def _beforehand(world: World) -> bool:
    """A policy on exactly an entity, once or twice, perhaps with a right of its creator or with our name."""
    entity = world.rng.choice(ENTITIES)
    times = world.rng.choice((1, 1, 2, 2, 3))
    names = [f"theirs {world.time}", *(policy.name for policy in world.ranger.policies.values())]
    policy = Policy(
        name=world.rng.choice(names),
        service="cdap",
        resources=resources(entity),
        additional_resources=[resources(entity)] * (times - 1),
        policy_items=[item(world.rng.choice((*CREATORS, *NEIGHBOURS)), "read", "write")],
    )
    world.ranger.author = "admin"
    try:
        world.ranger.create_policy(policy)
    except RequestRejected:
        return False
    finally:
        world.ranger.author = JOB
    return True


MOVES: tuple[Callable[[World], bool], ...] = (
    *(_create, _create, _create, _delete, _delete, _run, _run, _run, _run, _run, _killed_run, _killed_run),
    *(
        _doubt,
        _doubt,
        _doubt_ends,
        _doubt_ends,
        _doubt_ends,
        _retry,
        _retry,
        _retry,
        _delegation,
        _widen,
        _add_item,
        _split,
        _remove_name,
        _remove_access,
        _condition,
    ),
    *(_deny, _switch, _switch, _rename, _move, _widen_resource, _remove_policy, _beforehand, _beforehand),
)


def breaches(world: World) -> Iterator[str]:
    """Every breach of the laws of policies that people share, as a sentence."""
    yield from world.ranger.breaches
    for life in world.ledger.rows.values():
        on = granted_resource(life.entity, "cdap")
        if not life.is_open:
            for policy in world.policies_of(life):
                held = [each for each in items_in(policy) if each[0] == "policyItems" and each[2] == life.creator]
                if touches(policy, on) and held:
                    yield f"law 6: {life.creator} keeps {held} in {policy.name} after the end of {life.entity}"
        elif not world.is_taken(life) and life.state is not State.SUSPENDED:
            given = [policy for policy in world.policies_of(life) if covers(policy, on)]
            if not any(_gives(policy, life.creator or "") for policy in given):
                yield f"law 7: {life.creator} lacks {life.entity}: {life.state}, {life.reason}"
            newest = next((policy for policy in given if policy.guid == guid_of(life, "cdap")), None)
            delegates = newest and any(i.delegate_admin for i in newest.policy_items if life.creator in i.users)
            if newest and delegates is not world.delegate:
                yield f"law 7: {life.creator} may pass {life.entity} on is {delegates}, not as set"
