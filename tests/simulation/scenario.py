"""A scenario, drawn from a seed: who asks CDAP for what and when, what goes wrong, and what the adversary holds."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from ranger_cdap.cdap.entity import EntityId
from tests.simulation.cdap import ADMIN, Act, Failure, Request

HONEST = ("alice", "bob")
ADVERSARY = "mallory"
OUTSIDER = "oscar"

START = 1_795_237_200_000
MINUTE = 60_000
DAY = 1_440 * MINUTE
HOLD_BACK = 120_000

NS = EntityId("namespace", ("n1",))
DATASETS = (EntityId("dataset", ("n1", "kv")), EntityId("dataset", ("n1", "logs")))
APP = EntityId("application", ("n1", "Shop"))
LIB = EntityId("artifact", ("n1", "lib"))
NAMES = (NS, *DATASETS, APP, LIB)
OTHER_APP = EntityId("application", ("n1", "Cart"))


class Secret(StrEnum):
    """What the adversary holds beside their account: one secret, or every line of one source."""

    NONE = "none"
    AUDIT = "audit"
    ENFORCE = "enforce"
    ROUTER = "router"
    TOPIC = "topic"


class Deployment(StrEnum):
    """What tells the sync job of CDAP's requests.

    `recordless`: CDAP 6.5 to 6.10 delivers no records. `unjournalled`: no service journals checks, and
    `sync.uncorroborated` is `grant`. `unstamped`: the same with a service that stores records and writes watermarks.
    """

    ONE_SERVICE = "one service"
    TWO_SERVICES = "two services"
    RECORDLESS = "recordless"
    UNJOURNALLED = "unjournalled"
    UNSTAMPED = "unstamped"

    @property
    def is_journalled(self) -> bool:
        return self not in (Deployment.UNJOURNALLED, Deployment.UNSTAMPED)


@dataclass
class Forgery:
    """What the adversary writes with what they hold: as if `user` had created, or deleted, the entity.

    `refuses`: as if CDAP had been refused to delete it for them while it deletes the namespace.
    """

    at: int
    entity: EntityId
    user: str
    deletes: bool
    refuses: bool = False


@dataclass
class Ahead:
    """The clock of a service is ahead by so much for a while, and is set back then."""

    service: int
    since: int
    until: int
    by: int


@dataclass
class Scenario:
    """Everything that is drawn before the simulation begins.

    `edge`: a log of higher rank than the router's, which then names any user of a pool. `silent`: for how long at most
    a service may publish nothing. `steps`: when the clock of CDAP's host is set, and by how much. `stepwise`: CDAP
    deletes what is in a namespace step by step, and checks each entity. `zones`: what grants do when an administrator
    makes or changes security zones, at the times `zone_changes`; `None`: nobody does. `inventories`: when people enter
    one.
    """

    seed: int
    requests: list[Request] = field(default_factory=list)
    forgeries: list[Forgery] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    kills: dict[int, int] = field(default_factory=dict)
    deployment: Deployment = Deployment.ONE_SERVICE
    secret: Secret = Secret.NONE
    adversary: bool = True
    confirm: bool = False
    router: bool = False
    topic: bool = False
    edge: bool = False
    silent: int = 0
    skew: int = 2_000
    process_offsets: list[int] = field(default_factory=lambda: [0])
    service_offsets: list[int] = field(default_factory=lambda: [0, 0])
    ahead: Ahead | None = None
    router_offset: int = 0
    sync_offset: int = 0
    steps: list[tuple[int, int]] = field(default_factory=list)
    stepwise: bool = False
    zones: Literal["ask", "follow"] | None = None
    zone_changes: list[int] = field(default_factory=list)
    known: tuple[EntityId, ...] = ()
    inventories: list[int] = field(default_factory=list)
    loss: float = 0.0
    garbage: float = 0.0
    repeat: float = 0.0
    latest: int = 12 * MINUTE

    @property
    def services(self) -> int:
        """How many decision services CDAP's processes ask, whichever answers."""
        return 2 if self.deployment is Deployment.TWO_SERVICES else 1

    @property
    def hold_back(self) -> int:
        """As configured: without a journal it must cover the difference of the clocks too."""
        return HOLD_BACK + (0 if self.deployment.is_journalled else self.skew)

    @property
    def end(self) -> int:
        return max([START, *(request.ended for request in self.requests)]) + 5 * MINUTE


