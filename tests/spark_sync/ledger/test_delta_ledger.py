"""The Delta ledger: what it leaves out of a fold, the fold would have ignored; what it wrote, it reads."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.ledger.fold import fold, known_life
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.life import Life, State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_sync.ledger.delta_ledger import DeltaLedger
    from spark_sync.ledger.ledger import History

SECOND = 1_000
START = 1_000_000_000
MINUTE = 60_000
ROUND = 400 * SECOND
UNFINISHED = 300 * SECOND
GIVES = dict.fromkeys(("namespace", "application", "schedule", "dataset", "artifact"), ("read",))
USERS = ("alice", "alice", "alice", "bob", "root", 'a"\\', "\u0000\u2028\U0001f600é")
ALL_BY_FOLDING = set(State) - {State.APPLIED, State.BLOCKED, State.FAILED}
PROCESSES = ("1" * 32, "2" * 32)
SETTINGS = FoldSettings(
    gives=GIVES,
    non_creators=frozenset({"root"}),
    ranks={"router": 30, "data-plane": 20, "audit": 10},
    unfinished_after=UNFINISHED,
    named_elsewhere=True,
)


def entities() -> list[EntityId]:
    found = []
    for n in range(4):
        namespace = f"n{n}"
        found += [
            EntityId("namespace", (namespace,)),
            EntityId("application", (namespace, "App")),
            EntityId("schedule", (namespace, "App", "s")),
            EntityId("schedule", (namespace, "Other", "s")),
            EntityId("dataset", (namespace, "App")),
            EntityId("artifact", (namespace, "App")),
            EntityId("stream", (namespace, "clicks")),
            EntityId("stream_view", (namespace, "clicks", "v")),
        ]
    return found


class Story:
    """Random requests and what is told of them, in the rounds in which a run finds it.

    A line is told in the round in which it was received, or in the next one; nothing that a watermark has passed comes
    later, but for lines of sources that have none.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.rounds: list[list[EntityEvent]] = [[] for _ in range(6)]
        self.number = 0

    def fill(self, first: int, rounds: int, requests: int, *, quiet: bool = False) -> None:
        """Requests in so many rounds; `quiet`: of entities that nothing is in."""
        everything = [each for each in entities() if not quiet or each.type in ("dataset", "artifact")]
        for round_ in range(first, first + rounds):
            for _ in range(requests):
                self._request(round_, self.chance.choice(everything))

    def _request(self, round_: int, entity: EntityId) -> None:
        chance = self.chance
        self.number += 1
        number, at = self.number, START + round_ * ROUND + chance.randrange(ROUND)
        kind = chance.choice([ChangeKind.CREATE, ChangeKind.CREATE, ChangeKind.CREATE, ChangeKind.DELETE])
        if entity.type == "namespace" and chance.random() < 0.5:
            kind = ChangeKind.CREATE
        user = chance.choice(USERS)
        ended = at + chance.choice([0, 5, 2 * SECOND, 20 * SECOND, 200 * SECOND])
        version = chance.choice(["1", "2"]) if entity.type == "artifact" else ""
        scheduled = entity.type == "schedule" and entity.parent is not None
        request = EntityEvent(
            entity, kind, Stage.REQUEST, user, at, ended, "data-plane", f"r{number}",
            outcome=chance.choices(list(Outcome), [0.8, 0.08, 0.12])[0],
            requester=chance.choice(["", "", "", "bob"]), clock=chance.choice(PROCESSES), check=f"{number:032x}",
            request=f"{kind} {entity} {200}", version=version, received=ended + chance.randrange(1, 30 * SECOND),
            caller="records", requested=at - chance.choice([0, 3 * SECOND]),
        )  # fmt: skip
        check = replace(
            request, entity=entity.parent if scheduled and entity.parent else entity, stage=Stage.CHECK, ended=NEVER,
            id=f"c{number}", kind=ChangeKind.CREATE if scheduled else kind, child="schedule" if scheduled else "",
            outcome=chance.choice([Outcome.UNCLEAR, Outcome.NOTHING]) if scheduled else Outcome.UNCLEAR,
            request="", requester="", requested=0, caller="checks", received=at + chance.randrange(1, SECOND),
        )  # fmt: skip
        told = chance.random()
        if told < 0.92:
            self._tell(check)
        if told > 0.12:
            self._tell(request)
        if told < 0.04:
            self._tell(replace(request, stage=Stage.REJECTED, outcome=Outcome.UNCLEAR, id=f"j{number}", check=""))
        if chance.random() < 0.2:
            began = at - at % SECOND
            self._tell(
                replace(
                    request, source="router", user=user if user != "root" else "alice", id=f"l{number}", clock="",
                    check="", started=began, ended=began + 999, received=began, requester="", caller="", requested=0,
                )
            )  # fmt: skip
        if chance.random() < 0.2 and request.outcome is Outcome.DONE:
            self._tell(
                replace(
                    request, source="audit", stage=Stage.MESSAGE, id=f"m{number}", clock="", check="", started=ended,
                    ended=ended, received=ended, request="", version="", requested=0, caller="",
                )
            )  # fmt: skip
        if chance.random() < 0.1:
            asked = at + chance.randrange(ROUND)
            self._tell(
                EntityEvent(
                    entity, chance.choice(list(ChangeKind)), Stage.ANSWER, chance.choice(["", "alice"]), asked,
                    asked + 500, "CDAP", f"a{number}", clock="data-plane", requested=chance.choice([0, at]),
                    received=asked + 500,
                )
            )  # fmt: skip

    def _tell(self, event: EntityEvent) -> None:
        late = self.chance.random() < 0.1 and event.source != "data-plane"
        self.rounds[min((event.received - START) // ROUND + late, len(self.rounds) - 1)].append(event)


def settings_at(round_: int, *, journal: bool) -> FoldSettings:
    """The settings of a run after that round; of a decision service that is silent in some rounds."""
    now = START + (round_ + 1) * ROUND
    if not journal:
        return replace(SETTINGS, baseline=START, until=now)
    mark = START + round_ // 3 * 3 * ROUND + ROUND
    return replace(
        SETTINGS, baseline=START, until=now, journals={"data-plane": mark}, horizons={"data-plane": now}
    )  # fmt: skip


def nothing_is_left(history: History) -> None:
    raise AssertionError(f"{history} is folded again")


def by_place(lives: Iterable[Life]) -> list[Life]:
    return sorted(lives, key=lambda life: (str(life.entity), life.number))


def first_difference(found: list[Life], wanted: list[Life]) -> str:
    mine, theirs = ({(life.entity, life.number): life for life in lives} for lives in (found, wanted))
    for key in sorted(mine.keys() | theirs.keys(), key=str):
        if mine.get(key) != theirs.get(key):
            return f"{key}:\n  found  {mine.get(key)}\n  wanted {theirs.get(key)}"
    return ""


def few_and_quiet(seed: int) -> Story:
    """Many events about anything, then few about what nothing is in."""
    story = Story(seed)
    story.fill(0, 2, 50)
    story.fill(2, 2, 8, quiet=True)
    story.fill(4, 1, 25)
    return story


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
@pytest.mark.parametrize("journal", [True, False], ids=["with a journal", "without a journal"])
def test_folding_through_the_tables_is_folding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, journal: bool
) -> None:
    from spark_sync.ledger.delta_ledger import DeltaLedger

    if journal:  # in parts of few entities
        monkeypatch.setattr("spark_sync.ledger.histories.ENTITIES_OF_A_PART", 3)
    play(few_and_quiet(seed), [DeltaLedger(tmp_path, "cdap")], journal=journal)


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 9))])
@pytest.mark.parametrize("journal", [True, False], ids=["with a journal", "without a journal"])
def test_folding_many_events_through_spread_tables_is_folding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, journal: bool
) -> None:
    """Each table is read once, and spread over parts, several times in a part."""
    from spark_sync.ledger.delta_ledger import DeltaLedger

    monkeypatch.setattr("spark_sync.ledger.parts_to_fold.FEW_QUERIED", 0)
    monkeypatch.setattr("spark_sync.ledger.spread_parts.ENTITIES_OF_A_PART", 7)
    monkeypatch.setattr("spark_sync.ledger.spread_parts.ROWS_AT_A_TIME", 20)
    play(few_and_quiet(seed), [DeltaLedger(tmp_path, "cdap")], journal=journal)


