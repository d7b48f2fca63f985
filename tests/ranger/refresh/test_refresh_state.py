"""When policies may decide: the states one by one, and laws over any sequence of events."""

from __future__ import annotations

import math
from typing import cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.documents import Documents, PolicySet
from ranger_cdap.ranger.refresh.refresh_state import (
    CacheFailed,
    CacheFound,
    CacheWritten,
    Command,
    Confirmed,
    Download,
    Event,
    Failure,
    Instant,
    Limits,
    PolicyState,
    QuarantineCache,
    RecordContact,
    RefreshDue,
    RefresherState,
    RefreshFailed,
    WriteCache,
    advance,
    policy_state,
    step,
    wait,
)

LIMITS = Limits(interval=30.0, max_staleness=3600.0)
NOON = 1_800_000_000.0


def policy_set(version: int) -> PolicySet:
    """A set the state machine never looks into."""
    return PolicySet(Documents(b"p", b"r"), Versions(version, 1), cast("PolicyEngine", object()), None)


def at(seconds: float, *, wall: float | None = None) -> Instant:
    return Instant(NOON + (seconds if wall is None else wall), 100.0 + seconds)


def start() -> RefresherState:
    return RefresherState(LIMITS, at(0))


def run(*events: Event, state: RefresherState | None = None) -> tuple[RefresherState, tuple[Command, ...]]:
    """The state after the events, and the commands of the last one."""
    state, commands = state or start(), ()
    for event in events:
        state, commands = step(state, event)
    return state, commands


def failed(seconds: float, failure: Failure = Failure.UNREACHABLE) -> RefreshFailed:
    return RefreshFailed(at(seconds), failure, f"{failure.name.lower()}!")


V1, V2 = policy_set(1), policy_set(2)
FRESH, STALE, EXPIRED = PolicyState.FRESH, PolicyState.STALE, PolicyState.EXPIRED
NOT_READY, GONE, DISABLED = PolicyState.NOT_READY, PolicyState.GONE, PolicyState.DISABLED

# events, seconds at which one looks, state seen
STATES: list[tuple[str, list[Event], float, PolicyState]] = [
    ("nothing happened", [], 0, NOT_READY),
    ("nothing happened for days", [], 1e6, NOT_READY),
    ("Ranger Admin away, no cache", [failed(0), failed(30)], 30, NOT_READY),
    ("a wrong password, no cache", [failed(0, Failure.LOGIN)], 0, NOT_READY),
    ("a set that can't be used, no cache", [failed(0, Failure.REFUSED)], 0, NOT_READY),
    ("a disabled service, no cache", [failed(0, Failure.DISABLED)], 0, NOT_READY),
    ("downloaded", [Confirmed(at(0), V1)], 0, FRESH),
    ("downloaded, three intervals ago", [Confirmed(at(0), V1)], 90, FRESH),
    ("downloaded, more than three intervals ago", [Confirmed(at(0), V1)], 90.1, STALE),
    ("stale, then confirmed", [Confirmed(at(0), V1), Confirmed(at(200), V1)], 210, FRESH),
    ("downloaded, failures since", [Confirmed(at(0), V1), failed(30), failed(60), failed(95)], 95, STALE),
    ("at the longest staleness", [Confirmed(at(0), V1)], 3600, STALE),
    ("beyond the longest staleness", [Confirmed(at(0), V1)], 3600.1, EXPIRED),
    ("expired, then confirmed", [Confirmed(at(0), V1), failed(4000), Confirmed(at(4030), V1)], 4030, FRESH),
    ("a refused set is no contact", [Confirmed(at(0), V1), failed(95, Failure.REFUSED)], 95, STALE),
    ("a young cache", [CacheFound(at(0), V1, 10)], 0, FRESH),
    ("an old cache", [CacheFound(at(0), V1, 100)], 0, STALE),
    ("an expired cache", [CacheFound(at(0), V1, 3601)], 0, EXPIRED),
    ("an expired cache, then confirmed", [CacheFound(at(0), V1, 3601), Confirmed(at(1), V1)], 1, FRESH),
    ("disabled", [Confirmed(at(0), V1), failed(30, Failure.DISABLED)], 30, DISABLED),
    ("disabled for too long", [Confirmed(at(0), V1), failed(30, Failure.DISABLED)], 3601, EXPIRED),
    ("disabled, enabled", [Confirmed(at(0), V1), failed(30, Failure.DISABLED), Confirmed(at(60), V2)], 60, FRESH),
    ("one 404", [Confirmed(at(0), V1), failed(30, Failure.SERVICE_NOT_FOUND)], 31, FRESH),
    (
        "two 404 at once",
        [Confirmed(at(0), V1), failed(30, Failure.SERVICE_NOT_FOUND), failed(31, Failure.SERVICE_NOT_FOUND)],
        31,
        FRESH,
    ),
    (
        "two 404",
        [Confirmed(at(0), V1), failed(30, Failure.SERVICE_NOT_FOUND), failed(60, Failure.SERVICE_NOT_FOUND)],
        60,
        GONE,
    ),
    (
        "two 404 without policies",
        [failed(0, Failure.SERVICE_NOT_FOUND), failed(30, Failure.SERVICE_NOT_FOUND)],
        30,
        GONE,
    ),
    (
        "two 404, Ranger Admin away in between",
        [
            Confirmed(at(0), V1),
            failed(30, Failure.SERVICE_NOT_FOUND),
            failed(60),
            failed(90, Failure.SERVICE_NOT_FOUND),
        ],
        90,
        GONE,
    ),
    (
        "two 404, a good answer in between",
        [
            Confirmed(at(0), V1),
            failed(30, Failure.SERVICE_NOT_FOUND),
            Confirmed(at(60), V1),
            failed(90, Failure.SERVICE_NOT_FOUND),
        ],
        90,
        FRESH,
    ),
    (
        "two 404, a set that can't be used in between",
        [
            Confirmed(at(0), V1),
            failed(30, Failure.SERVICE_NOT_FOUND),
            failed(60, Failure.REFUSED),
            failed(90, Failure.SERVICE_NOT_FOUND),
        ],
        90,
        FRESH,
    ),
    (
        "gone, then away",
        [failed(0, Failure.SERVICE_NOT_FOUND), failed(30, Failure.SERVICE_NOT_FOUND), failed(60)],
        60,
        GONE,
    ),
    (
        "gone, a cache can't bring it back",
        [failed(0, Failure.SERVICE_NOT_FOUND), failed(30, Failure.SERVICE_NOT_FOUND), CacheFound(at(31), V1, 1)],
        31,
        GONE,
    ),
    (
        "gone, made again",
        [failed(0, Failure.SERVICE_NOT_FOUND), failed(30, Failure.SERVICE_NOT_FOUND), Confirmed(at(60), V2)],
        60,
        FRESH,
    ),
]


