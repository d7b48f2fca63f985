"""Shared by the tests of plan, writer and push: lives, other policies, a ledger in memory, a watched Ranger."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import CdapSettings, RangerSettings, Secret, Settings, SyncSettings
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from spark_sync.grants.observe import Look, look
from spark_sync.grants.plan import PlanSettings, Step, plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import PolicyRest, policy_rest
from spark_sync.grants.push import push
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.grants.writer import StepOutcome, carry_out
from spark_sync.grants.zones import all_policies, zones_of
from spark_sync.ledger.event import Position
from spark_sync.ledger.grant_terms import GrantGroup
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import PUSH_STATES, RIGHTS_LEFT, Life, State
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.planning import planning

ALL = ("read", "write", "admin", "execute")
DATASET = EntityId("dataset", ("ns1", "kv"))
BEGUN = Position(101, False, "test", "1")
ENDED = Position(105, True, "test", "2")


def life(
    creator: str = "alice",
    entity: EntityId = DATASET,
    *,
    number: int = 1,
    state: State = State.PENDING,
    accesses: tuple[str, ...] = ALL,
    **fields: Any,
) -> Life:
    ended = ENDED if state in (State.CLOSING, State.CLOSED) else None
    return Life(entity, number, creator, BEGUN, state, ended=ended, accesses=accesses, **fields)


def datasets(count: int) -> list[Life]:
    return [life(entity=EntityId("dataset", ("ns1", f"d{n:03}"))) for n in range(count)]


def gone(applied: Life) -> Life:
    return applied.become(State.CLOSING, ended=ENDED, reason="")


def wants(applied: Life, *accesses: str) -> Life:
    """The life after a change of the profile."""
    return applied.become(State.PENDING, accesses=accesses)


def steps(ranger: Ranger, *lives: Life, **settings: Any) -> list[Step]:
    return list(plan(lives, planning(ranger.service, "root", **settings)))


def send(ranger: Ranger, *lives: Life, by: PolicyRest | None = None, **settings: Any) -> list[Life]:
    def sent(step: Step) -> Life:
        outcome = carry_out(step, by or ranger.sync)
        return sent(*steps(ranger, outcome.life, **settings)) if outcome.again else outcome.life

    return [sent(step) for step in steps(ranger, *lives, **settings)]


def item(user: str, *accesses: str, **fields: Any) -> PolicyItem:
    return PolicyItem(accesses=[PolicyItemAccess(type=access) for access in accesses], users=[user], **fields)


def resource(**levels: str) -> dict[str, PolicyResource]:
    return {level: PolicyResource(values=[value]) for level, value in {"instance": "cdap", **levels}.items()}


def foreign(ranger: Ranger, user: str = "bob", **fields: Any) -> Policy:
    """Somebody else's policy, on the resource of `DATASET` unless said otherwise."""
    policy = Policy(
        name="theirs",
        service=ranger.service,
        resources=resource(namespace="ns1", dataset="kv"),
        policy_items=[item(user, "read")],
    )
    for name, value in fields.items():
        setattr(policy, name, value)
    made = ranger.admin.create_policy(policy)
    return next(each for each in ranger.policies() if each.id == made.id)


class Pushed(NamedTuple):
    """What a push told."""

    outcomes: list[StepOutcome]
    error: RangerAdminError | None

    @property
    def trouble(self) -> str:
        return str(self.error or "")


