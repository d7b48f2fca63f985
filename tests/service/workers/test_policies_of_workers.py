"""Whatever happens to the owner's policies and its workers, each worker decides by what the owner says it does.

A simulation without processes: real policy sets, messages as bytes, replicas that are as slow as chance wants.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from unittest.mock import Mock

import msgspec
import pytest
from msgspec import structs

from ranger_cdap.config import PluginSettings, Settings
from ranger_cdap.engine import AccessRequest, EngineOptions
from ranger_cdap.errors import PolicySetError
from ranger_cdap.policies.refresh.documents import Documents, PolicySet, after_deltas, compile_set, with_users
from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from ranger_cdap.policies.refresh.refresh_state import Instant, Limits, PolicyState, RefresherState
from ranger_cdap.service.workers.messages import (
    FullSet,
    InEffect,
    Lost,
    NextSet,
    PolicyNews,
    Serve,
    decode_to_owner,
    decode_to_worker,
    encode,
)
from ranger_cdap.service.workers.policy_replica import PolicyReplica
from ranger_cdap.service.workers.roster import Outgoing, Roster
from ranger_cdap.service.workers.worker import Worker as WorkerProcess
from tests.policies.documents import SERVICE, policies, policy, roles, users
from tests.policies.refresh.test_refresher_deltas import CREATE, UPDATE, change, delta

USERS = ("alice", "bob", "carol")
OPTIONS = EngineOptions()
INTERVAL, MAX_STALENESS = 30.0, 3600.0
SETTINGS = Settings(plugin=PluginSettings(poll_interval=INTERVAL, max_staleness=MAX_STALENESS))


@dataclass
class Clock:
    """Both clocks of one machine."""

    seconds: float = 1_000.0

    def __call__(self) -> Instant:
        return Instant(self.seconds, self.seconds)


def decides(snapshot: Snapshot) -> tuple[object, ...]:
    """All that decisions depend on: who may read, whose groups are which, and how fresh that is."""
    asked = {"instance": "cdap", "namespace": "ns1"}
    engine = snapshot.engine
    allowed = engine and [
        engine.evaluate(AccessRequest(resource=asked, access_type="read", user=user)).allowed for user in USERS
    ]
    return snapshot.state, allowed, [snapshot.groups_of(user) for user in USERS], snapshot.number, snapshot.versions


@dataclass
class Worker:
    """A worker's replica, and the messages that have not reached it or the owner."""

    replica: PolicyReplica
    to_worker: deque[bytes] = field(default_factory=deque)
    to_owner: deque[bytes] = field(default_factory=deque)
    serves: bool = False

    def take_one(self) -> None:
        match decode_to_worker(self.to_worker.popleft()):
            case PolicyNews() as news:
                self.to_owner.append(encode(self.replica.take(news)))
            case Serve():
                self.serves = True