@pytest.mark.parametrize(("events", "look", "seen"), [row[1:] for row in STATES], ids=[row[0] for row in STATES])
def test_states(events: list[Event], look: float, seen: PolicyState) -> None:
    state, _ = run(*events)
    assert policy_state(state, at(look)) is seen
    assert policy_state(advance(state, at(look)), at(look)) is seen


@pytest.mark.parametrize("state", list(PolicyState))
def test_which_states_decide(state: PolicyState) -> None:
    assert state.decides == (state in {FRESH, STALE, DISABLED})


def test_ranger_admin_is_asked_for_what_is_newer_than_what_is_in_force() -> None:
    assert run(RefreshDue(at(0)))[1] == (Download(Versions(-1, -1, -1)),)
    assert run(Confirmed(at(0), V2), RefreshDue(at(30)))[1] == (Download(Versions(2, 1, -1)),)
    assert run(Confirmed(at(0), V2), failed(30), RefreshDue(at(60)))[1] == (Download(Versions(2, 1, -1)),)


def test_a_new_set_is_written_and_a_confirmed_one_only_noted() -> None:
    state, commands = run(Confirmed(at(0), V1))
    assert [type(c) for c in commands] == [WriteCache]
    state, commands = run(CacheWritten(at(1)), Confirmed(at(30), V1), state=state)
    (note,) = commands
    assert isinstance(note, RecordContact)
    assert (note.contact.at, note.contact.age, note.contact.versions) == (NOON + 30, 0, V1.versions)


def test_a_set_that_did_not_reach_the_disk_is_written_again_before_anything_is_noted() -> None:
    """A contact noted beside an older set would make that one look young after a restart."""
    state, _ = run(CacheFound(at(0), V1, 10), Confirmed(at(1), V2))
    state, commands = run(CacheFailed(at(2), "full"), failed(30), state=state)
    assert (state.cache_problem, commands) == ("full", ())
    state, commands = run(Confirmed(at(60), V2), state=state)
    assert [type(c) for c in commands] == [WriteCache]
    assert run(CacheWritten(at(61)), state=state)[0].cache_problem == ""


def test_a_failure_notes_how_old_the_set_has_become() -> None:
    _, commands = run(CacheFound(at(0), V1, 10), failed(30))
    (note,) = commands
    assert isinstance(note, RecordContact)
    assert (note.contact.at, note.contact.age, note.contact.noted) == (NOON - 10, 40, NOON + 30)


def test_a_service_that_is_gone_leaves_nothing_behind() -> None:
    state, commands = run(
        Confirmed(at(0), V1), failed(30, Failure.SERVICE_NOT_FOUND), failed(60, Failure.SERVICE_NOT_FOUND)
    )
    assert commands == (QuarantineCache(),)
    assert run(RefreshDue(at(90)), state=state)[1] == (Download(Versions()),)


