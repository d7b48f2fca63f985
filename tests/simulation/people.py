"""People who edit, share, move and remove policies while the job runs, with lives and Ranger in memory.

Every save is recorded with its author, so that the laws can say who removed what.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, cast

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES, CREATORS_LABEL, FORMER_LABEL, grant_guid, granted_resource
from ranger_cdap.config import CdapSettings, RangerSettings, Secret, Settings, SyncSettings
from ranger_cdap.config.sync import OnDeletion
from ranger_cdap.errors import ConflictingChange, NotFound, RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyItemCondition, PolicyResource
from spark_sync.grants.grant_policy import content_of, former_guids, guid_of
from spark_sync.grants.observe import look
from spark_sync.grants.own_right import covers, touches
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.refusals import NAME_TAKEN, RESOURCE_TAKEN
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.zones import all_policies, moves_into, zones_of
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State
from spark_sync.ledger.life_changes import ended, restored, suspended
from spark_sync.ledger.request import EntityRequest
from spark_sync.reconcile.overrides import retry
from spark_sync.reconcile.regrant import regrants
from tests.simulation.people_tools import TOOL, TOOLS, Documents, Tool, grant_rest
from tests.simulation.pipeline import Killed, Killer, MemoryLedger
from tests.spark_sync.grants.fixtures import pushed_by
from tests.spark_sync.planning import unchanged_accesses

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
Row = dict[str, list[str]]
NO_SUCH_ZONE = 3033
ALL_SALES, THE_DATASET, THE_SHOP, ALL_OTHER = (
    {"instance": ["cdap"], "namespace": [namespace], **levels}
    for namespace, levels in (
        ("s*", {}),
        ("sales", {"dataset": ["kv"]}),
        ("sales", {"application": ["shop"]}),
        ("other", {}),
    )
)
ZONES: tuple[tuple[Row, ...], ...] = ((ALL_SALES,), (THE_DATASET,), (THE_SHOP,), (THE_DATASET, ALL_OTHER), (ALL_OTHER,))
"""The resources that zones have."""


def guids_of(life: Life) -> frozenset[str]:
    """The guids of the policies that the job may make for a life."""
    return _guids(life.entity, life.number)


@cache
def _guids(entity: EntityId, number: int) -> frozenset[str]:
    return frozenset(grant_guid("cdap", entity, number, copy) for copy in COPIES)


@cache
def _configured(delegate: bool, on_deletion: OnDeletion | None) -> PlanSettings:
    sync = SyncSettings(username="sync", password=Secret("x"), delegate_admin=delegate, on_deletion=on_deletion)
    ranger = RangerSettings(url="http://127.0.0.1:1", service="cdap")
    settings = Settings(ranger=ranger, cdap=CdapSettings(instance="cdap"), sync=sync)
    gives = dict.fromkeys(("namespace", "dataset", "application"), ACCESS_TYPES)
    return replace(plan_settings(settings), resultant=unchanged_accesses, gives=gives, profile="p")


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
    now: int = 0
    last: int = 0
    may_end: Callable[[Policy], str] = lambda _: "no deletion"
    audited: set[str] = field(default_factory=set)
    job_made: dict[str, str] = field(default_factory=dict)
    made_on: dict[str, dict[str, str]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    breaches: list[str] = field(default_factory=list)
    zones: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    follow: bool = False
    asked: set[str] = field(default_factory=set)

    def create_policy(self, policy: Policy) -> Policy:
        self.killer.step()
        self._refuse(policy)
        self.last += 1
        guid = policy.guid or f"guid {self.last}"
        stamps = {"created_by": self.author, "updated_by": self.author, "update_time": self.now}
        made = self.policies[self.last] = replaced(policy, id=self.last, guid=guid, version=1, **stamps)
        if self.author == JOB:
            self.job_made[guid] = policy.policy_items[0].users[0]
            self.made_on[guid] = {level: one.values[0] for level, one in policy.resources.items()}
            others = [each for each in self.policies.values() if each.guid == guid and covers(each, self.made_on[guid])]
            moved = any(each is not made and FORMER_LABEL not in each.policy_labels for each in others)
            if moved and policy.zone_name and not self.follow and guid not in self.asked:
                self.breaches.append(f"law 6: the job moved {policy.name} into {policy.zone_name} unasked")
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
        stamps = {"created_by": before.created_by, "updated_by": self.author, "update_time": self.now}
        after = self.policies[policy.id] = replaced(policy, version=(before.version or 0) + 1, **stamps)
        if self.author == JOB and before.policy_items and not after.policy_items and before.guid in self.audited:
            self._job_ended(before, after)
        elif self.author == JOB:
            self._job_changed(before, after)
        self._keeps_off(before)
        self.killer.step()
        return after

    def delete_policy(self, policy_id: int) -> None:
        self.killer.step()
        if policy_id not in self.policies:
            raise NotFound("no such policy")
        gone = self.policies.pop(policy_id)
        self._keeps_off(gone)
        if self.author == JOB and content_of(gone) not in self.written:
            others = {each for each in items_in(gone) if each[2] != self.job_made.get(gone.guid)}
            if others or gone.name.startswith("renamed") or gone.description == "ours now":
                self.breaches.append(f"law 9: the job deleted {gone.name}, which people had edited")
        self.killer.step()

    def security_zones(self, service: str) -> dict[str, SecurityZoneInfo]:
        return {name: SecurityZoneInfo(resources=list(rows)) for name, rows in self.zones.items()}

    def policy_by_guid(self, service: str, guid: str, zone: str = "") -> Policy | None:
        found = (policy for policy in self.policies.values() if (policy.guid, policy.zone_name) == (guid, zone))
        return next(found, None)

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        unknown = dict.fromkeys(("created_by", "updated_by", "update_time"))  # Ranger's list has neither
        return [replaced(policy, **unknown) for policy in self.policies.values() if policy.zone_name == zone]

    def _refuse(self, policy: Policy) -> None:
        if policy.zone_name not in ("", *self.zones):
            raise RequestRejected("zone", status=400, reason_codes=(NO_SUCH_ZONE,))
        for known in self.policies.values():
            if known.id == policy.id or known.zone_name != policy.zone_name:
                continue
            if known.name == policy.name:
                raise RequestRejected("name", status=400, reason_codes=(NAME_TAKEN,))
            if policy.guid and known.guid == policy.guid:
                raise ConflictingChange("Duplicate entry")
            if known.is_enabled and policy.is_enabled and _listed(known) == _listed(policy):
                raise RequestRejected("resource", status=400, reason_codes=(RESOURCE_TAKEN,))

    def _job_ended(self, before: Policy, after: Policy) -> None:
        """Law 9: what `sync.on_deletion` may do, and nothing that denies or limits is lost by it."""
        self.audited.discard(before.guid)
        if why := self.may_end(before):
            self.breaches.append(f"law 9: the job emptied {before.name}: {why}")
        denies = bool(before.deny_policy_items or before.allow_exceptions or before.deny_exceptions)
        wanted = replaced(before, policy_items=[], is_enabled=denies or before.is_deny_all_else)
        stamps = dict.fromkeys(("version", "updated_by", "update_time"))
        if replaced(wanted, **stamps) != replaced(after, **stamps):
            self.breaches.append(f"law 9: the job changed more of {before.name} than its allow items")

    def _keeps_off(self, before: Policy) -> None:
        """Law 9: a command writes into no policy of the job, whatever people did to it."""
        on = self.made_on.get(before.guid)
        if self.author == TOOL and on and covers(before, on) and CREATORS_LABEL in before.policy_labels:
            self.breaches.append(f"law 9: a command wrote into {before.name}, which is the job's")

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
            replaced(each, policy_items=[], policy_labels=[], version=None, updated_by=None, update_time=None)
            for each in (before, after)
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


class Moment(NamedTuple):
    """What a backup of Ranger has."""

    policies: dict[int, Policy]
    last: int
    zones: dict[str, tuple[Row, ...]]


def _overlap(one: Row, other: Row) -> bool:
    """Whether resources may have something in common; our values have a wildcard for `sales` only."""
    nested = one.keys() <= other.keys() or other.keys() <= one.keys()
    return nested and one["namespace"][0][0] == other["namespace"][0][0]


class World:
    """One seed: lives begin and end, people make their moves, the job runs and is killed."""

    def __init__(self, seed: int, *, without: Collection[str] = ()) -> None:
        self.seed = seed
        self.rng = random.Random(f"people {seed}")
        self.moves = [move for move in MOVES if name_of(move) not in without]
        self.killer = Killer()
        self.ranger = SharedRanger(self.killer)
        self.ledger = MemoryLedger(self.killer)
        self.delegate = self.rng.random() < 0.5
        self.on_deletion: OnDeletion | None = self.rng.choice((None, "report", "revoke-exact"))
        self.closed: dict[tuple[EntityId, int], int] = {}
        self.delegated: dict[tuple[EntityId, int], bool] = {}
        self.ranger.may_end = self.why_not_ended
        self.happened: Counter[str] = Counter()
        self.noticed = ""
        self.may_notice = False
        self.unproven: dict[str, bool] = {}
        self.closed_at_restore: set[tuple[EntityId, int]] = set()
        self.is_restoring = False
        self.changed: set[str] = set()
        self.moments: list[Moment] = []
        self.follow = self.ranger.follow = self.rng.random() < 0.3
        self.time = 0

    def play(self) -> World:
        for _ in range(self.rng.randint(8, 48)):
            self.tick()
            move = self.rng.choice(self.moves)
            if move(self):
                self.happened[name_of(move)] += 1
        for _ in range(3):
            self.tick()
            self.job()
        return self

    def tick(self) -> None:
        self.time += 10
        self.ranger.now = self.time
        self.moments.append(Moment(dict(self.ranger.policies), self.ranger.last, dict(self.ranger.zones)))

    # The job

    def job(self, kill: int | None = None) -> None:
        planning = replace(_configured(self.delegate, self.on_deletion), follow_zones=self.follow)
        self.killer.at, self.killer.steps, killed = kill, 0, False
        self.ranger.audited.clear()  # a killed run may have announced what it did not do
        admin: Any = self.ranger
        ledger: Any = self.ledger
        self.forget_what_went()
        taken = [life for life in self.ledger.rows.values() if self.is_taken(life)]
        self.ranger.refused = {guid for life in taken for guid in guids_of(life)}
        try:
            zones = zones_of(planning, admin)
            seen, self.noticed = look(ledger, admin, planning, zones, all_policies(admin, planning.service, zones))
            self.is_restoring |= bool(self.noticed)  # until a run ends that was not killed
            if self.noticed and not self.may_notice:
                self.ranger.breaches.append(f"law 11: {self.noticed}, but nobody restored it")
            ledger.record(seen)
            ledger.record(regrants(ledger, admin, planning, all_policies(admin, planning.service, zones)))
            executor = StepExecutor(1, 0.0)
            pushed = pushed_by(ledger, admin, planning, executor=executor, audited=self.audit)
            assert pushed.error is None, pushed.error
            self.may_notice = False
        except Killed:
            killed = True
            self.happened["kill"] += 1
        finally:
            self.killer.at = None
            for key, life in self.ledger.rows.items():
                if life.state is State.CLOSED:
                    self.closed_at_restore |= {key} if self.is_restoring and key not in self.closed else set()
                    self.closed.setdefault(key, self.time)
                    self.delegated.setdefault(key, self.delegate)
            self.is_restoring = self.is_restoring and killed

    def audit(self, life: Life, policy: Policy) -> AbstractContextManager[None]:
        self.ranger.audited.add(policy.guid)
        return nullcontext()

    # What the laws ask

    def why_not_ended(self, policy: Policy, at: int | None = None) -> str:
        """Why `sync.on_deletion` may not empty a policy, now or when a life was closed; empty if it may, and must."""
        entity = _only_on(policy)
        lives = [
            life
            for key, life in self.ledger.rows.items()
            if life.entity == entity and not life.is_open and self.closed.get(key, self.time) >= policy.update_time
        ]
        if entity is None or policy.conditions or any(each.conditions for each in policy.items()):
            return "not on exactly one entity, or under a condition"
        if not lives or self.on_deletion == "report":
            return "no life ended, or the setting is `report`"
        then = [self.delegated.get((life.entity, life.number), self.delegate) for life in lives]
        delegated = any(then) or any(life.terms and life.terms.delegate_admin for life in lives)
        if delegated and not {policy.created_by, policy.updated_by} <= {"Admin"}:
            return ""
        if self.on_deletion is None:
            return "an administrator wrote it, or the creator could not delegate"
        begun = [life.begun.time for life in self.ledger.rows.values() if life.entity == entity and life.is_open]
        return "it is the next entity's" if begun and begun[0] <= policy.update_time else ""

    def open_lives(self) -> Iterator[Life]:
        return (life for life in self.ledger.rows.values() if life.is_open)

    def policies_of(self, life: Life) -> list[Policy]:
        """The policies that the job made for a life, as they are now."""
        return [policy for policy in self.ranger.policies.values() if policy.guid in guids_of(life)]

    def is_taken(self, life: Life) -> bool:
        return not self.ranger.taken.isdisjoint(guids_of(life))

    # Restores

    def policies(self) -> dict[str, Policy]:
        """The policies by guid: of one that is in several zones, that of the job."""
        ranked = sorted(self.ranger.policies.values(), key=lambda policy: FORMER_LABEL not in policy.policy_labels)
        return {policy.guid: policy for policy in ranked}

    def restored_to(self, moment: Moment) -> None:
        """Restore Ranger: people took what the ledger says, but for what looks like a later edit of theirs."""
        before, self.may_notice = self.policies(), True
        self.ranger.policies, self.ranger.last = dict(moment.policies), moment.last
        self.ranger.zones = dict(moment.zones)
        self.changed |= {guid for guid, policy in self.policies().items() if policy is not before.get(guid)}
        for life in self.open_lives():
            guid, on = guid_of(life, "cdap"), granted_resource(life.entity, "cdap")
            now, taken = self.policies().get(guid), bool(life.taken)
            if now and now is before.get(guid):
                taken = taken or guid in self.ranger.taken
            elif now and now.id == life.policy_id and (now.version or 0) >= life.policy_version and covers(now, on):
                taken = not _gives(now, life.creator or "")  # the restore may give back what was taken
            self.ranger.taken -= guids_of(life)
            self.ranger.taken |= {guid} if taken else set()

    def run_after(self, before: dict[str, Policy], kill: int | None = None) -> None:
        """Law 11: a run after a restore notices it, unless a single policy is gone, which a person may have deleted."""
        self.tick()
        applied = {guid_of(life, "cdap"): life for life in self.applied()}
        lost = (applied.keys() & before.keys()) - self.policies().keys()
        proven = any(
            policy.id == life.policy_id and (not life.is_open or (policy.version or 0) < life.policy_version)
            for life in self.ledger.rows.values()
            if (policy := self.policies().get(guid_of(life, "cdap")))
        )
        had = {key for key, life in self.ledger.rows.items() if not life.taken}
        self.noticed = ""
        self.job(kill)
        if kill is None and len(lost) > 1 and not self.noticed:
            self.ranger.breaches.append(f"law 11: {len(lost)} policies are lost with a restore, and nothing says so")
        self.unproven |= dict.fromkeys(self.changed, not self.noticed)
        taken = {
            guid_of(life, "cdap")
            for key, life in self.ledger.rows.items()
            if life.is_open and life.taken and key in had
        }
        # A person may have deleted a policy before the restore, unseen.
        self.ranger.taken |= {guid for guid in taken if not (self.noticed and proven and guid in before)}

    def lost(self) -> frozenset[str]:
        """The guids of policies that are gone although the ledger has them as applied."""
        return frozenset(guid_of(life, "cdap") for life in self.applied()) - self.policies().keys()

    def applied(self) -> list[Life]:
        """The lives that the ledger has as applied, and whose policy did not go with its zone."""
        known = [life for life in self.ledger.lives((State.APPLIED,)) if not life.taken]
        return [life for life in known if life.zone in ("", *self.ranger.zones)]

    # Zones

    def zone_of(self, entity: EntityId) -> str:
        """The zone whose policies decide on an entity."""
        zones = zones_of(_configured(False, None), cast(Any, self.ranger))
        return zones.of(entity)[0]

    def make_zone(self, name: str, rows: tuple[Row, ...], was: str = "") -> bool:
        """Give a zone these resources, unless another one has some of them."""
        others = [row for zone, taken in self.ranger.zones.items() if zone != was for row in taken]
        if any(_overlap(row, other) for row in rows for other in others):
            return False
        self.ranger.zones.pop(was, None)
        self.ranger.zones[name] = rows
        for key, policy in list(self.ranger.policies.items()):
            if was and was != name and policy.zone_name == was:
                self.ranger.policies[key] = replaced(policy, zone_name=name, version=(policy.version or 0) + 1)
        return True

    def drop_zone(self, name: str) -> None:
        """Delete a zone with its policies, which is no person's edit."""
        del self.ranger.zones[name]
        self.ranger.policies = {key: each for key, each in self.ranger.policies.items() if each.zone_name != name}

    def forget_what_went(self) -> None:
        """What a person took in a zone that went before the next look, nothing shows, once its entity is outside."""
        for life in self.open_lives():
            guid, on = guid_of(life, "cdap"), granted_resource(life.entity, "cdap")
            there = (each for each in self.ranger.policies.values() if each.guid == guid and covers(each, on))
            is_there = any(FORMER_LABEL not in each.policy_labels for each in there)
            went = life.zone not in ("", *self.ranger.zones) and not is_there
            if went and not life.taken and not self.zone_of(life.entity):
                self.ranger.taken -= guids_of(life)

    # Saves of people

    def may_delegate(self, life: Life) -> bool:
        """Whether Ranger lets the creator of a life pass on rights."""
        on = granted_resource(life.entity, "cdap")
        items = [each for policy in self.ranger.policies.values() if covers(policy, on) for each in policy.policy_items]
        return any(each.delegate_admin and life.creator in each.users for each in items)

    def save(self, policy: Policy, by: str = "", **edit: Any) -> bool:
        """Save a policy as a person; record whether that takes the right of its creator, or gives it back."""
        after, before = replaced(policy, **edit), policy
        if after == before:
            return False
        self.ranger.author = by or self.rng.choice((*NEIGHBOURS, "Admin"))
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
        if before.guid in former_guids(life, "cdap") or FORMER_LABEL in before.policy_labels:
            return  # it is a person's
        if after is None and life.state is State.SUSPENDED:
            taken.difference_update({before.guid} if not life.taken else ())  # the next run would have deleted it
        elif after is None and before.guid == guid_of(life, "cdap") and life.policy_id == before.id:
            taken.add(before.guid)  # where it was between two looks is not known
        elif after is None or not covers(after, on):  # it becomes a person's; what a look found before stays
            (taken.add if life.taken else taken.discard)(before.guid)
        elif _gives(after, user):
            taken.discard(before.guid)
        elif _gives(before, user) or _denies(after, user) or not covers(before, on):
            taken.add(before.guid)

    def some_policy(self, *, job: bool = True) -> Policy | None:
        found = [policy for policy in self.ranger.policies.values() if (policy.guid in self.ranger.job_made) is job]
        return self.rng.choice(found) if found else None


