"""The fold: who is the owner of which life, whatever order, repetition and batches the events come in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from spark_sync.event import EntityEvent, Kind, Strength
from spark_sync.fold import FoldSettings, enter_known, fold
from spark_sync.life import Life, State

NAMESPACE = EntityId("namespace", ("ns1",))
DATASET = EntityId("dataset", ("ns1", "a.b"))
APPLICATION = EntityId("application", ("ns1", "App"))
SCHEDULE = EntityId("schedule", ("ns1", "App", "daily"))
ALL = ("read", "write", "admin", "execute")
GIVES = {"namespace": ALL, "dataset": ALL, "application": ALL, "schedule": ("admin",)}
BASELINE = FoldSettings(baseline=100, gives=GIVES, non_creators=frozenset({"root"}))
NO_BASELINE = FoldSettings(gives=GIVES, non_creators=frozenset({"root"}))


def event(text: str, entity: EntityId = DATASET) -> EntityEvent:
    """`+a@101` is an ambiguous creation, `!a@101` an authoritative one, `-@105` a deletion, `-@105 ns` the parent's."""
    what, _, where = text.partition(" ")
    target = {"": entity, "ns": NAMESPACE, "app": APPLICATION}[where]
    user, _, time = what[1:].partition("@")
    return EntityEvent(
        entity=target,
        kind=Kind.DELETE if what[0] == "-" else Kind.CREATE,
        user=user,
        time=int(time),
        source="test",
        strength=Strength.AUTHORITATIVE if what[0] == "!" else Strength.AMBIGUOUS,
        id=text,
    )


def lives(
    *texts: str, settings: FoldSettings = BASELINE, entity: EntityId = DATASET, decided: Sequence[Life] = ()
) -> list[str]:
    """Each life as `number creator begun-ended state`."""
    folded = fold(entity, [event(text, entity) for text in texts], decided, settings)
    return [
        f"{life.number} {life.creator} {life.begun.time}-{life.ended.time if life.ended else ''} {life.state}"
        for life in folded
    ]


KNOWN = Life(DATASET, 1, None, event("+x@100").position, State.KNOWN)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["+alice@101"], ["1 alice 101- pending"]),
        (["+alice@101", "+bob@102"], ["1 alice 101- pending"]),
        (["+alice@101", "!bob@102"], ["1 alice 101- pending"]),
        (["+bob@102", "+alice@101"], ["1 alice 101- pending"]),
        (["+alice@101", "-@105"], ["1 alice 101-105 closed"]),
        (["+alice@101", "-@105", "+bob@106"], ["1 alice 101-105 closed", "2 bob 106- pending"]),
        (["+alice@101", "-@105", "-@106", "+bob@107", "-@108"], ["1 alice 101-105 closed", "2 bob 107-108 closed"]),
        (["-@105", "+bob@106"], ["1 bob 106- pending"]),
        (["-@105"], []),
        (["+alice@101", "-@105 ns"], ["1 alice 101-105 closed"]),
        (["+alice@101", "-@105 app"], ["1 alice 101- pending"]),
        (["+alice@100"], []),
        (["!alice@100"], []),
        (["+alice@100", "+bob@101"], ["1 bob 101- pending"]),
        (["+root@101", "+alice@102"], ["1 root 101- known"]),
        (["+@101", "+alice@102"], ["1  101- known"]),
        (["+alice@101", "-@101"], ["1 alice 101-101 closed"]),
    ],
    ids=lambda value: " ".join(value) or "nothing",
)
def test_with_a_baseline(events: list[str], expected: list[str]) -> None:
    assert lives(*events) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["+alice@1"], ["1 alice 1- unconfirmed"]),
        (["+alice@1", "+bob@2"], ["1 alice 1- unconfirmed"]),
        (["+bob@1", "!alice@2"], ["1 alice 2- pending"]),
        (["!alice@1", "+bob@2"], ["1 alice 1- pending"]),
        (["!alice@1", "-@2", "+bob@3"], ["1 alice 1-2 closed", "2 bob 3- unconfirmed"]),
        (["+alice@1", "-@2"], []),
    ],
    ids=" ".join,
)
def test_without_a_baseline_only_what_cdap_says_itself_grants(events: list[str], expected: list[str]) -> None:
    assert lives(*events, settings=NO_BASELINE) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["+bob@101"], ["1 None 100- known"]),
        (["!bob@101"], ["1 None 100- known"]),
        (["-@99"], ["1 None 100- known"]),
        (["-@105", "+bob@106"], ["1 None 100-105 closed", "2 bob 106- pending"]),
        (["-@105 ns", "+bob@106"], ["1 None 100-105 closed", "2 bob 106- pending"]),
    ],
    ids=" ".join,
)
def test_a_known_entity_is_taken_over_by_nobody(events: list[str], expected: list[str]) -> None:
    assert lives(*events, decided=[KNOWN]) == expected