@pytest.mark.parametrize(
    ("wall", "monotonic", "age"),
    [(50, 50, 50), (-7200, 50, 50), (50, 0, 50), (0, 0, 0), (-1, 0, 0), (7200, 50, 7200)],
    ids=[
        "both go on",
        "the wall clock was set back",
        "the machine slept",
        "no time passed",
        "back a second",
        "set ahead",
    ],
)
def test_a_jumping_clock_makes_nothing_younger(wall: float, monotonic: float, age: float) -> None:
    state, _ = run(Confirmed(at(0), V1))
    now = Instant(NOON + wall, 100.0 + monotonic)
    assert advance(state, now).age == age


def test_a_failed_login_is_not_repeated_so_often_that_ranger_locks_the_account() -> None:
    assert wait(run(failed(0))[0]) == LIMITS.interval
    in_a_row = [wait(run(*(failed(30 * n) for n in range(count)))[0]) / LIMITS.interval for count in range(1, 8)]
    assert in_a_row == [1, 2, 4, 4, 4, 4, 4]
    assert wait(run(failed(0), failed(30), failed(60), Confirmed(at(90), V2))[0]) == LIMITS.interval
    assert 300 / wait(run(failed(0, Failure.LOGIN))[0]) < 5


class AnySequence(RuleBasedStateMachine):
    """Laws that hold whatever happens, in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.wall, self.monotonic = NOON, 0.0
        self.state = RefresherState(LIMITS, self.now())
        self.acceptable: set[int] = set()  # sets that came from a download or a cache since the service was last gone
        self.real_age = math.inf  # by a clock nobody can set
        self.disk: PolicySet | None = None
        self.downloads: list[PolicySet] = []

    def now(self) -> Instant:
        return Instant(self.wall, self.monotonic)

    def happens(self, event: Event) -> None:
        before = self.state
        self.state, commands = step(before, event)
        if not isinstance(event, Confirmed | CacheFound) and self.state.in_effect is not None:
            assert self.state.age >= before.age
            assert self.state.in_effect is before.in_effect
        for command in commands:
            if isinstance(command, RecordContact):
                assert self.disk is self.state.in_effect
                assert command.contact.age >= self.real_age
            if isinstance(command, QuarantineCache):
                self.disk = None
                self.acceptable.clear()
            if isinstance(command, WriteCache):
                self.disk = None
                self.to_write = command.policy_set

    @rule(seconds=st.sampled_from([0.5, 30.0, 31.0, 91.0, 4000.0]), jump=st.sampled_from([0.0, 0.0, -9e4, 9e4]))
    def time_passes(self, seconds: float, jump: float) -> None:
        self.wall += seconds + jump
        self.monotonic += seconds
        self.real_age += seconds

    @precondition(lambda self: self.state.in_effect is None and not self.downloads)
    @rule(age=st.sampled_from([0.0, 50.0, 5000.0]))
    def cache_is_found(self, age: float) -> None:
        found = policy_set(1)
        if not self.state.gone:
            self.acceptable.add(id(found))
            self.disk, self.real_age = found, age
        self.downloads.append(found)
        self.happens(CacheFound(self.now(), found, age))

    @rule()
    def a_refresh_is_due(self) -> None:
        self.happens(RefreshDue(self.now()))

    @rule(changed=st.booleans(), written=st.booleans())
    def ranger_admin_answers(self, changed: bool, written: bool) -> None:
        in_effect = self.state.in_effect
        current = policy_set(len(self.downloads) + 1) if changed or in_effect is None else in_effect
        self.downloads.append(current)
        self.acceptable.add(id(current))
        self.real_age = 0.0
        self.happens(Confirmed(self.now(), current))
        if written and self.disk is None:
            self.disk = self.to_write
        self.happens(CacheWritten(self.now()) if self.disk is not None else CacheFailed(self.now(), "full"))

    @rule(failure=st.sampled_from(Failure))
    def a_refresh_fails(self, failure: Failure) -> None:
        self.happens(RefreshFailed(self.now(), failure, "no"))

    @invariant()
    def only_an_acceptable_set_decides(self) -> None:
        in_effect = self.state.in_effect
        decides = policy_state(self.state, self.now()).decides
        assert not decides or (in_effect is not None and id(in_effect) in self.acceptable)

    @invariant()
    def what_decides_is_never_older_than_allowed(self) -> None:
        if policy_state(self.state, self.now()).decides:
            assert self.real_age <= LIMITS.max_staleness

    @invariant()
    def an_age_is_never_less_than_the_real_one(self) -> None:
        if self.state.in_effect is not None:
            assert advance(self.state, self.now()).age >= self.real_age


AnySequence.TestCase.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
TestAnySequence = AnySequence.TestCase