def _only_on(policy: Policy) -> EntityId | None:
    """The entity that every resource of a policy is exactly on."""
    listed = (policy.resources, *policy.additional_resources)
    return next((entity for entity in ENTITIES if all(_is_on(one, entity) for one in listed)), None)


def _is_on(levels: dict[str, PolicyResource], entity: EntityId) -> bool:
    """Whether a resource is an entity, with or without the programs of an application."""
    whole = resources(entity)
    return levels in (whole, {level: one for level, one in whole.items() if one.values != ["*"]})


def _gives(policy: Policy, user: str) -> bool:
    given = {a.type for i in policy.policy_items if user in i.users and not i.conditions for a in i.accesses}
    limited = policy.conditions or _denies(policy, user)
    return policy.is_enabled and not limited and given >= set(ACCESS_TYPES)


def _denies(policy: Policy, user: str) -> bool:
    return any(user in each.users for each in policy.deny_policy_items)


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
    # Without that label a run that was killed cannot tell its own removal from a person's: the right counts as taken.
    keeps = FORMER_LABEL in policy.policy_labels or world.rng.random() < 0.7
    labels = policy.policy_labels if keeps else []
    return {"name": f"renamed {policy.id}", "description": "ours now", "policy_labels": labels}


@_edit
def _move(world: World, policy: Policy) -> dict[str, Any] | None:
    return {"resources": resources(ELSEWHERE), "additional_resources": [resources(ELSEWHERE)] * policy.id}