@pytest.mark.spark
def test_folding_on_spark_and_here_in_turn_is_folding(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_sync.ledger.delta_ledger import DeltaLedger

    monkeypatch.setattr("spark_sync.ledger.histories.ENTITIES_OF_A_PART", 3)
    monkeypatch.setattr("spark_sync.ledger.parts_to_fold.FEW_QUERIED", 30)
    monkeypatch.setattr("spark_sync.ledger.spread_parts.ENTITIES_OF_A_PART", 7)
    ledgers = [DeltaLedger(tmp_path, "cdap", lambda: spark, few=few) for few in (5_000, 0)]
    assert play(few_and_quiet(20261121), ledgers, journal=True) >= ALL_BY_FOLDING


def play(story: Story, ledgers: list[DeltaLedger], *, journal: bool) -> set[State]:
    """Add and fold each round by the next of the ledgers, which are one directory; compare with the fold alone."""
    from spark_sync.job import fold_new

    ledger = ledgers[0]
    seen: list[EntityEvent] = []
    states: set[State] = set()
    listed = [entity for entity in entities() if entity.parts[0] == "n0"]
    versions = {entity: ("1", "3") for entity in listed if entity.type == "artifact"}
    ledger.enter_baseline(START, listed, versions, {"data-plane": "journal"})
    known = ((entity, known_life(entity, (), START, versions.get(entity))) for entity in listed)
    expected: dict[EntityId, tuple[Life, ...]] = {entity: (life,) for entity, life in known if life}
    for round_, new in enumerate(story.rounds):
        settings = settings_at(round_, journal=journal)
        ledger = ledgers[round_ % len(ledgers)]
        assert ledger.add_events(new) == len(new)
        assert ledger.add_events([*reversed(new)]) == 0
        fold_new(ledger, settings)
        seen += new
        for entity in {event.entity for event in seen if not event.child} | expected.keys():
            expected[entity] = fold(entity, seen, expected.get(entity, ()), settings)
        wanted = by_place(life for lives in expected.values() for life in lives)
        difference = first_difference(ledger.lives(list(State)), wanted)
        assert not difference, f"round {round_}: {difference}"
        states |= {life.state for life in wanted}
    later = {"data-plane": NEVER} if journal else {}
    fold_new(ledger, replace(settings_at(99, journal=journal), until=NEVER, horizons={}, journals=later))
    ledger.fold(nothing_is_left)
    return states


def test_held_back_is_exactly_what_the_last_fold_could_not_decide(tmp_path: Path) -> None:
    """Also where some sources are decided much further than others, and before a round is folded."""
    from spark_sync.job import fold_new
    from spark_sync.ledger.delta_ledger import DeltaLedger

    seen_both = set()
    for seed in range(2):
        story, chance = Story(seed), random.Random(seed)
        story.fill(0, 5, 6)
        ledger = DeltaLedger(tmp_path / str(seed), "cdap")
        seen: list[EntityEvent] = []
        for round_, new in enumerate(story.rounds):
            ledger.add_events(new)
            before = ledger.decided_until()[1]
            now = START + (round_ + 1) * ROUND
            horizons = {"data-plane": now - chance.choice([0, SECOND, ROUND // 2])}
            until = now - chance.choice([0, ROUND // 4, ROUND])
            settings = replace(SETTINGS, baseline=START, until=until, horizons=horizons, held={"data-plane": until})
            fold_new(ledger, settings)
            seen += new
            known = {(event.source, event.id): event for event in seen}.values()
            decided = [event for event in known if event.stage is Stage.REJECTED or settings.is_settled(event)]
            newest = max((event.time for event in decided), default=None)
            assert ledger.decided_until() == (newest, len(known) - len(decided)), (seed, round_)
            seen_both |= {before > 0, len(decided) < len(known), len(decided) == len(known)}
    assert seen_both == {True, False}


def test_what_is_forgotten_changes_nothing(tmp_path: Path) -> None:
    """Nothing is forgotten of what is undecided, and no version of what exists."""

    from spark_sync.job import fold_new
    from spark_sync.ledger.delta_ledger import DAY, DeltaLedger

    lib, gone, kv, open_ = (
        EntityId(kind, ("n1", name))
        for kind, name in (("artifact", "lib"), ("artifact", "gone"), ("dataset", "kv"), ("dataset", "open"))
    )

    def pair(
        entity: EntityId, number: int, at: int, kind: ChangeKind = ChangeKind.CREATE, version: str = ""
    ) -> list[EntityEvent]:
        request = EntityEvent(
            entity, kind, Stage.REQUEST, "alice", START + at, START + at + 5, "data-plane", f"r{number}",
            clock=PROCESSES[0], check=f"{number:032x}", version=version, received=START + at + 9, caller="records",
        )  # fmt: skip
        check = replace(
            request, stage=Stage.CHECK, ended=NEVER, id=f"c{number}", outcome=Outcome.UNCLEAR, caller="checks",
            received=START + at + 1,
        )  # fmt: skip
        return [check, request]

    ledger = DeltaLedger(tmp_path, "cdap")
    ledger.enter_baseline(START - MINUTE, [])
    told = [*pair(lib, 1, 1000, version="1"), *pair(lib, 2, 2000, version="2"), *pair(kv, 3, 1000)]
    told += [
        *pair(gone, 4, 1000, version="1"),
        *pair(gone, 5, 2000, ChangeKind.DELETE, version="1"),
        pair(open_, 6, 1000)[0],
    ]
    ledger.add_events(told)
    now = START + 400 * DAY
    settings = replace(
        SETTINGS, baseline=START - MINUTE, until=now, journals={"data-plane": now}, horizons={"data-plane": now}
    )
    fold_new(ledger, settings)
    lives = ledger.lives(list(State))
    ledger.maintain(now=now, keep_days=365)
    kept = {row["id"] for row in LedgerTables(tmp_path).query("SELECT id FROM events")}
    assert kept == {"c1", "r1", "c2", "r2", "c6"}
    fold_new(ledger, settings)
    assert ledger.lives(list(State)) == lives
    # All is told once more, and one of the two versions is deleted.
    ledger.add_events(
        [event for event in told if event.id not in kept] + pair(lib, 7, 3000, ChangeKind.DELETE, version="2")
    )
    fold_new(ledger, settings)
    assert ledger.lives(list(State)) == lives


def test_lives_of_very_many_entities_are_found(tmp_path: Path) -> None:
    """A condition with so many names takes minutes, or crashes DataFusion."""
    from spark_sync.ledger.delta_ledger import DeltaLedger

    ledger = DeltaLedger(tmp_path, "cdap")
    some = [EntityId("dataset", ("ns1", f"d{n}")) for n in range(30)]
    many = [EntityId("dataset", ("ns1", f"d{n}")) for n in range(20, 50_000)]
    ledger.enter_baseline(1, some)
    assert [life.entity for life in ledger.find_lives(entities=many, states=[State.KNOWN])] == some[20:]
    assert ledger.find_lives(entities=many, creators=["alice"]) == []
