"""Laws of whole runs: disorder, repetition and Ranger's moods change nothing, and who comes later gains nothing.

An example is a world of many entities, each with a history of its own. Each law is searched for a breach without Spark,
and in worlds whose ledger is written in turn without it and on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.config import Secret, Settings
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import AdminUnreachable, ConflictingChange
from spark_sync.ledger.event import ChangeKind, EntityEvent
from spark_sync.ledger.fold import fold
from spark_sync.ledger.ledger import Baseline
from spark_sync.ledger.life import PENDING_STATES, Life, State
from spark_sync.sources.line_reader import read_line
from tests.spark_sync.conftest import WITHOUT_SPARK, Ranger, Way, new_service, on_spark, settings_of
from tests.spark_sync.grants.fixtures import Watched
from tests.spark_sync.grants.in_effect import download, engine_of
from tests.spark_sync.recorded_lines import (
    CALLER,
    JOURNAL,
    MARKER,
    OTHER_PROCESS,
    PROCESS,
    TAKEN,
    Lines,
    audited,
    created,
    deleted,
    millis,
    put,
    write_watermark,
)
from tests.spark_sync.sources.reading import READERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ranger_cdap.ranger.client.ranger_admin import RangerAdmin

pytestmark = pytest.mark.slow

SETTINGS = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink a world would take hours
    suppress_health_check=list(HealthCheck),
)
PEOPLE = ("alice", "bob", "svc", "cdap")
ENTITIES = 60
HOLD_BACK, WINDOW = 120, 10
LAST = 900
"""Histories are of so many seconds; what is told of the last of them is decided by the last run."""
RUNS = (500, LAST + 2 * HOLD_BACK + 2 * WINDOW)
RETRIES = 5
DOUBTED = (State.UNCONFIRMED, State.CONTESTED, State.SUSPENDED)
KINDS = {"audit": "audit", "data-plane": "data-plane", "router": "http-access"}


@dataclass(frozen=True)
class Happened:
    """Somebody creates or deletes what a source tells of so many seconds later; what CDAP takes is `seconds`."""

    kind: ChangeKind
    user: str
    at: int
    source: str
    delay: int
    seconds: float
    process: str

    @property
    def readable(self) -> float:
        return self.at + self.seconds + self.delay


HAPPENED = st.builds(
    Happened,
    kind=st.sampled_from([ChangeKind.CREATE, ChangeKind.CREATE, ChangeKind.CREATE, ChangeKind.DELETE]),
    user=st.sampled_from(PEOPLE),
    at=st.integers(0, LAST),
    source=st.sampled_from(["audit", "data-plane", "data-plane", "data-plane", "router"]),
    delay=st.integers(0, HOLD_BACK - 10),
    seconds=st.sampled_from([0, 0.01, 0.01, 5]),
    process=st.sampled_from([PROCESS, PROCESS, OTHER_PROCESS]),
)
HISTORY = st.lists(HAPPENED, min_size=1, max_size=6)
HISTORIES = st.lists(HISTORY, min_size=ENTITIES, max_size=ENTITIES)
LATE = st.lists(st.tuples(st.integers(0, ENTITIES - 1), HAPPENED), min_size=120, max_size=120)


def dataset(number: int) -> EntityId:
    return EntityId("dataset", (f"ns{number % 7}", f"d{number}"))


def told(entity: EntityId, happened: Happened) -> Lines:
    """The lines of the source."""
    user, at = happened.user, happened.at
    if happened.source == "audit":
        return audited(user, entity, at, happened.kind.value)
    if happened.source == "data-plane":
        does = created if happened.kind is ChangeKind.CREATE else deleted
        return does(user, entity, at, seconds=happened.seconds, process=happened.process)
    return put(user, entity, at) if happened.kind is ChangeKind.CREATE else gone(user, entity, at)


def gone(user: str, entity: EntityId, at: int) -> Lines:
    line = put(user, entity, at)
    return Lines(line.source, line.text.replace('"PUT ', '"DELETE '))


def events(lines: Lines, configured: Settings) -> Iterator[EntityEvent]:
    """What the lines say."""
    (source,) = (source for source in configured.sync.sources if source.name == lines.source)
    for line in lines.text.splitlines():
        reading = read_line(READERS[source.kind], line.encode(), source, "cdap", millis(RUNS[-1]))
        assert not reading.rejected
        yield from reading.events


class World:
    """A ledger of its own with a service of its own, whose Ranger is in a mood."""

    def __init__(self, ranger: Ranger, directory: Path) -> None:
        self.ranger, self.directory = ranger, directory
        self.files = 0
        for source in KINDS:
            (directory / source).mkdir(parents=True)
        sources: dict[str, dict[str, Any]] = {
            source.replace("-", "_"): {"kind": kind, "path": directory / source, "callers": (CALLER,)}
            for source, kind in KINDS.items()
        }
        sources["router"]["marker"] = Secret(MARKER)
        self.settings = settings_of(ranger, directory, **sources)
        self.take_baseline()

    def take_baseline(self) -> None:
        from spark_sync.ledger.delta_ledger import DeltaLedger
        from spark_sync.ledger.ledger_version import verify

        ledger = DeltaLedger(self.settings.sync.state_dir, "cdap")
        verify(ledger, noting=True)
        ledger.enter_baseline(TAKEN, (), journals={"data-plane": JOURNAL})

    def run(self, lines: Iterable[Lines], at: int, way: Way) -> None:
        """Runs that find these lines, in files, until one is without trouble: it leaves nothing to do."""
        from spark_sync.job import run_once

        by_source: dict[str, list[str]] = {}
        for one in lines:
            by_source.setdefault(one.source, []).append(one.text)
        for source, found in by_source.items():
            self.files += 1
            path = self.directory / source / f"{self.files}.jsonl"
            path.write_text("".join(line + "\n" for line in found), encoding="utf-8")
        write_watermark(self.directory / "data-plane", millis(at - HOLD_BACK))
        ranger = in_a_mood(self.ranger)
        for _ in range(RETRIES):
            report = run_once(self.settings, way.spark, now=millis(at), few=way.few, ranger=ranger)
            assert [source.rejected for source in report.sources] == [0, 0, 0]
            left = [life for life in report.waiting if life.state in PENDING_STATES or life.revoke]
            if not (report.trouble or left):
                break
        assert (report.trouble, left) == ("", [])
        assert {report.counts[state] for state in (State.PENDING, State.FAILED, State.CLOSING)} == {0}

    def lives(self) -> list[Life]:
        from spark_sync.ledger.delta_ledger import DeltaLedger

        return DeltaLedger(self.settings.sync.state_dir, "cdap").lives(list(State))

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
    """One request in three meets another change, and once Ranger is not there."""
    chance = Random(0)

    def refuse(_: str, number: int) -> None:
        if number == 2:
            raise AdminUnreachable("503")
        if chance.random() < 1 / 3:
            raise ConflictingChange("another change")

    return Watched(ranger.sync, before=refuse)


@pytest.fixture
def new_world(
    embedded: tuple[str, RangerAdmin, RangerAdmin], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], World]:
    """Makes a world for each example."""
    return lambda: World(new_service(embedded), tmp_path_factory.mktemp("world"))


def in_order_and_once(world: World, history: Sequence[Happened], entity: EntityId) -> tuple[Life, ...]:
    """What the fold makes of all events at once, each once and in order."""
    from spark_sync.grants.plan_settings import plan_settings
    from spark_sync.job import fold_settings, known_until
    from spark_sync.sources import service_watermarks

    configured = world.settings
    everything = {event for one in history for event in events(told(entity, one), configured)}
    marks = service_watermarks.read(configured.sync.sources)
    baseline, planning = Baseline(TAKEN, {"data-plane": JOURNAL}), plan_settings(configured)
    known = known_until(configured.sync, marks, millis(RUNS[-1]))
    until = fold_settings(configured.sync, planning, baseline, marks, known)
    return fold(entity, sorted(everything, key=lambda event: (event.position, event.stage)), (), until)


def facts(lives: Iterable[Life]) -> list[tuple[Any, ...]]:
    """What exists and who created what, without how far its grant has come.

    A life that is over and of which nobody knows the creator may be passed over, where its end is known at once.
    """
    return sorted(
        (
            *(life.entity, life.creator or "", life.begun.time, life.ended.time if life.ended else 0),
            *(life.source, life.candidates, life.state if life.state in DOUBTED else ""),
        )
        for life in lives
        if life.is_open or life.creator
    )


def in_disorder(world: World, data: st.DataObject, histories: list[list[Happened]], ways: Sequence[Way]) -> None:
    """Disorder and repetition end as if every event had come in order and once."""
    everything = [(dataset(n), one) for n, history in enumerate(histories) for one in history]
    told_before: list[Lines] = []
    since = -1
    for now in RUNS:
        new = [told(entity, one) for entity, one in everything if since < one.readable <= now]
        again = data.draw(st.lists(st.sampled_from([*new, *told_before]), max_size=20)) if new or told_before else []
        world.run(data.draw(st.permutations([*new, *again])), now, data.draw(st.sampled_from(ways)))
        told_before += new
        since = now
    expected = [life for n, history in enumerate(histories) for life in in_order_and_once(world, history, dataset(n))]
    assert facts(world.lives()) == facts(expected)
    owners = {(life.creator, life.entity) for life in expected if life.state is State.PENDING}
    assert world.allowed() == {owner: len(ACCESS_TYPES) for owner in owners}


def told_late(world: World, data: st.DataObject, histories: list[list[Happened]], ways: Sequence[Way]) -> None:
    """Whatever is told later, nobody gains what somebody has made.

    Late are creations of any time in the history, and all that was told before, once more and in reverse. Anyone who
    was granted something may lose it, where it turns out that somebody else may have been first.
    """
    late = data.draw(LATE)
    lines = [told(dataset(n), one) for n, history in enumerate(histories) for one in history]
    world.run(lines, RUNS[-1], data.draw(st.sampled_from(ways)))
    before, rows = world.allowed(), world.lives()
    alive = {life.entity for life in rows if life.is_open and life.state in (State.APPLIED, State.KNOWN)}
    creations = [told(dataset(n), one) for n, one in late if one.kind is ChangeKind.CREATE and dataset(n) in alive]
    world.run([*reversed(lines), *creations], RUNS[-1] + 1, data.draw(st.sampled_from(ways)))
    assert world.allowed() <= before
    after = {(life.entity, life.number): life for life in world.lives()}
    for life in rows:
        now = after.pop((life.entity, life.number))
        assert now.creator in (life.creator, None)
        assert (now.begun, now.ended) == (life.begun, life.ended)
    assert after == {}


LAWS = {"in disorder": in_disorder, "told late": told_late}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@given(data=st.data(), histories=HISTORIES)
@settings(SETTINGS, max_examples=6)
def test_the_law_holds_without_spark(
    new_world: Callable[[], World],
    law: Callable[[World, st.DataObject, list[list[Happened]], Sequence[Way]], None],
    data: st.DataObject,
    histories: list[list[Happened]],
) -> None:
    law(new_world(), data, histories, (WITHOUT_SPARK,))


@pytest.mark.spark
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@given(data=st.data(), histories=HISTORIES)
@settings(SETTINGS, max_examples=2)
def test_the_law_holds_on_spark_and_without_it_in_turn(
    spark: SparkSession,
    new_world: Callable[[], World],
    law: Callable[[World, st.DataObject, list[list[Happened]], Sequence[Way]], None],
    data: st.DataObject,
    histories: list[list[Happened]],
) -> None:
    law(new_world(), data, histories, (on_spark(spark), WITHOUT_SPARK))