class PagedLives:
    """Lives in memory, read page by page."""

    rows: dict[tuple[EntityId, int], Life]
    of_a_page = 2
    """Entities."""

    def lives(self, states: Collection[State]) -> list[Life]:
        found = (life for life in self.rows.values() if life.state in states)
        return sorted(found, key=lambda life: (life.entity, life.number))

    def pages(self, states: Collection[State]) -> Iterator[list[Life]]:
        """Yield the lives of so many entities, as they are when they are asked for."""
        entities = sorted({entity for entity, _ in self.rows})
        for start in range(0, len(entities), self.of_a_page):
            some = set(entities[start : start + self.of_a_page])
            if found := [life for life in self.lives(states) if life.entity in some]:
                yield found

    def grant_groups(self) -> list[tuple[GrantGroup, int]]:
        return list(Counter(map(GrantGroup.of, self.rows.values())).items())

    def lives_of(self, entity: EntityId) -> list[Life]:
        return [self.rows[key] for key in sorted(self.rows) if key[0] == entity]

    def find_lives(self, *, entities: Collection[EntityId]) -> list[Life]:
        return [life for entity in sorted(entities) for life in self.lives_of(entity)]

    def lives_with_rights_left(self) -> list[Life]:
        return [life for life in self.lives((State.CLOSED,)) if RIGHTS_LEFT in life.reason]


class MemoryLedger(PagedLives):
    """The part of a ledger that a push uses."""

    of_a_page = 10_000

    def __init__(self, lives: Iterable[Life] = ()) -> None:
        self.rows = {(life.entity, life.number): life for life in lives}
        self.records = 0

    def record(self, changes: Iterable[LedgerChange]) -> None:
        self.records += 1
        for life in (change.after for change in changes if change.after):
            self.rows[life.entity, life.number] = life

    def states(self) -> Counter[State]:
        return Counter(life.state for life in self.rows.values())

    @property
    def owes_nothing(self) -> bool:
        return not self.lives(PUSH_STATES)


Watcher = Callable[[str, int], None]
"""Told the name of each request and its number, from 1; what it raises is as if Ranger's client had raised it."""


class Watched:
    """A `PolicyRest` that does what another one does and lets the test in before and after each request."""

    def __init__(
        self, ranger: PolicyRest, *, before: Watcher = lambda _name, _n: None, after: Watcher = lambda _name, _n: None
    ) -> None:
        self._ranger, self._before, self._after = ranger, before, after
        self._lock = threading.Lock()
        self.names: list[str] = []

    @property
    def writes(self) -> list[str]:
        return [name for name in self.names if name.split("_")[0] not in ("policy", "policies", "security")]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        request = getattr(self._ranger, name)

        def watched(*args: Any, **named: Any) -> Any:
            with self._lock:
                self.names.append(name)
                number = len(self.names)
            self._before(name, number)
            try:
                return request(*args, **named)
            finally:
                self._after(name, number)

        return watched


def settings(ranger: Ranger, **sync: Any) -> Settings:
    given = {"username": "sync", "password": Secret(PASSWORD), **sync}
    return Settings(
        ranger=RangerSettings(url=ranger.url, service=ranger.service),
        cdap=CdapSettings(instance="cdap"),
        sync=SyncSettings(**given),
    )


def pushed(
    ranger: Ranger,
    ledger: MemoryLedger,
    by: PolicyRest | None = None,
    *,
    size: int = 4,
    patience: float = 20.0,
    **sync: Any,
) -> Pushed:
    configured, executor = settings(ranger, **sync), StepExecutor(size, patience)
    planning = plan_settings(configured)
    return pushed_by(ledger, by or ranger.sync, planning, executor=executor)


def pushed_by(ledger: Any, ranger: PolicyRest, planning: PlanSettings, **more: Any) -> Pushed:
    """Push, and return what it told."""
    outcomes = list[StepOutcome]()
    return Pushed(outcomes, push(ledger, ranger, planning, outcomes.append, **more))


def push_by(configured: Settings, ledger: MemoryLedger, by: PolicyRest | None = None, **more: Any) -> Pushed:
    """Push into the Ranger Admin of the settings."""
    with policy_rest(configured, by) as rest:
        return pushed_by(ledger, rest, plan_settings(configured), **more)


def states(found: Pushed) -> list[State]:
    return [outcome.life.state for outcome in found.outcomes]


def look_at(ledger: Any, ranger: Any, planning: PlanSettings) -> Look:
    """Look at Ranger as a run does."""
    zones = zones_of(planning, ranger)
    return look(ledger, ranger, planning, zones, all_policies(ranger, planning.service, zones))
