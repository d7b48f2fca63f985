"""The real pipeline over things in memory: reading, folding, planning and pushing, with a ledger and a Ranger here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.config import CdapSettings, RangerSettings, Secret, Settings, SyncSettings
from ranger_cdap.errors import RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.observe import look
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.refusals import NAME_TAKEN, RESOURCE_TAKEN
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.zones import all_policies, zones_of
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.fold import known_life, refold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.ledger import History, LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.ledger.matching import concerns
from tests.spark_sync.grants.fixtures import PagedLives, Pushed, pushed_by
from tests.spark_sync.planning import unchanged_accesses
from tests.spark_sync.reconcile.drift_fixtures import signature

Row = dict[str, list[str]]
ZonesMode = Literal["ask", "follow"]
NO_SUCH_ZONE = 3033


class Killed(Exception):
    """The run was killed here."""


@dataclass
class Killer:
    """Kills a run at its n-th step; `None` never."""

    at: int | None = None
    steps: int = 0

    def step(self) -> None:
        if self.at is not None and self.steps == self.at:
            self.at = None
            raise Killed
        self.steps += 1


def _refused(code: int, name: str | None) -> RequestRejected:
    said = f"error code[{code}], reason[policy-name=[{name}], service=x]"
    return RequestRejected(said, status=400, ranger_message=said, reason_codes=(code,))


@dataclass
class MemoryRanger:
    """Policies by id; refuses what Ranger refuses: a name or a resource that is taken."""

    killer: Killer
    policies: dict[int, Policy] = field(default_factory=dict)
    last: int = 0
    zones: dict[str, Row] = field(default_factory=dict)

    def create_policy(self, policy: Policy) -> Policy:
        self.killer.step()
        if policy.zone_name not in ("", *self.zones):
            raise _refused(NO_SUCH_ZONE, policy.name)
        for known in (each for each in self.policies.values() if each.zone_name == policy.zone_name):
            if known.name == policy.name:
                raise _refused(NAME_TAKEN, policy.name)
            if signature(known) == signature(policy):
                raise _refused(RESOURCE_TAKEN, known.name)
        self.last += 1
        self.policies[self.last] = replaced(policy, id=self.last, version=1)
        self.killer.step()
        return self.policies[self.last]

    def update_policy(self, policy: Policy) -> Policy:
        self.killer.step()
        assert policy.id is not None
        version = (self.policies[policy.id].version or 0) + 1
        self.policies[policy.id] = replaced(policy, version=version)
        return self.policies[policy.id]

    def security_zones(self, service: str) -> dict[str, SecurityZoneInfo]:
        return {name: SecurityZoneInfo(resources=[row]) for name, row in self.zones.items()}

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        return [policy for policy in self.policies.values() if policy.zone_name == zone]

    def policy_by_guid(self, service: str, guid: str, zone: str = "") -> Policy | None:
        return next((policy for policy in self.list_policies(service, zone) if policy.guid == guid), None)

    def change_zone(self, was: str, name: str = "", row: Row | None = None) -> None:
        """Make, change or rename a zone, as Ranger does with its policies; without a row delete it with them."""
        self.zones.pop(was, None)
        if row is None:
            self.policies = {key: each for key, each in self.policies.items() if not was or each.zone_name != was}
            return
        self.zones[name] = row
        for key, policy in self.policies.items():
            if was != name and was and policy.zone_name == was:
                self.policies[key] = replaced(policy, zone_name=name, version=(policy.version or 0) + 1)

    def delete_policy(self, policy_id: int) -> None:
        self.killer.step()
        del self.policies[policy_id]
        self.killer.step()

    def grants(self, zone: str | None = None) -> dict[tuple[str, ...], str]:
        """Who holds the grant on each resource, in any zone or in this one."""
        found: dict[tuple[str, ...], str] = {}
        for policy in (each for each in self.policies.values() if zone in (None, each.zone_name)):
            resources = sorted(policy.resources.items())
            levels = tuple(f"{level}={values.values[0]}" for level, values in resources if level != "instance")
            (item,) = policy.policy_items
            assert found.get(levels, item.users[0]) == item.users[0], "two users hold a grant"
            found[levels] = item.users[0]
        return found

    def zone_of(self, entity: EntityId) -> str:
        """The zone whose policies decide on an entity."""
        return zones_of(_PLANNING, self).of(entity)[0]

    def holder(self, entity: EntityId, zone: str | None = None) -> str:
        """The grantee of an entity in any zone, or in this one, empty if there is none."""
        names = {"application": ("namespace", "application")}.get(entity.type, ("namespace", entity.type))
        levels = [f"{level}={part}" for level, part in zip(names, entity.parts, strict=False)]
        levels += ["program=*"] if entity.type == "application" else []
        return self.grants(zone).get(tuple(sorted(levels)), "")


@dataclass
class MemoryLedger(PagedLives):
    """Events and lives, and which entities are to be folded again."""

    killer: Killer
    events: dict[tuple[str, str], EntityEvent] = field(default_factory=dict)
    rows: dict[tuple[EntityId, int], Life] = field(default_factory=dict)
    taken: int | None = None

    def add(self, events: Iterable[EntityEvent]) -> None:
        for event in events:
            self.events.setdefault((event.source, event.id), event)

    def entities(self) -> set[EntityId]:
        of_lives = {entity for entity, _ in self.rows}
        return of_lives | {event.entity for event in self.events.values() if not event.child}

    def history(self, entity: EntityId) -> History:
        mine = tuple(event for event in self.events.values() if concerns(entity, event))
        return History(entity, mine, tuple(self.lives_of(entity)))

    def record(self, changes: Iterable[LedgerChange]) -> None:
        self.killer.step()
        for change in changes:
            if change.after:
                self.rows[change.after.entity, change.after.number] = change.after
            else:
                del self.rows[change.life.entity, change.life.number]
        self.killer.step()

    def enter_baseline(
        self, taken: int, found: Iterable[EntityId], versions: Mapping[EntityId, tuple[str, ...]]
    ) -> None:
        self.taken = taken
        for entity in found:
            life = known_life(entity, self.lives_of(entity), taken, versions.get(entity))
            if life is not None:
                self.rows[entity, life.number] = life

    def counts(self) -> Counter[State]:
        return Counter(life.state for life in self.rows.values())


GIVES = dict.fromkeys(("namespace", "dataset", "application", "artifact"), ACCESS_TYPES)


@dataclass(frozen=True)
class Run:
    """What a run that came to its end read, how it folded, what CDAP answered then, and whose grants it revoked."""

    events: tuple[EntityEvent, ...]
    settings: FoldSettings
    answers: tuple[EntityEvent, ...]
    revoked: frozenset[tuple[EntityId, int]]


@dataclass
class Pipeline:
    """The sync job: folds what the ledger has, asks CDAP, and pushes."""

    settings: FoldSettings
    killer: Killer = field(default_factory=Killer)
    zones: ZonesMode | None = None
    look_up: Callable[[MemoryLedger, FoldSettings], list[EntityEvent]] | None = None
    ledger_goes_back = False

    def __post_init__(self) -> None:
        self.ledger = MemoryLedger(self.killer)
        self.ranger = MemoryRanger(self.killer)
        self.runs: list[Run] = []

    def run(self, events: Iterable[EntityEvent], **now: Any) -> None:
        """One run; `now` are the fields of the settings that change with time."""
        settings = replace(self.settings, baseline=self.ledger.taken, gives=GIVES, **now)
        batch = tuple(events)
        self.killer.step()
        self.ledger.add(batch)
        self.killer.step()
        self.fold(settings)
        answers = tuple(self.look_up(self.ledger, settings)) if self.look_up is not None else ()
        self.ledger.add(answers)
        planning = replace(_PLANNING, follow_zones=self.zones == "follow")
        if self.zones:  # else nobody changes policies
            zones = zones_of(planning, self.ranger)
            listed = all_policies(self.ranger, planning.service, zones)
            seen = look(self.ledger, self.ranger, planning, zones, listed)  # type: ignore[arg-type]
            assert self.ledger_goes_back or not seen.went_back, seen.went_back
            self.ledger.record(seen.changed)
        pushed = send(self.ledger, self.ranger, planning)  # type: ignore[arg-type]
        revoked = {(each.step.life.entity, each.step.life.number) for each in pushed.outcomes if each.revoked}
        self.runs.append(Run(batch, settings, answers, frozenset(revoked)))

    def fold(self, settings: FoldSettings) -> None:
        changes = (refold(self.ledger.history(entity), settings) for entity in sorted(self.ledger.entities()))
        self.ledger.record([change for some in changes for change in some])


def send(ledger: DeltaLedger, ranger: MemoryRanger, planning: PlanSettings | None = None) -> Pushed:
    """Push what is pending in the ledger."""
    pushed = pushed_by(ledger, ranger, planning or _PLANNING, executor=StepExecutor(1, 0.0))
    assert pushed.error is None, pushed.error
    return pushed


_SETTINGS = Settings(
    ranger=RangerSettings(url="http://127.0.0.1:1", service="cdapdev"),
    cdap=CdapSettings(instance="cdap"),
    sync=SyncSettings(username="sync", password=Secret("x")),
)
_PLANNING = replace(plan_settings(_SETTINGS), resultant=unchanged_accesses)