@_edit
def _widen_resource(world: World, policy: Policy) -> dict[str, Any] | None:
    more = [*policy.additional_resources, resources(ELSEWHERE)]
    return {"additional_resources": more}


@_edit
def _narrow(world: World, policy: Policy) -> dict[str, Any] | None:
    """List the entity once, as most policies do."""
    return {"additional_resources": []}


@_edit
def _move_back(world: World, policy: Policy) -> dict[str, Any] | None:
    on = world.ranger.made_on[policy.guid]
    if not any(policy.guid in guids_of(life) for life in world.open_lives()):
        return None  # it is a person's, and so is what it gives
    theirs = [life for life in world.open_lives() if policy.guid == guid_of(life, "cdap")]
    if any(policy.zone_name != life.zone for life in theirs):
        return None  # so it is in another zone, where it looks like one that a restore brought back
    own = {level: PolicyResource(values=[value]) for level, value in on.items()}
    return {"resources": own, "additional_resources": [own] * world.rng.randint(1, 3)}


def _by(tool: Tool) -> Callable[[World], bool]:
    def move(world: World) -> bool:
        # Ranger's own grants go into a policy of the job that a person made to list its entity once.
        world.ranger.author, before = "eve" if tool is grant_rest else TOOL, dict(world.ranger.policies)
        try:
            return tool(Documents(world.ranger), world.rng.choice(ENTITIES), world.rng)
        except RequestRejected:
            return False
        finally:
            world.ranger.author = JOB
            for policy in before.values():
                if (after := world.ranger.policies.get(policy.id or 0)) is not policy:
                    world._note(policy, after)
            if len(lost := world.lost()) > 1:  # several that are gone together are a restore
                world.may_notice = True
                world.ranger.taken -= lost

    move.__name__ = tool.__name__
    return move