def draw(seed: int) -> Scenario:
    """The scenario of a seed."""
    rng = random.Random(seed)
    scenario = Scenario(seed)
    scenario.adversary = rng.random() < 0.6
    if scenario.adversary:
        scenario.secret = rng.choice([Secret.NONE, Secret.NONE, *Secret])
    scenario.confirm = rng.random() < 0.5
    scenario.router = rng.random() < 0.5 or scenario.secret is Secret.ROUTER
    scenario.topic = rng.random() < 0.4 or scenario.secret is Secret.TOPIC
    far = rng.random() < 0.3
    scenario.skew = 620_000 if far else 2_000
    reach = 300_000 if far else 900
    scenario.process_offsets = [rng.randint(-reach, reach) for _ in range(4)]
    scenario.service_offsets = [rng.randint(-reach, reach)]
    scenario.router_offset = rng.randint(-reach, reach)
    scenario.sync_offset = rng.randint(-reach, reach)
    troubled = rng.random() < 0.4
    scenario.loss = rng.choice([0.02, 0.06]) if troubled else 0.0
    scenario.garbage = rng.choice([0.0, 0.1]) if troubled else 0.0
    scenario.repeat = 0.1
    _deploy(random.Random(f"deployment {seed}"), scenario)
    scenario.known = tuple(rng.sample(NAMES, rng.choice([0, 1, 2])))
    scenario.known = tuple(dict.fromkeys((NS, *scenario.known))) if scenario.known else ()
    _draw_requests(rng, scenario)
    span = scenario.end - START
    restarts = rng.choice([0, 0, 1, 2]) if scenario.deployment is not Deployment.UNJOURNALLED else 0
    scenario.restarts = sorted(START + rng.randrange(span) for _ in range(restarts))
    scenario.runs = sorted(START + rng.randrange(span) for _ in range(rng.randint(2, 6)))
    scenario.kills = {n: rng.randrange(12) for n in range(len(scenario.runs)) if rng.random() < 0.25}
    if scenario.secret is not Secret.NONE:
        for _ in range(rng.randint(1, 6)):
            user = ADVERSARY if rng.random() < 0.8 else rng.choice(HONEST)
            at = START + rng.randrange(span)
            scenario.forgeries.append(Forgery(at, rng.choice(NAMES), user, rng.random() < 0.4))
    scenario.service_offsets.append(rng.randint(-reach, reach))
    _decide_early(random.Random(f"early {seed}"), scenario)
    _set_clocks(random.Random(f"clock {seed}"), scenario)
    _set_clock_ahead(random.Random(f"ahead {seed}"), scenario)
    _refuse(random.Random(f"refuse {seed}"), scenario)
    _draw_zones(random.Random(f"zones {seed}"), scenario)
    _draw_inventories(random.Random(f"inventories {seed}"), scenario)
    return scenario


def _draw_inventories(rng: random.Random, scenario: Scenario) -> None:
    """People enter a new inventory now and then; one is dated five minutes back, more than clocks may differ by."""
    if rng.random() < 0.15 and scenario.skew <= 5 * MINUTE and not scenario.stepwise:
        span = scenario.end - START
        scenario.inventories = sorted(START + rng.randrange(span) for _ in range(rng.randint(1, 3)))


def _draw_zones(rng: random.Random, scenario: Scenario) -> None:
    """Administrators make and change security zones, also right before and after runs."""
    if scenario.stepwise or rng.random() >= 0.12:
        return
    scenario.zones = rng.choice(["ask", "ask", "follow"])
    span = scenario.end - START
    times = [START + rng.randrange(span) for _ in range(rng.randint(1, 6))]
    times += [rng.choice(scenario.runs) + rng.choice([-1, 1]) for _ in range(rng.randint(0, 4))]
    scenario.zone_changes = sorted(times)


