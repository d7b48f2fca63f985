"""When the fold decides, and which source it believes: events are held back until every source has told of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import SyncError
from spark_sync.event import EntityEvent, Kind, Position, Strength
from spark_sync.fold import SAME_CREATION, FoldSettings, fold
from spark_sync.life import TRANSITIONS, WHEN_DELETED, Life, State

DATASET = EntityId("dataset", ("ns1", "kv"))
GIVES = {"dataset": ("read", "write")}
WINDOW = 10
SETTINGS = FoldSettings(
    baseline=100,
    gives=GIVES,
    non_creators=frozenset({"root"}),
    window=WINDOW,
    ranks={"audit": 2, "plane": 1, "router": 0},
)


def event(text: str) -> EntityEvent:
    """`+alice@101 plane` is a creation told by source `plane`; `+svc/alice@101 plane` one that alice asked for."""
    what, source = text.split(" ")
    name, _, time = what[1:].partition("@")
    user, _, requester = name.partition("/")
    return EntityEvent(
        entity=DATASET,
        kind=Kind.DELETE if what[0] == "-" else Kind.CREATE,
        user=user,
        time=int(time),
        source=source,
        strength=Strength.AMBIGUOUS,
        id=text,
        requester=requester,
    )


def folded(texts: Sequence[str], settings: FoldSettings = SETTINGS, decided: Sequence[Life] = ()) -> list[Life]:
    return list(fold(DATASET, [event(text) for text in texts], decided, settings))


CREATORS = [
    # what the sources tell -> whose the entity is
    (["+alice@101 plane"], "alice", "plane"),
    (["+alice@101 plane", "+alice@103 router"], "alice", "plane"),
    (["+alice@101 router", "+svc@103 plane"], "svc", "plane"),  # the higher rank
    (["+alice@101 plane", "+bob@102 plane"], "alice", "plane"),  # of one source only the first word counts
    (["+alice@101 router", "+bob@112 plane"], "alice", "router"),  # too late to be the same creation
    (["+alice@101 router", "-@105 router", "+bob@106 plane"], "alice", "router"),  # another life
    (["+root@101 plane", "+alice@102 router"], "alice", "router"),  # the router knows who it was for
    (["+root@101 plane", "+alice@102 plane"], "root", "plane"),  # somebody else who touches it is not
    (["+root@101 plane", "+alice@112 router"], "root", "plane"),
    (["+@101 audit", "+alice@102 plane"], "alice", "plane"),
    # Bob's words are about his own request, also where alice's are not told by a source of higher rank.
    (["+alice@101 router", "+bob@103 plane", "+bob@103 router"], "alice", "router"),
    (["+alice@103 router", "+bob@102 plane", "+bob@105 router"], "alice", "router"),  # its clock is coarse
    (["+root@101 router", "+bob@103 plane", "+bob@103 router"], "root", "router"),
    (["+alice@101 router", "+bob@103 plane", "+bob@103 plane"], "bob", "plane"),  # nobody can know better
    (["+root@101 plane", "+alice@101 router", "+alice@103 plane", "+alice@103 router"], "alice", "router"),
    (["+root@101 router", "+alice@101 plane", "+alice@103 router", "+alice@104 plane"], "alice", "plane"),
    (["+alice@101 plane", "+bob@101 plane"], None, "plane"),
    (["+bob@101 plane", "+alice@101 plane", "+alice@102 router", "+bob@103 router"], "alice", "router"),
    (["+alice@101 plane", "+bob@102 plane", "+bob@101 router", "+alice@102 router"], None, "plane"),
]


@pytest.mark.parametrize(("events", "creator", "source"), CREATORS, ids=lambda value: str(value))
def test_whose_an_entity_is_when_several_sources_tell_of_its_creation(
    events: list[str], creator: str, source: str
) -> None:
    life = folded(events)[0]
    assert (life.creator, life.source) == (creator, source)
    assert life.begun.time == min(event(text).time for text in events)
    assert life.state is (State.KNOWN if creator in ("root", None) else State.PENDING if life.is_open else State.CLOSED)


@pytest.mark.parametrize(
    ("impersonated", "events", "creator"),
    [
        ("owner", ["+svc/alice@101 plane"], "svc"),
        ("requester", ["+svc/alice@101 plane"], "alice"),
        ("requester", ["+alice@101 plane"], "alice"),
    ],
)
def test_what_is_created_for_an_impersonated_user_goes_to_the_configured_one(
    impersonated: str, events: list[str], creator: str
) -> None:
    settings = replace(SETTINGS, impersonated=impersonated)  # type: ignore[arg-type]
    assert folded(events, settings)[0].creator == creator


def test_a_mapped_user_stands_for_another_also_the_master() -> None:
    settings = replace(SETTINGS, mapped={"root": "admin"})
    assert [(life.creator, life.state) for life in folded(["+root@101 plane"], settings)] == [("admin", State.PENDING)]


def test_nothing_is_decided_before_its_time() -> None:
    texts = ["+alice@101 plane", "-@105 plane", "+bob@120 plane"]
    assert folded(texts, replace(SETTINGS, until=100)) == []
    assert [life.is_open for life in folded(texts, replace(SETTINGS, until=104))] == [True]
    assert [life.is_open for life in folded(texts, replace(SETTINGS, until=119))] == [False]
    assert [life.creator for life in folded(texts, replace(SETTINGS, until=120))] == ["alice", "bob"]


# --- what is told too late ----------------------------------------------------------------------------------------

DECIDED = Life(DATASET, 1, "alice", event("+alice@110 plane").position, State.APPLIED, accesses=("read", "write"))


@pytest.mark.parametrize(
    ("late", "conflict"),
    [
        ("+bob@105 router", "`bob` created it at 1970-01-01T00:00:00.105+00:00, says `router`, but too late"),
        ("+alice@105 router", ""),
        ("+root@105 router", ""),
        ("+bob@99 router", ""),  # before the baseline
        ("+bob@111 router", ""),  # later, so it was there already
    ],
)
def test_an_earlier_creation_that_is_told_too_late_is_a_mark_and_nothing_else(late: str, conflict: str) -> None:
    (life,) = folded([late], decided=[DECIDED])
    assert life == replace(DECIDED, conflict=conflict)


def test_the_mark_stays_when_nobody_tells_of_it_any_more() -> None:
    marked = folded(["+bob@105 router"], decided=[DECIDED])
    assert folded([], decided=marked) == marked


def test_a_creation_of_an_earlier_life_is_no_conflict() -> None:
    first = replace(DECIDED, state=State.CLOSED, ended=Position(115, True, "plane", "-@115 plane"))
    second = Life(DATASET, 2, "carol", event("+carol@120 plane").position, State.APPLIED)
    assert folded(["+bob@112 router"], decided=[first, second]) == [first, second]


# --- laws ---------------------------------------------------------------------------------------------------------

HOLD_BACK = 40


@dataclass(frozen=True)
class Told:
    """An event, and how long after it happened the job can read it."""

    event: EntityEvent
    delay: int


TOLD = st.builds(
    Told,
    event=st.builds(
        EntityEvent,
        entity=st.just(DATASET),
        kind=st.sampled_from([Kind.CREATE, Kind.CREATE, Kind.DELETE]),
        user=st.sampled_from(["alice", "bob", "root", ""]),
        time=st.integers(95, 260),
        source=st.sampled_from(["audit", "plane", "router"]),
        strength=st.sampled_from(Strength),
        id=st.uuids().map(str),
    ),
    delay=st.integers(0, HOLD_BACK),
)


def runs(told: Iterable[Told], times: Iterable[int], *, late: bool, settings: FoldSettings) -> tuple[Life, ...]:
    """The lives after runs at these times; each sees what it can read by then."""
    ledger: tuple[Life, ...] = ()
    for now in sorted(times):
        seen = [one.event for one in told if one.event.time + (one.delay if late else 0) <= now]
        ledger = fold(DATASET, seen, ledger, replace(settings, until=now - HOLD_BACK - WINDOW))
    return ledger


def facts(lives: Iterable[Life]) -> list[tuple[object, ...]]:
    return [(life.number, life.creator, life.begun, life.ended, life.conflict) for life in lives]


@given(st.lists(TOLD, max_size=10), st.sets(st.integers(100, 330)), st.sets(st.integers(100, 330)), st.booleans())
def test_disorder_within_the_hold_back_changes_nothing_whenever_runs_take_place(
    told: list[Told], some: set[int], others: set[int], has_baseline: bool
) -> None:
    settings = SETTINGS if has_baseline else replace(SETTINGS, baseline=None)
    end = 400
    in_order = runs(told, {*some, end}, late=False, settings=settings)
    disordered = runs(told * 2, {*others, end}, late=True, settings=settings)
    assert facts(disordered) == facts(in_order)


@given(st.lists(TOLD, max_size=8), st.lists(TOLD, max_size=8), st.integers(100, 400))
def test_whatever_is_told_later_nobody_gains(first: list[Told], later: list[Told], now: int) -> None:
    settings = replace(SETTINGS, until=now)
    before = fold(DATASET, [one.event for one in first], (), settings)
    everything = [one.event for one in [*first, *later]]
    after = {life.number: life for life in fold(DATASET, everything, before, settings)}
    for life in before:
        if life.state is not State.UNCONFIRMED:
            assert after[life.number].creator == life.creator
            assert set(after[life.number].accesses) <= set(life.accesses)


def test_sources_have_ten_seconds_to_tell_of_one_creation() -> None:
    assert SAME_CREATION == 10_000


# --- transitions --------------------------------------------------------------------------------------------------

FROM_TO = {
    State.UNCONFIRMED: "known pending closed",
    State.KNOWN: "pending closed",
    State.PENDING: "known pending applied blocked failed closing",
    State.APPLIED: "known pending applied blocked closing",
    State.BLOCKED: "known pending applied blocked closing",
    State.FAILED: "known pending applied blocked failed closing",
    State.CLOSING: "closing closed",
    State.CLOSED: "",
}


@pytest.mark.parametrize(("before", "after"), list(product(State, State)), ids=lambda state: state.value)
def test_what_a_life_may_become(before: State, after: State) -> None:
    life = replace(DECIDED, state=before)
    if after.value in FROM_TO[before].split():
        assert life.become(after, reason="x") == replace(life, state=after, reason="x")
    else:
        with pytest.raises(SyncError, match=f"is {before} and can't become {after}"):
            life.become(after)


def test_the_end_of_an_entity_is_a_transition_from_every_open_state() -> None:
    for before, after in WHEN_DELETED.items():
        assert before is after is State.CLOSED or after in TRANSITIONS[before]