def _remove_policy(world: World) -> bool:
    policy = world.some_policy()
    return policy is not None and _removed(world, policy)


def _removed(world: World, policy: Policy) -> bool:
    if policy.id is None or world.lost():
        return False  # the second one between two looks would be taken for a restore
    world.ranger.author = "Admin"
    world.ranger.delete_policy(policy.id)
    world.ranger.author = JOB
    world._note(policy, None)
    return True


def _zone_made(world: World) -> bool:
    return world.make_zone(f"zone {world.time}", world.rng.choice(ZONES))


def _zone_changed(world: World) -> bool:
    """A zone is widened, narrowed or moved."""
    if not world.ranger.zones:
        return False
    name = world.rng.choice(list(world.ranger.zones))
    return world.make_zone(name, world.rng.choice(ZONES), was=name)


def _zone_renamed(world: World) -> bool:
    if not world.ranger.zones:
        return False
    name = world.rng.choice(list(world.ranger.zones))
    return world.make_zone(f"zone {world.time}", world.ranger.zones[name], was=name)


def _zone_deleted(world: World) -> bool:
    if not world.ranger.zones:
        return False
    world.drop_zone(world.rng.choice(list(world.ranger.zones)))
    return True


def _rezone(world: World) -> bool:
    """Somebody moves what waits for a zone into it, perhaps one that just came; the next run sends that."""
    if world.applied() and world.rng.random() < 0.8:
        for name in [*world.ranger.zones]:
            world.drop_zone(name)
        world.make_zone(f"zone {world.time}", world.rng.choice(ZONES[:3]))
        world.tick()
        world.job(kill=world.rng.choice((None, None, world.rng.randint(0, 12))))
    zones = zones_of(_configured(False, None), cast(Any, world.ranger))
    moves = [change for name in world.ranger.zones for change in moves_into(name, world.ledger.rows.values(), zones)]
    world.ledger.record(moves)
    for life in (change.life for change in moves):  # perhaps what a person took in a zone that has another name now
        world.ranger.taken -= guids_of(life)
        world.ranger.asked |= guids_of(life)
    return bool(moves)