def test_the_schedule_of_a_deleted_application_is_gone() -> None:
    assert lives("+alice@101", "-@105 app", entity=SCHEDULE) == ["1 alice 101-105 closed"]


def test_a_type_whose_creator_gets_nothing_is_only_known() -> None:
    assert lives("+alice@101", settings=FoldSettings(baseline=100)) == ["1 alice 101- known"]


def test_what_may_have_been_sent_is_taken_back() -> None:
    (pending,) = fold(DATASET, [event("+alice@101")], [], BASELINE)
    assert lives("-@105", decided=[pending]) == ["1 alice 101-105 closing"]


def test_the_baseline_leaves_an_open_life_alone_and_replaces_an_unconfirmed_one() -> None:
    (pending,) = fold(DATASET, [event("!alice@1")], [], NO_BASELINE)
    (unconfirmed,) = fold(DATASET, [event("+alice@1")], [], NO_BASELINE)
    assert enter_known(DATASET, [pending], 100) is None
    known = enter_known(DATASET, [unconfirmed], 100)
    assert known is not None
    assert (known.number, known.state, known.creator) == (1, State.KNOWN, None)
    assert lives("+alice@1", "+bob@100", "+carol@101", decided=[known]) == ["1 None 101- known"]


EVENTS = st.builds(
    EntityEvent,
    entity=st.sampled_from([SCHEDULE, SCHEDULE, SCHEDULE, APPLICATION, NAMESPACE]),
    kind=st.sampled_from(Kind),
    user=st.sampled_from(["alice", "bob", "root", ""]),
    time=st.integers(95, 130),
    source=st.sampled_from(["a", "b"]),
    strength=st.sampled_from(Strength),
    id=st.uuids().map(str),
)
HISTORIES = st.lists(EVENTS, max_size=12)
SETTINGS = st.sampled_from([BASELINE, NO_BASELINE])


def facts(folded: Sequence[Life]) -> list[tuple[object, ...]]:
    """What a life is, without how far its grant has come."""
    return [
        (life.number, life.creator, life.begun, life.ended, life.state is State.UNCONFIRMED, life.accesses)
        for life in folded
    ]


@given(HISTORIES, SETTINGS, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(events: list[EntityEvent], settings: FoldSettings, random: object) -> None:
    shuffled = events * 2
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fold(SCHEDULE, shuffled, [], settings) == fold(SCHEDULE, events, [], settings)


@given(HISTORIES, SETTINGS, st.sets(st.integers(94, 129)))
def test_batches_in_the_order_of_time_do_not_matter(
    events: list[EntityEvent], settings: FoldSettings, cuts: set[int]
) -> None:
    in_order = sorted(events, key=lambda each: each.position)
    ledger: tuple[Life, ...] = ()
    for cut in [*sorted(cuts), 130]:
        # The events table keeps what was seen, so each fold gets everything so far.
        ledger = fold(SCHEDULE, [each for each in in_order if each.time <= cut], ledger, settings)
    whole = fold(SCHEDULE, in_order, [], settings)
    assert facts(ledger) == facts(whole)


@given(HISTORIES, HISTORIES, SETTINGS)
def test_whatever_arrives_later_no_owner_changes(
    first: list[EntityEvent], later: list[EntityEvent], settings: FoldSettings
) -> None:
    before = {life.number: life for life in fold(SCHEDULE, first, [], settings) if life.state is not State.UNCONFIRMED}
    after = {life.number: life for life in fold(SCHEDULE, first + later, list(before.values()), settings)}
    for number, life in before.items():
        assert (after[number].creator, after[number].begun) == (life.creator, life.begun)
        assert after[number].ended == life.ended or life.ended is None


@given(HISTORIES, SETTINGS)
def test_lives_follow_one_another_and_only_the_last_is_open(events: list[EntityEvent], settings: FoldSettings) -> None:
    folded = fold(SCHEDULE, events, [], settings)
    assert [life.number for life in folded] == list(range(1, len(folded) + 1))
    for earlier, later in pairwise(folded):
        assert earlier.ended is not None
        assert earlier.begun < earlier.ended < later.begun


@given(HISTORIES)
def test_without_a_baseline_ambiguous_events_grant_nothing(events: list[EntityEvent]) -> None:
    proven = {each.user for each in events if each.strength is Strength.AUTHORITATIVE and each.kind is Kind.CREATE}
    for life in fold(SCHEDULE, events, [], NO_BASELINE):
        assert life.creator in proven or not life.accesses
