"""Shapes: whatever the histories are, each is decided as by itself, and most of them are not decided by themselves."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import MARGIN
from ranger_cdap.errors import SyncError
from spark_sync.ledger import shapes
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.ledger.fold import fold, known_life, refold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.histories import HistoryPart
from spark_sync.ledger.ledger import History, LedgerChange
from spark_sync.ledger.ledger_rows import LIVES, Row, event_batch, life_row
from spark_sync.ledger.life import MANUAL, GrantTerms, Life, State
from spark_sync.ledger.shapes import fold_part

TAKEN = 1_000_000
ALL = ("read", "write")
SKEW, UNFINISHED = 2_000, 60_000
LATE = TAKEN + MARGIN + 3_000_000
UNTIL = TAKEN + MARGIN + 1_000_000
SETTINGS = FoldSettings(
    baseline=TAKEN,
    gives={"dataset": ALL, "application": ALL, "schedule": ("admin",), "artifact": ()},
    terms=GrantTerms("default"),
    non_creators=frozenset({"root"}),
    mapped={"svc": "alice"},
    skew=SKEW,
    unfinished_after=UNFINISHED,
    until=LATE,
    uncorroborated=True,
)
VARIANTS = (
    SETTINGS,
    replace(SETTINGS, baseline=None),
    replace(SETTINGS, uncorroborated=False),
    replace(SETTINGS, journals={"data-plane": LATE}, horizons={"data-plane": LATE}),
    replace(SETTINGS, journals={"data-plane": TAKEN}, horizons={"data-plane": TAKEN}),
    replace(SETTINGS, until=UNTIL, impersonated="requester"),
)
"""With a journal, events that it does not know count for nothing."""

ENTITIES = (
    *(EntityId("dataset", ("n", f"d{n}")) for n in range(12)),
    *(EntityId("application", ("n", f"a{n}")) for n in range(5)),
    *(EntityId("schedule", ("n", f"a{n}", "hourly")) for n in range(5)),
    *(EntityId("artifact", (f"m{n}", "r")) for n in range(2)),
)
ABOVE = (EntityId("namespace", ("n",)), *(entity for entity in ENTITIES if entity.type == "application"))


BEGUN = TAKEN + MARGIN + SKEW + 1
STRANGE = (TAKEN - 1, TAKEN + MARGIN + 1, BEGUN - 1, UNTIL - 9_000, UNTIL + 1, LATE + 1)
NEAR = (0, SKEW - 1, SKEW, SKEW + 1, 2_000_000)
"""Times and gaps at the bounds of the settings."""

USERS = ("alice", "bob", "svc", "zed")
ODD = (
    {"outcome": Outcome.UNCLEAR},
    {"outcome": Outcome.NOTHING},
    {"stage": Stage.REJECTED, "outcome": Outcome.UNCLEAR},
    {"stage": Stage.ANSWER},
    {"stage": Stage.CHECK, "check": "c", "clock": "p", "outcome": Outcome.UNCLEAR, "ended": NEVER},
    {"check": "c", "clock": "p"},
    {"ended": NEVER},
    {"version": "1"},
    {"requester": "carol"},
    {"child": "schedule"},
    {"source": "data-plane"},
    {"user": "root"},
)


Plot = Sequence[tuple[ChangeKind, Stage, int]]
Flaw = tuple[str, int, Any]
"""What is wrong in a history, at which of its events: `first`, `gap`, `took` or `odd`; empty for nothing."""

FLAWS = {"": (0,), "first": STRANGE, "gap": NEAR, "took": (UNFINISHED, UNFINISHED + 1), "odd": ODD}


def told(entity: EntityId, plot: Plot, flaw: Flaw, at: int, users: Sequence[str], name: str) -> list[EntityEvent]:
    """The requests of a plot to an entity, far apart, but for the flaw."""
    events, (what, place, value) = [], flaw
    at = value if what == "first" else at
    for n, (kind, stage, user) in enumerate(plot):
        here = what if n == place else ""
        took = value if here == "took" else 5 if stage is Stage.REQUEST else 0
        source = "audit" if stage is Stage.MESSAGE else "records"
        event = EntityEvent(entity, kind, stage, users[user], at, at + took, source, f"{name}-{n}", received=at)
        events.append(replace(event, **value) if here == "odd" else event)
        at += took + (value if here == "gap" else 10_000)
    return events


@st.composite
def alike_but_odd(draw: st.DrawFn, entities: Sequence[EntityId], story: int) -> list[EntityEvent]:
    """The same requests to each entity, at other times and by other users, some of them odd."""
    steps = st.tuples(st.sampled_from(ChangeKind), st.sampled_from([Stage.MESSAGE, Stage.REQUEST]), st.integers(0, 1))
    plot = draw(st.lists(steps, min_size=1, max_size=4))
    events = []
    for n, entity in enumerate(entities):
        what = draw(st.sampled_from(["", *FLAWS]))
        flaw = what, draw(st.integers(0, len(plot) - 1)), draw(st.sampled_from(FLAWS[what]))
        events += told(entity, plot, flaw, BEGUN + n, draw(st.permutations(USERS)), f"{story}-{n}")
    return events


@st.composite
def stories(draw: st.DrawFn) -> tuple[FoldSettings, list[EntityEvent], list[EntityEvent], frozenset[EntityId]]:
    """Settings, events of two rounds, and the entities of the baseline."""
    drawn = draw(st.sampled_from(VARIANTS))
    events: list[EntityEvent] = []
    for n, type_ in enumerate(
        draw(st.lists(st.sampled_from(sorted({entity.type for entity in ENTITIES})), max_size=3))
    ):
        events += draw(alike_but_odd([entity for entity in ENTITIES if entity.type == type_], n))
    if draw(st.booleans()):
        events += draw(alike_but_odd(ABOVE[:1], 99))
    first = draw(st.sampled_from([NEVER, TAKEN + MARGIN + 2 * SKEW + 20_000]))
    known = frozenset(draw(st.sets(st.sampled_from(ENTITIES))))
    return drawn, [e for e in events if e.started < first], [e for e in events if e.started >= first], known


def part_of(events: Sequence[EntityEvent], lives: Iterable[Life]) -> HistoryPart:
    from spark_sync.ledger.ledger_rows import EVENTS

    batch = pa.Table.from_batches([event_batch("cdap", events)])
    rows = batch.append_column("round", pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows)).cast(EVENTS).to_batches()
    known = pa.RecordBatch.from_pylist([life_row("cdap", life) for life in lives], schema=LIVES)
    return HistoryPart(ENTITIES, (known,), tuple(rows))


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    return sorted(batch.to_pylist(), key=lambda row: (row["entity"], row["number"]))


def lived(events: Sequence[EntityEvent], known: Iterable[EntityId], given_: FoldSettings, sent: bool) -> list[Life]:
    """The lives after the first round, perhaps with their grants in Ranger."""
    found: list[Life] = []
    for n, entity in enumerate(ENTITIES):
        before = [life for life in [known_life(entity, (), TAKEN)] if life and entity in known]
        for life in fold(entity, events, before, given_):
            if sent and life.state is State.PENDING and n % 5:
                life = replace(life, state=State.APPLIED, policy_id=n, policy_version=n, written="w", applied=ALL)
            if n % 7 == 6:
                life = replace(life, source=MANUAL)
            found.append(life)
    return found


@given(stories(), st.booleans())
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_history_is_decided_with_its_shape_as_by_itself(
    story: tuple[FoldSettings, list[EntityEvent], list[EntityEvent], frozenset[EntityId]], sent: bool
) -> None:
    given_, first, second, known = story

    def decide(history: History) -> list[LedgerChange]:
        return refold(history, given_)

    for events, lives in (
        (first, lived([], known, given_, sent)),
        ([*first, *second], lived(first, known, given_, sent)),
    ):
        part = part_of(events, lives)
        assert rows_of(fold_part(decide, given_, "cdap", part)) == rows_of(fold_part(decide, None, "cdap", part))


def test_no_flaw_is_in_the_shape_of_histories_without_it() -> None:
    """Datasets with a plot, and one more for each flaw in it: all are as decided by themselves, under all settings."""
    create, delete = ChangeKind.CREATE, ChangeKind.DELETE
    kinds = ([create], [create, delete], [create, create], [create, delete, create], [delete, create], [create] * 3)
    for given_, of, stage in product(VARIANTS, kinds, (Stage.MESSAGE, Stage.REQUEST)):
        plot = [(kind, stage, n % 2) for n, kind in enumerate(of)]
        flaws = [(what, n, value) for what in FLAWS for n in range(len(plot)) for value in FLAWS[what]]
        events, entities = [], [EntityId("dataset", ("n", f"d{n}")) for n in range(len(flaws))]
        for n, (entity, flaw) in enumerate(zip(entities, flaws, strict=True)):
            events += told(entity, plot, flaw, BEGUN + n, (f"one{n}", f"other{n}"), str(n))
        part, decide = replace(part_of(events, ()), entities=tuple(entities)), partial(refold, settings=given_)
        found, alone = (rows_of(fold_part(decide, each, "cdap", part)) for each in (given_, None))
        assert found == alone, (plot, given_)


def alike(count: int) -> HistoryPart:
    """Datasets created by different users, of which every second one was deleted and created again."""
    events = []
    for n in range(count):
        entity, at = EntityId("dataset", (f"n{n % 7}", f"d{n}")), TAKEN + MARGIN + SKEW + 1 + n
        kinds = [ChangeKind.CREATE, ChangeKind.DELETE, ChangeKind.CREATE][: 1 if n % 2 else 3]
        events += [
            EntityEvent(entity, kind, Stage.MESSAGE, f"u{n}-{m}", at + m * 9_000, at + m * 9_000, "audit", f"{n}-{m}")
            for m, kind in enumerate(kinds)
        ]
    random.Random(1).shuffle(events)
    return replace(part_of(events, ()), entities=tuple({event.entity for event in events}))


def test_of_equal_histories_one_in_a_thousand_is_decided_by_itself() -> None:
    for count, calls in ((2, 2), (4, 2), (200, 2), (4_000, 4)):
        asked: list[EntityId] = []

        def decide(history: History, asked: list[EntityId] = asked) -> list[LedgerChange]:
            asked.append(history.entity)
            return refold(history, SETTINGS)

        part = alike(count)
        found = rows_of(fold_part(decide, SETTINGS, "cdap", part))
        assert len(asked) == calls, count
        assert {row["entity"] for row in found} == set(map(str, part.entities))
        assert found == rows_of(fold_part(decide, None, "cdap", part))


def test_a_decision_by_more_than_the_shape_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written if the fold looks at what a shape leaves out."""
    monkeypatch.setattr(shapes, "SAMPLED", 2)

    def decide(history: History) -> list[LedgerChange]:
        users = {event.user for event in history.events}
        return refold(history, replace(SETTINGS, gives={"dataset": ("read",)} if "u8-0" in users else SETTINGS.gives))

    part = alike(9)
    assert fold_part(decide, None, "cdap", part).num_rows == 14
    at_fault = [entity for entity in part.entities if entity.parts[1] == "d8"]
    others = [entity for entity in part.entities if entity not in at_fault]
    with pytest.raises(SyncError, match="with an equal history differently"):
        fold_part(decide, SETTINGS, "cdap", part.of([*at_fault, *others]))
