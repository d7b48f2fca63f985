"""Laws of whole runs: disorder, repetition and Ranger's moods change nothing, and who comes later gains nothing.

An example is a world of many entities, each with a history of its own, because a run takes seconds whatever it reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.config import Secret, Settings
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import AdminUnreachable, ConflictingChange
from spark_sync.event import EntityEvent, Kind, Strength
from spark_sync.fold import fold
from spark_sync.life import Life, State
from tests.spark_sync.conftest import Ranger, new_service, settings_of
from tests.spark_sync.in_force import download, engine_of
from tests.spark_sync.push_world import Watched
from tests.spark_sync.told import CALLER, MARKER, TAKEN, Told, audited, created, deleted, millis, put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ranger_cdap.policies.ranger_admin import RangerAdmin

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SETTINGS = settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink a world would take hours
    suppress_health_check=list(HealthCheck),
)
PEOPLE = ("alice", "bob", "svc", "cdap")
ENTITIES = 60
HOLD_BACK, WINDOW = 120, 10
LAST = 900
"""Histories are of so many seconds; what is told of the last of them is decided by the last run."""
RUNS = (500, LAST + 2 * HOLD_BACK + 2 * WINDOW)
KINDS = {"audit": "audit", "data-plane": "data-plane", "router": "http-access"}


@dataclass(frozen=True)
class Happened:
    """Somebody creates or deletes what a source tells of so many seconds later."""

    kind: Kind
    user: str
    at: int
    source: str
    delay: int

    @property
    def readable(self) -> int:
        return self.at + self.delay


HAPPENED = st.builds(
    Happened,
    kind=st.sampled_from([Kind.CREATE, Kind.CREATE, Kind.CREATE, Kind.DELETE]),
    user=st.sampled_from(PEOPLE),
    at=st.integers(0, LAST),
    source=st.sampled_from(["audit", "data-plane", "data-plane", "router"]),
    delay=st.integers(0, HOLD_BACK),
)
# Of two that a source dates the same nobody knows which was first; that is for the fold's own tests.
HISTORY = st.lists(HAPPENED, min_size=1, max_size=6, unique_by=lambda one: (one.source, one.kind, one.at))
HISTORIES = st.lists(HISTORY, min_size=ENTITIES, max_size=ENTITIES)


def dataset(number: int) -> EntityId:
    return EntityId("dataset", (f"ns{number % 7}", f"d{number}"))


def told(entity: EntityId, happened: Happened) -> Told:
    """The line of the source."""
    user, at = happened.user, happened.at
    if happened.source == "audit":
        return audited(user, entity, at, happened.kind.value)
    if happened.source == "data-plane":
        return (created if happened.kind is Kind.CREATE else deleted)(user, entity, at, seconds=0)
    return put(user, entity, at) if happened.kind is Kind.CREATE else gone(user, entity, at)


def gone(user: str, entity: EntityId, at: int) -> Told:
    line = put(user, entity, at)
    return Told(line.source, line.line.replace('"PUT ', '"DELETE '))


def event(entity: EntityId, happened: Happened) -> EntityEvent:
    """What the line says, if it is read as docs/reference/events.md tells."""
    is_deletion = happened.kind is Kind.DELETE
    return EntityEvent(
        entity=entity,
        kind=happened.kind,
        user=happened.user,
        time=millis(happened.at) + (999 if is_deletion and happened.source == "router" else 0),
        source=happened.source,
        strength=Strength.AUTHORITATIVE if happened.source == "audit" else Strength.AMBIGUOUS,
        id=told(entity, happened).line,
    )


class World:
    """A ledger of its own with a service of its own, whose Ranger is in a mood."""

    def __init__(self, spark: SparkSession, ranger: Ranger, directory: Path) -> None:
        self.spark, self.ranger, self.directory = spark, ranger, directory
        self.files = 0
        for source in KINDS:
            (directory / source).mkdir(parents=True)
        sources: dict[str, dict[str, Any]] = {
            source.replace("-", "_"): {"kind": kind, "path": directory / source, "callers": (CALLER,)}
            for source, kind in KINDS.items()
        }
        sources["router"]["marker"] = Secret(MARKER)
        self.settings: Settings = settings_of(ranger, directory, **sources)
        self.take_baseline()

    def take_baseline(self) -> None:
        from spark_sync.delta_ledger import DeltaLedger

        DeltaLedger(self.spark, self.settings.sync.state_dir, "cdap").enter_baseline(TAKEN, ())

    def run(self, lines: Iterable[Told], at: int) -> None:
        """A run that finds these lines, in files, and ends with nothing left to do."""
        from spark_sync.job import run_once

        by_source: dict[str, list[str]] = {}
        for one in lines:
            by_source.setdefault(one.source, []).append(one.line)
        for source, found in by_source.items():
            self.files += 1
            path = self.directory / source / f"{self.files}.jsonl"
            path.write_text("".join(line + "\n" for line in found), encoding="utf-8")
        report = run_once(self.settings, self.spark, now=millis(at), ranger=in_a_mood(self.ranger))
        assert report.trouble == ""
        assert [source.rejected for source in report.sources] == [0, 0, 0]
        assert {report.counts[state] for state in (State.PENDING, State.FAILED, State.CLOSING)} == {0}

    def lives(self) -> list[Life]:
        from spark_sync.delta_ledger import DeltaLedger

        return DeltaLedger(self.spark, self.settings.sync.state_dir, "cdap").lives(list(State))

    def allowed(self) -> Counter[tuple[str, EntityId]]:
        """How many of the access types each may have on each entity, by the policies a plugin would download."""
        engine = engine_of(download(self.ranger))
        return Counter(
            (user, entity)
            for entity in map(dataset, range(ENTITIES))
            for user in PEOPLE
            for access in ACCESS_TYPES
            if may(engine, user, access, entity)
        )


def may(engine: PolicyEngine, user: str, access: str, entity: EntityId) -> bool:
    request = AccessRequest(
        resource=to_resource(entity, "cdap"), access_type=access, user=user, groups=frozenset({"public"}), owner=user
    )
    return engine.evaluate(request).allowed


def in_a_mood(ranger: Ranger) -> Watched:
    """Every third request meets another change, and once Ranger is not there."""

    def refuse(_: str, number: int) -> None:
        if number == 2:
            raise AdminUnreachable("503")
        if number % 3 == 0:
            raise ConflictingChange("another change")

    return Watched(ranger.sync, before=refuse)


@pytest.fixture
def new_world(
    spark: SparkSession, embedded: tuple[str, RangerAdmin, RangerAdmin], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], World]:
    """Makes a world for each example."""
    return lambda: World(spark, new_service(embedded), tmp_path_factory.mktemp("world"))


def in_order_and_once(world: World, history: Sequence[Happened], entity: EntityId) -> tuple[Life, ...]:
    """What the fold makes of all events at once, each once and in order."""
    from spark_sync.job import fold_settings

    until = fold_settings(world.settings, TAKEN, millis(RUNS[-1]))
    return fold(entity, sorted({event(entity, one) for one in history}, key=lambda one: one.position), (), until)


def facts(lives: Iterable[Life]) -> list[tuple[Any, ...]]:
    """What a life is, without how far its grant has come."""
    return sorted(
        (life.entity, life.number, life.creator, life.begun.time, life.ended and life.ended.time, life.source)
        for life in lives
    )


@given(data=st.data(), histories=HISTORIES)
@SETTINGS
def test_disorder_repetition_and_conflicts_end_as_if_all_had_been_told_in_order_and_once(
    new_world: Callable[[], World], data: st.DataObject, histories: list[list[Happened]]
) -> None:
    world = new_world()
    everything = [(dataset(n), one) for n, history in enumerate(histories) for one in history]
    told_before: list[Told] = []
    since = -1
    for now in RUNS:
        new = [told(entity, one) for entity, one in everything if since < one.readable <= now]
        again = data.draw(st.lists(st.sampled_from([*new, *told_before]), max_size=20)) if new or told_before else []
        world.run(data.draw(st.permutations([*new, *again])), at=now)
        told_before += new
        since = now
    expected = [life for n, history in enumerate(histories) for life in in_order_and_once(world, history, dataset(n))]
    assert facts(world.lives()) == facts(expected)
    owners = {(life.creator, life.entity) for life in expected if life.is_open and life.accesses}
    assert world.allowed() == {owner: len(ACCESS_TYPES) for owner in owners}


@given(
    histories=HISTORIES, late=st.lists(st.tuples(st.integers(0, ENTITIES - 1), HAPPENED), min_size=120, max_size=120)
)
@SETTINGS
def test_whatever_is_told_later_nobody_gains_what_somebody_has_made(
    new_world: Callable[[], World], histories: list[list[Happened]], late: list[tuple[int, Happened]]
) -> None:
    """Late are creations of any time in the history, and all that was told before, once more and in reverse."""
    world = new_world()
    lines = [told(dataset(n), one) for n, history in enumerate(histories) for one in history]
    world.run(lines, at=RUNS[-1])
    before, rows = world.allowed(), world.lives()
    alive = {life.entity for life in rows if life.is_open}
    creations = [told(dataset(n), one) for n, one in late if one.kind is Kind.CREATE and dataset(n) in alive]
    world.run([*reversed(lines), *creations], at=RUNS[-1] + 1)
    assert world.allowed() == before
    assert facts(world.lives()) == facts(rows)