def _zone_replaced(world: World) -> bool:
    """A zone with a grant is renamed or deleted, perhaps after somebody edited or deleted the policy in it."""
    if not (found := [life for life in world.applied() if life.zone]):
        world.make_zone(f"zone {world.time}", (ALL_SALES,))
        _create(world)
        world.tick()
        world.job()
        found = [life for life in world.applied() if life.zone]
    if not found:
        return True
    name = world.rng.choice(found).zone
    for policy in [each for each in world.ranger.policies.values() if each.zone_name == name][:1]:
        if world.rng.random() < 0.5:
            _removed(world, policy)
        elif world.rng.random() < 0.5:
            world.save(policy, is_enabled=False)
    if world.rng.random() < 0.5:
        return world.make_zone(f"zone {world.time}", world.ranger.zones[name], was=name)
    world.drop_zone(name)
    if world.rng.random() < 0.6:
        world.make_zone(f"zone {world.time}", world.rng.choice(ZONES))
    return True


def _restore(world: World) -> bool:
    """Ranger is restored from a backup of any earlier moment, perhaps twice, and runs are killed; then one ends."""
    if world.rng.random() < 0.6:
        return False  # it is rare
    for _ in range(world.rng.choice((1, 1, 2))):
        before = world.policies()
        world.restored_to(world.rng.choice(world.moments))
        for _ in range(world.rng.randint(0, 2)):
            world.tick()
            world.rng.choice((_create, _delete, _doubt, _doubt_ends, _delegation))(world)
        if world.rng.random() < 0.5:
            world.run_after(before, kill=world.rng.randint(0, 12))
    world.run_after(before)
    world.changed.clear()
    return True