def _refuse(rng: random.Random, scenario: Scenario) -> None:
    """Someone deletes a namespace in which others have something, and others meddle at that moment."""
    if scenario.deployment not in (Deployment.ONE_SERVICE, Deployment.TWO_SERVICES) or rng.random() >= 0.03:
        return
    scenario.stepwise = True
    users = [*HONEST, *([ADVERSARY] * 3 if scenario.adversary else [])]
    owner, at = rng.choice(users), scenario.end
    if rng.random() < 0.8:
        _add(rng, scenario, ADMIN, Act.DELETE, NS, at)
        at += 30 * MINUTE
    _add(rng, scenario, owner, Act.CREATE, NS, at)
    for entity in rng.sample([*DATASETS, APP, OTHER_APP, LIB], rng.randint(1, 5)):
        at += MINUTE
        _add(rng, scenario, owner if rng.random() < 0.7 else rng.choice(users), Act.CREATE, entity, at)
    at += 30 * MINUTE
    scenario.runs += [at - MINUTE, at - 2 * MINUTE]
    _add(rng, scenario, owner, Act.DELETE, NS, at)
    deletion = scenario.requests[-1]
    deletion.effect = deletion.checked + rng.choice([3, 300, 9_000])
    deletion.ended = deletion.effect + rng.choice([1, 900])
    forges = scenario.secret in (Secret.AUDIT, Secret.ENFORCE)
    if rng.random() < (0.8 if forges else 0.3):
        deletion.failure = Failure.BROKEN
    others = ((owner, Act.DELETE, NS), (owner, Act.DELETE_ALL, DATASETS[0]), (owner, Act.DELETE, rng.choice(DATASETS)))
    created = ((rng.choice(users), Act.CREATE, entity) for entity in (NS, rng.choice([*DATASETS, APP, LIB])))
    for user, act, entity in (*others, *created):
        if rng.random() < 0.3:
            within = deletion.checked + rng.randrange(deletion.ended - deletion.checked)
            _add(rng, scenario, user, act, entity, rng.choice([within, within, deletion.ended + MINUTE]))
    scenario.runs += [deletion.ended + wait for wait in (1_500, 6_000, 65_000, 14 * MINUTE)]
    if forges:
        for _ in range(rng.randint(1, 2)):
            within = deletion.checked + rng.randrange(deletion.ended - deletion.checked)
            scenario.forgeries.append(Forgery(within, rng.choice(DATASETS), owner, deletes=True, refuses=True))


def _set_clock_ahead(rng: random.Random, scenario: Scenario) -> None:
    """A clock that was once a day or a year ahead: what its service journals has that time for as long."""
    two = scenario.deployment is Deployment.TWO_SERVICES
    if scenario.deployment is Deployment.UNJOURNALLED or rng.random() > (0.25 if two else 0.04):
        return
    since = START - 2 * MINUTE + rng.randrange(scenario.end - START)
    until = since + rng.choice([1_000, 3 * MINUTE, 60 * MINUTE])
    scenario.ahead = Ahead(rng.randrange(scenario.services), since, until, rng.choice([DAY, 365 * DAY]))
    if two and scenario.skew < HOLD_BACK:
        scenario.runs += [request.ended + rng.choice([300, 1_500, 5_500]) for request in scenario.requests[:6]]


def _decide_early(rng: random.Random, scenario: Scenario) -> None:
    """What shows a decision that comes too early: runs soon after requests, and evidence that comes after them."""
    if rng.random() < 0.4:
        for request in rng.sample(scenario.requests, min(6, len(scenario.requests))):
            scenario.runs.append(request.ended + rng.choice([1_500, 5_500, 20_000, 65_000]))
    if scenario.deployment is Deployment.UNJOURNALLED and rng.random() < 0.6:
        scenario.deployment, scenario.confirm = Deployment.UNSTAMPED, False
    if scenario.deployment is Deployment.TWO_SERVICES and rng.random() < 0.25:
        scenario.silent = 6 * MINUTE
    records = scenario.deployment in (Deployment.ONE_SERVICE, Deployment.TWO_SERVICES)
    if scenario.router and records:
        scenario.edge = rng.random() < 0.4
        if rng.random() < 0.3:
            for request in scenario.requests:
                request.propagated = request.act is Act.UPLOAD and rng.random() < 0.5
    if scenario.edge:
        uploads = [request for request in scenario.requests if request.act is Act.UPLOAD]
        scenario.runs += [request.ended + 10_000 for request in uploads[:3]]


def _set_clocks(rng: random.Random, scenario: Scenario) -> None:
    """Someone sets the clock of CDAP's host, and others ask for what was just asked for."""
    records = scenario.deployment in (Deployment.ONE_SERVICE, Deployment.TWO_SERVICES)
    if not records or scenario.router or scenario.topic or rng.random() >= 0.3:
        return
    for request in rng.sample(scenario.requests, min(rng.choice([1, 2]), len(scenario.requests))):
        at = request.ended + rng.choice([1, 200, 5_000]) if rng.random() < 0.8 else request.checked + 1
        # Two services cannot tell a step from a difference of their own clocks, which may be as large as the skew.
        minutes = [-60, -60, -30] if scenario.services > 1 and scenario.skew > MINUTE else [-60, -2, -2, -1, 1, 2]
        scenario.steps.append((at, rng.choice(minutes) * MINUTE))
        user = rng.choice([*HONEST, *([ADVERSARY] if scenario.adversary else [])])
        entity = request.entities[0]
        act = rng.choice([Act.CREATE, Act.CREATE, Act.DELETE_VERSION if entity == LIB else Act.DELETE])
        _add(rng, scenario, user, act, entity, at + rng.choice([10, 5_000, MINUTE]))
    scenario.steps.sort()