class Simulation:
    """An owner's refreshes, and workers that come, lag, lose their place and are killed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.clock = Clock()
        self.version = 1
        self.state = RefresherState(Limits(INTERVAL, MAX_STALENESS), self.clock())
        self.roster = Roster()
        self.workers: dict[int, Worker] = {}
        self.kinds: set[str] = set()
        self.refreshed(self.full())

    def full(self) -> PolicySet:
        found = policies(self.version, policy(1, self.draw.choice(USERS)))
        return compile_set(Documents(found, roles(self.version), None, users(1)), SERVICE, OPTIONS)

    def changed(self, held: PolicySet) -> PolicySet:
        text = delta(self.version, change(UPDATE, 1, self.draw.choice(USERS)), change(CREATE, 1 + self.version, "dora"))
        found = after_deltas(held, text, SERVICE)
        assert found is not None
        return found

    def regrouped(self, held: PolicySet) -> PolicySet:
        return with_users(held, users(self.version, **{self.draw.choice(USERS): [f"group{self.version}"]}))

    def refreshed(self, in_effect: PolicySet | None, *, contact: bool = True) -> None:
        now = self.clock()
        age = 0.0 if contact else self.state.age + now.since(self.state.now)
        contact_at = now.wall if contact else self.state.contact_at
        self.state = structs.replace(self.state, now=now, in_effect=in_effect, age=age, contact_at=contact_at)
        self.tell(self.roster.changed(SERVICE, self.state))

    def tell(self, told: tuple[Roster, Outgoing]) -> None:
        self.roster, messages = told
        for number, message in messages:
            self.workers[number].to_worker.append(encode(message))
            if isinstance(message, PolicyNews):
                self.kinds.add(type(message.change).__name__)

    def step(self) -> None:
        held, number = self.state.in_effect, self.draw.randrange(4)
        worker = self.workers.get(number)
        match self.draw.randrange(12):
            case 0 | 1 | 2 if worker is None:
                self.workers[number] = Worker(PolicyReplica(SETTINGS, SERVICE, OPTIONS, self.clock))
                self.tell(self.roster.joined(number))
            case 0 if worker is not None and self.draw.random() < 0.3:
                del self.workers[number]  # killed, with all messages that were on their way
                self.roster = self.roster.left(number)
            case 1 | 2 | 3 | 4 if worker is not None and worker.to_worker:
                worker.take_one()
            case 5 | 6 if worker is not None and worker.to_owner:
                match decode_to_owner(worker.to_owner.popleft()):
                    case InEffect() as message:
                        self.tell(self.roster.confirmed(number, message))
                    case Lost():
                        self.tell(self.roster.lost(number, SERVICE))
            case 7 if worker is not None:
                self.tell(self.roster.lost(number, SERVICE))
            case 8:
                self.version += 1
                self.refreshed(self.changed(held) if held is not None and self.draw.random() < 0.7 else self.full())
            case 9 if held is not None:
                self.version += 1
                grouped = self.regrouped(self.changed(held) if self.draw.random() < 0.5 else held)
                self.refreshed(grouped)
            case 10:
                self.refreshed(None if self.draw.random() < 0.2 else held, contact=self.draw.random() < 0.5)
            case 11:
                self.clock.seconds += self.draw.choice((1.0, INTERVAL, 4 * INTERVAL, MAX_STALENESS))

    def check(self) -> None:
        for number, member in self.roster.members.items():
            worker = self.workers[number]
            assert not worker.serves or member.serves, "a worker serves that the owner does not count"
            confirmed = member.held[SERVICE].decides
            assert worker.replica.snapshot.number >= confirmed or not worker.replica.snapshot.number
            if worker.replica.snapshot.state.decides:
                assert self.clock().wall - (worker.replica.snapshot.contact_at or 0) <= MAX_STALENESS
        in_effect = self.state.in_effect
        if in_effect is not None and self.roster.is_everywhere(SERVICE, in_effect.number):
            for worker in self.workers.values():
                if worker.serves:
                    assert worker.replica.snapshot.number == in_effect.number, "in effect everywhere, and it is not"

    def settle(self) -> None:
        """Let every message arrive."""
        while any(worker.to_worker or worker.to_owner for worker in self.workers.values()):
            for number, worker in self.workers.items():
                if worker.to_worker:
                    worker.take_one()
                if worker.to_owner:
                    message = decode_to_owner(worker.to_owner.popleft())
                    assert isinstance(message, InEffect | Lost)
                    self.tell(
                        self.roster.confirmed(number, message)
                        if isinstance(message, InEffect)
                        else self.roster.lost(number, SERVICE)
                    )


@pytest.mark.parametrize("seed", range(60))
def test_workers_decide_by_the_owners_policies_or_are_known_not_to(seed: int) -> None:
    simulation = Simulation(seed)
    for _ in range(150):
        simulation.step()
        simulation.check()
    simulation.settle()
    simulation.check()
    reference = PolicyReplica(SETTINGS, SERVICE, OPTIONS, simulation.clock)
    found = simulation.state.in_effect
    _, messages = Roster().changed(SERVICE, simulation.state)[0].joined(0)
    reference.take(decode_to_worker(encode(messages[0][1])))  # type: ignore[arg-type]
    for worker in simulation.workers.values():
        assert worker.serves
        assert decides(worker.replica.snapshot) == decides(reference.snapshot)
        if found is not None and worker.replica.snapshot.engine is not None:
            asked = AccessRequest(resource={"instance": "cdap", "namespace": "ns1"}, access_type="read", user="alice")
            assert worker.replica.snapshot.engine.evaluate(asked) == found.engine.evaluate(asked)


def test_the_simulation_meets_every_kind_of_news() -> None:
    met: set[str] = set()
    for seed in range(10):
        simulation = Simulation(seed)
        for _ in range(150):
            simulation.step()
        met |= simulation.kinds
    assert met == {"FullSet", "NextSet", "SamePolicies", "NoPolicies"}


def test_a_change_is_sent_as_such_to_a_worker_that_has_the_set_before() -> None:
    simulation = Simulation(0)
    simulation.workers[0] = Worker(PolicyReplica(SETTINGS, SERVICE, OPTIONS, simulation.clock))
    simulation.tell(simulation.roster.joined(0))
    held = simulation.state.in_effect
    assert held is not None
    simulation.version += 1
    simulation.refreshed(simulation.changed(held))
    first, second = (decode_to_worker(frame) for frame in simulation.workers[0].to_worker)
    assert isinstance(first, PolicyNews)
    assert isinstance(second, PolicyNews)
    assert isinstance(first.change, FullSet)
    assert isinstance(second.change, NextSet)


def test_a_worker_without_news_lets_its_policies_expire() -> None:
    simulation = Simulation(1)
    replica = PolicyReplica(SETTINGS, SERVICE, OPTIONS, simulation.clock)
    _, messages = simulation.roster.joined(0)
    news = messages[0][1]
    assert isinstance(news, PolicyNews)
    replica.take(news)
    states = []
    for seconds in (0.0, 3 * INTERVAL + 1, MAX_STALENESS - 3 * INTERVAL - 1, 1.0):
        simulation.clock.seconds += seconds
        states.append(replica.snapshot.state)
    assert states == [PolicyState.FRESH, PolicyState.STALE, PolicyState.STALE, PolicyState.EXPIRED]
    assert replica.snapshot.engine is None


@pytest.mark.parametrize("frame", [b"", b"\xc1", msgspec.msgpack.encode(["Forward", 1]), encode(Serve())])
def test_what_is_no_message_to_the_owner_is_an_error(frame: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_to_owner(frame)


@pytest.mark.parametrize("error", [PolicySetError("unusable"), MemoryError(), RuntimeError("a defect")])
def test_a_worker_that_cannot_take_the_policies_ends_whatever_the_error(error: Exception) -> None:
    """It would decide by old ones, for as long as the owner's age of them lets it."""
    worker = WorkerProcess.__new__(WorkerProcess)
    worker._replicas = {"cdapdev": Mock(take=Mock(side_effect=error))}
    worker._stopping = worker._failed = False
    worker._server, worker._channel = Mock(), Mock()

    async def follows() -> None:
        worker._news, worker._may_serve = asyncio.Queue(), asyncio.Event()
        worker._news.put_nowait(Mock(service="cdapdev"))
        await worker._follow()

    asyncio.run(follows())
    assert (worker._failed, worker._stopping) == (True, True)
    worker._server.stop_serving.assert_called_once()