def _beforehand(world: World) -> bool:
    """A policy on exactly an entity, once or twice, perhaps with a right of its creator or with our name."""
    return _written(world, "Admin", item(world.rng.choice((*CREATORS, *NEIGHBOURS)), "read", "write"))


def _denied_beforehand(world: World) -> bool:
    """An administrator's or a neighbour's policy that also denies, excepts, or denies all else."""
    sides = world.rng.choice(
        (
            {"deny_policy_items": [item(world.rng.choice(CREATORS), "write")]},
            {"deny_policy_items": [item("eve", "read")], "deny_exceptions": [item("bob", "read")]},
            {"is_deny_all_else": True},
        )
    )
    author = world.rng.choice(("Admin", "bob"))
    return _written(world, author, item(world.rng.choice(NEIGHBOURS), "read"), **sides)


def _limited(world: World) -> bool:
    """A neighbour's policy on an entity under a condition, or on another one too."""
    condition = [PolicyItemCondition(type="_expression", values=["true"])]
    limits: list[dict[str, Any]] = [{"conditions": condition}, {"additional_resources": [resources(ELSEWHERE)]}]
    if world.rng.random() < 0.3:
        return _written(world, "bob", item("bob", "read", conditions=condition))
    return _written(world, "bob", item("bob", "read"), **world.rng.choice(limits))