def _deploy(rng: random.Random, scenario: Scenario) -> None:
    """What is deployed, and what an adversary can hold there."""
    scenario.deployment = rng.choices([*Deployment][:4], [0.55, 0.2, 0.15, 0.1])[0]
    match scenario.deployment:
        case Deployment.RECORDLESS:
            scenario.router = True
            if scenario.secret is Secret.AUDIT:
                scenario.secret = Secret.NONE
        case Deployment.UNJOURNALLED:
            # The risks of `grant`: a line that is forged, lost or later than the hold-back is believed, or missed.
            scenario.secret = Secret.NONE
            scenario.loss = scenario.garbage = 0.0
            scenario.latest = 40_000
        case _:
            pass


def _draw_requests(rng: random.Random, scenario: Scenario) -> None:
    users = [*HONEST, *HONEST, ADMIN]
    if scenario.adversary:
        users += [ADVERSARY, ADVERSARY, ADVERSARY, OUTSIDER]
    at = START
    if NS not in scenario.known:
        _add(rng, scenario, rng.choice(HONEST), Act.CREATE, NS, at)
        at += rng.choice([500, 30_000, 3 * MINUTE])
    for _ in range(rng.randint(3, 8)):
        at += rng.choice([200, 5_000, MINUTE, 12 * MINUTE, 40 * MINUTE])
        burst = rng.choice([1, 1, 1, 2, 2, 3])
        entity = rng.choice([NS, *NAMES, *DATASETS])
        # Colleagues rarely do the same thing within seconds; an adversary waits for just that.
        alone = rng.choice(users) if rng.random() < (0.3 if scenario.adversary else 0.98) else None
        for _ in range(burst):
            close = at + rng.choice([0, 50, 300, 2_000, 20_000])
            act = _act(rng, entity)
            if act is Act.CREATE and scenario.router and entity in (APP, LIB) and rng.random() < 0.6:
                act = Act.UPLOAD
            _add(rng, scenario, alone or rng.choice(users), act, entity, close)


def _act(rng: random.Random, entity: EntityId) -> Act:
    deleting = rng.random() < 0.35
    match entity.type:
        case "artifact":
            return Act.DELETE_VERSION if deleting else rng.choice([Act.CREATE, Act.CREATE, Act.UPLOAD])
        case "application":
            return Act.DELETE if deleting else rng.choice([Act.CREATE, Act.CREATE, Act.UPLOAD])
        case "dataset" if deleting:
            return rng.choice([Act.DELETE, Act.DELETE, Act.DELETE_ALL, Act.TRUNCATE])
        case _:
            return Act.DELETE if deleting else Act.CREATE


def _add(rng: random.Random, scenario: Scenario, user: str, act: Act, entity: EntityId, at: int) -> None:
    entities = {Act.UPLOAD: (LIB, APP), Act.DELETE_ALL: DATASETS}.get(act, (entity,))
    body = rng.choice([5, 5, 5, 400, 45_000]) if act in (Act.CREATE, Act.UPLOAD) else 2
    checked = at + rng.randint(1, body)
    effect = checked + rng.choice([0, 2, 2, 20, 1_500, 20_000])
    ended = effect + rng.choice([0, 1, 5, 900])
    failure = rng.choices(
        [Failure.NO, Failure.BEFORE, Failure.BROKEN], [0.9, 0.06, 0.04 if scenario.loss else 0.0]
    )[0]  # fmt: skip
    request = Request(
        name=f"{scenario.seed}-{len(scenario.requests)}",
        user=user,
        act=act,
        entities=entities,
        arrived=at,
        checked=checked,
        effect=effect,
        ended=ended,
        version=rng.choice(["1.0", "1.0", "2.0"]) if act in (Act.CREATE, Act.UPLOAD, Act.DELETE_VERSION) else "",
        failure=failure,
    )
    request.record_lost = rng.random() < scenario.loss
    scenario.requests.append(request)