def _share_and_delete(world: World) -> bool:
    """A creator who can delegate gives themselves, their group and a role a right, and deletes the entity."""
    found = [life for life in world.open_lives() if life.state is State.APPLIED and world.may_delegate(life)]
    if not found:
        return False
    life = world.rng.choice(found)
    user = life.creator or ""
    shared = item(user, "read", "write", groups=["team"], roles=["r"], delegate_admin=world.rng.random() < 0.5)
    theirs = [policy for policy in world.ranger.policies.values() if _only_on(policy) == life.entity]
    ours = [policy for policy in theirs if policy.guid in guids_of(life)]
    once = [policy for policy in theirs if not policy.additional_resources and policy.is_enabled]
    if ours and world.rng.random() < 0.5:  # in the form
        world.save(ours[0], user, policy_items=[*ours[0].policy_items, shared])
    elif once:  # Ranger's REST to grant writes into the policy on exactly the resource, as the account of the bridge
        world.save(once[0], "bridge", policy_items=[*once[0].policy_items, shared])
    else:
        _written(world, "bridge", shared, life.entity, 1)
    world.tick()
    world.ledger.rows[life.entity, life.number] = ended(life, Position(world.time, True, "s", "2"), recorded=True)
    return True


def _written(
    world: World, author: str, first: PolicyItem, on: EntityId | None = None, count: int = 0, **more: Any
) -> bool:
    """A person's policy on an entity, listed once or several times, perhaps with a name of ours."""
    entity = on or world.rng.choice(ENTITIES)
    times = count or world.rng.choice((1, 1, 2, 2, 3))
    names = [f"theirs {world.time}", *(policy.name for policy in world.ranger.policies.values())]
    policy = Policy(
        name=world.rng.choice(names),
        service="cdap",
        resources=resources(entity),
        policy_items=[first],
        zone_name=world.rng.choice(("", "", *world.ranger.zones)),
        **{"additional_resources": [resources(entity)] * (times - 1), **more},
    )
    world.ranger.author = author
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
    *(
        _denied_beforehand,
        _denied_beforehand,
        _limited,
        _limited,
        _share_and_delete,
        _share_and_delete,
        _share_and_delete,
    ),
    *(_narrow, _move_back, _move_back, *map(_by, TOOLS), _retry, _restore),
    *(_zone_made, _zone_made, _zone_changed, _zone_renamed, _zone_deleted, _zone_replaced, _zone_replaced),
    *(_rezone, _rezone, _rezone),
)


def name_of(move: Callable[[World], bool]) -> str:
    return move.__name__.strip("_")


def breaches(world: World) -> Iterator[str]:
    """Every breach of the laws of policies that people share, as a sentence."""
    yield from world.ranger.breaches
    yield from _left_on_deleted(world)
    for life in world.ledger.rows.values():
        on = granted_resource(life.entity, "cdap")
        if not life.is_open:
            for policy in world.policies_of(life):
                held = [each for each in items_in(policy) if each[0] == "policyItems" and each[2] == life.creator]
                since = FORMER_LABEL in policy.policy_labels and policy.updated_by != JOB  # what people made of it
                unproven = policy.guid != guid_of(life, "cdap") and world.unproven.get(policy.guid)
                if touches(policy, on) and held and not since and not unproven:
                    yield f"law 6: {life.creator} keeps {held} in {policy.name} after the end of {life.entity}"
        elif (life.state is State.BLOCKED and life.taken) or (life.state is State.SUSPENDED and not life.revoke):
            newest = world.policies().get(guid_of(life, "cdap"))
            if newest and covers(newest, on) and _gives(newest, life.creator or ""):
                yield f"law 11: {life.creator} has {life.entity} by {newest.name}, and is {life.state}: {life.reason}"
        elif not world.is_taken(life) and life.state is not State.SUSPENDED:
            yield from _in_zones(world, life)
            zone = world.zone_of(life.entity)
            given = [p for p in world.policies_of(life) if covers(p, on) and p.zone_name == zone]
            if life.waits_for_zone:
                continue
            if not any(_gives(policy, life.creator or "") for policy in given):
                yield f"law 7: {life.creator} lacks {life.entity}: {life.state}, {life.reason}"
            newest = next((policy for policy in given if policy.guid == guid_of(life, "cdap")), None)
            delegates = newest and any(i.delegate_admin for i in newest.policy_items if life.creator in i.users)
            if newest and delegates is not world.delegate:
                yield f"law 7: {life.creator} may pass {life.entity} on is {delegates}, not as set"


def _in_zones(world: World, life: Life) -> Iterator[str]:
    """Breaches about the zone of a grant: it is there alone, or the zone's administrator has not decided yet."""
    zone, on, who = world.zone_of(life.entity), granted_resource(life.entity, "cdap"), life.creator or ""
    where = {p.zone_name for p in world.policies_of(life) if covers(p, on) and _gives(p, who)}
    if not life.waits_for_zone:
        # One that people moved away, and back, is theirs.
        ours = {p.zone_name for p in world.policies_of(life) if p.guid == guid_of(life, "cdap")}
        if others := (where & ours) - {zone}:
            yield f"law 6: {who} has {life.entity} in {others} as well as in `{zone}`"
        return
    went = f"its grant went with zone `{life.zone}`" in life.reason and life.zone not in world.ranger.zones
    asked = went or not world.follow  # a zone with another name looks like another zone
    if not zone or zone == life.zone or not asked or f"sync rezone --zone '{zone}'" not in life.reason:
        yield f"law 7: {who} waits for {life.entity} to be moved into `{zone}`: {life.reason}"
    if life.policy_id < 0 and not life.copy:
        yield f"law 7: {who} waits for {life.entity}, which was created in `{zone}`"
    if zone in where:
        yield f"law 7: {who} has {life.entity}, although {life.reason}"


def _left_on_deleted(world: World) -> Iterator[str]:
    """Breaches about rights of others that stood when the life of a deleted entity was closed."""
    for key, closed in world.closed.items():
        life = world.ledger.rows[key]
        if not life.is_deleted:
            continue
        later = {guid for each in world.ledger.rows.values() if each.number > life.number for guid in guids_of(each)}
        for policy in world.ranger.policies.values():
            named = any(one == resources(life.entity) for one in (policy.resources, *policy.additional_resources))
            stood = policy.update_time < closed and policy.guid not in later
            if not (named and stood and policy.is_enabled and policy.policy_items):
                continue
            # Which rights of others were revoked the ledger does not know: they are reported only.
            if (
                _only_on(policy) == life.entity
                and not world.why_not_ended(policy)
                and policy.guid not in world.unproven
                and key not in world.closed_at_restore
            ):
                yield f"on_deletion: {policy.name} still gives rights on {life.entity}, which was deleted"
            begun = [
                each.begun.time
                for each in world.ledger.rows.values()
                if each.entity == life.entity and each.number > life.number
            ]
            is_new = any(policy.update_time >= each for each in begun) or world.unproven.get(policy.guid)
            if f"policy {policy.id} " not in life.reason and not is_new:
                yield f"on_deletion: nothing says that {policy.name} gives rights on the deleted {life.entity}"
