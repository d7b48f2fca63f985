"""When policies may decide: a pure state machine over downloads, failures and the passing of time.

`step(state, event)` gives the next state and what is to be done; the refresher does it (architecture.md, "A refresh").
Laws: without a compiled download or a valid cache nothing is in effect; an age never goes down without a contact;
what is older than the longest staleness does not decide; what Ranger Admin says is gone does not come
back from a cache.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.policies.client.versions import Versions
from ranger_cdap.policies.refresh.documents import PolicySet

STALE_AFTER_INTERVALS: Final = 3
# Ranger locks an account after five failed logins in 300 s.
WAIT_AFTER_FAILED_LOGIN: Final = 100.0
MOST_DOUBLINGS: Final = 2


class PolicyState(enum.StrEnum):
    """How good the policies are; in `NOT_READY`, `EXPIRED` and `GONE` they do not decide, so everything is denied."""

    NOT_READY = "not ready"
    FRESH = "fresh"
    STALE = "stale"
    EXPIRED = "expired"
    GONE = "gone"
    DISABLED = "disabled"

    @property
    def decides(self) -> bool:
        """Whether decisions may be made in this state."""
        return self in (PolicyState.FRESH, PolicyState.STALE, PolicyState.DISABLED)


class Failure(enum.Enum):
    """Why a refresh brought nothing."""

    AWAY = enum.auto()
    LOGIN = enum.auto()
    REFUSED = enum.auto()
    DISABLED = enum.auto()
    MISSING = enum.auto()


_TELLS_NOTHING_OF_THE_SERVICE: Final = (Failure.AWAY, Failure.LOGIN)


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on two clocks, in seconds: the wall's (since 1970, may jump) and one that only goes on."""

    wall: float
    monotonic: float

    def since(self, earlier: Instant) -> float:
        """The time passed, never less than it can have been: a clock set back or a machine asleep hides none."""
        return max(0.0, self.wall - earlier.wall, self.monotonic - earlier.monotonic)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds between two refreshes, and the age from which policies decide no more."""

    interval: float
    max_staleness: float


@dataclass(frozen=True, slots=True)
class LastContact:
    """The last time Ranger Admin confirmed the set of these versions, kept beside the cache.

    `at` is that time, `age` how old it was at `noted`, both in seconds since 1970.
    """

    at: float
    age: float
    noted: float
    versions: Versions


@dataclass(frozen=True, slots=True)
class RefresherState:
    """The policies in effect, their age at `now`, and the last failure.

    `failures` counts those since the last contact; `missing` is the time since the first 404; `on_disk` says that the
    cache holds what is in effect.
    """

    limits: Limits
    now: Instant
    in_force: PolicySet | None = None
    on_disk: bool = False
    contact_at: float | None = None
    age: float = math.inf
    failure: Failure | None = None
    failures: int = 0
    reason: str = "policies were not loaded yet"
    missing: float | None = None
    gone: bool = False
    cache_problem: str = ""


# Events: what happened, and when.


@dataclass(frozen=True, slots=True)
class CacheFound:
    """The cache on disk holds a set that can decide, confirmed `age` seconds ago."""

    now: Instant
    found: PolicySet
    age: float


@dataclass(frozen=True, slots=True)
class RefreshDue:
    """It is time to ask Ranger Admin."""

    now: Instant


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Ranger Admin answered all downloads: `current` is what it has now, the very set in effect if nothing changed."""

    now: Instant
    current: PolicySet


@dataclass(frozen=True, slots=True)
class RefreshFailed:
    """A download failed, or what came cannot be used."""

    now: Instant
    failure: Failure
    reason: str


@dataclass(frozen=True, slots=True)
class CacheWritten:
    """The cache was written: the policies in effect are on disk."""

    now: Instant


@dataclass(frozen=True, slots=True)
class CacheFailed:
    """The cache could not be read or written."""

    now: Instant
    problem: str


Event = CacheFound | RefreshDue | Confirmed | RefreshFailed | CacheWritten | CacheFailed


# Commands: what the refresher has to do. It answers a download with `Confirmed` or `RefreshFailed`, all others with
# `CacheWritten` or `CacheFailed`.


@dataclass(frozen=True, slots=True)
class Download:
    """Ask for what is newer than these versions."""

    known: Versions


@dataclass(frozen=True, slots=True)
class WriteCache:
    """Write a set and, after it, its contact."""

    policy_set: PolicySet
    contact: LastContact


@dataclass(frozen=True, slots=True)
class RecordContact:
    """Write the contact alone: the set on disk is the one in effect."""

    contact: LastContact


@dataclass(frozen=True, slots=True)
class QuarantineCache:
    """Make sure that no restart finds the cache."""


Command = Download | WriteCache | RecordContact | QuarantineCache


def step(state: RefresherState, event: Event) -> tuple[RefresherState, tuple[Command, ...]]:
    """The state after an event, and what is to be done about it."""
    state = advance(state, event.now)
    match event:
        case CacheFound():
            return _cache_found(state, event), ()
        case RefreshDue():
            return state, (Download(state.in_force.versions if state.in_force else Versions()),)
        case Confirmed():
            return _confirmed(state, event)
        case RefreshFailed(failure=Failure.MISSING):
            return _missing(replace(state, failures=state.failures + 1), event)
        case RefreshFailed():
            state = replace(state, failures=state.failures + 1)
            missing = state.missing if event.failure in _TELLS_NOTHING_OF_THE_SERVICE else None
            state = replace(state, failure=event.failure, reason=event.reason, missing=missing)
            return state, _note(state)
        case CacheWritten():
            return replace(state, on_disk=state.in_force is not None, cache_problem=""), ()
        case CacheFailed():
            return replace(state, cache_problem=event.problem), ()


def advance(state: RefresherState, now: Instant) -> RefresherState:
    """The same state, later: everything has become older."""
    passed = now.since(state.now)
    missing = None if state.missing is None else state.missing + passed
    return replace(state, now=now, age=state.age + passed, missing=missing)


def policy_state(state: RefresherState, now: Instant) -> PolicyState:
    """How good the policies are at a moment that is not before the state's."""
    if state.in_force is None:
        return PolicyState.GONE if state.gone else PolicyState.NOT_READY
    age = state.age + now.since(state.now)
    # Written so that an age that is not a number expires.
    if not age <= state.limits.max_staleness:
        return PolicyState.EXPIRED
    if state.failure is Failure.DISABLED:
        return PolicyState.DISABLED
    return PolicyState.FRESH if age <= STALE_AFTER_INTERVALS * state.limits.interval else PolicyState.STALE


def wait(state: RefresherState) -> float:
    """Seconds until the next refresh is due.

    Longer after a failed login, so that we do not lock the account; doubled with each failure in a row, up to
    `MOST_DOUBLINGS` times, so that a Ranger Admin in trouble is left to recover.
    """
    if state.failure is Failure.LOGIN:
        return max(state.limits.interval, WAIT_AFTER_FAILED_LOGIN)
    return state.limits.interval * (1 << min(MOST_DOUBLINGS, max(0, state.failures - 1)))


def _cache_found(state: RefresherState, event: CacheFound) -> RefresherState:
    if state.in_force is not None or state.gone:
        return state
    return replace(
        state,
        in_force=event.found,
        on_disk=True,
        age=max(0.0, event.age),
        contact_at=event.now.wall - event.age,
        reason="policies come from the cache; Ranger Admin was not asked yet",
    )


def _confirmed(state: RefresherState, event: Confirmed) -> tuple[RefresherState, tuple[Command, ...]]:
    unchanged = event.current is state.in_force
    state = RefresherState(
        limits=state.limits,
        now=event.now,
        in_force=event.current,
        on_disk=unchanged and state.on_disk,
        contact_at=event.now.wall,
        age=0.0,
        reason="",
        cache_problem=state.cache_problem,
    )
    # A contact noted beside an older set would make that one look young after a restart.
    return state, _note(state) or (WriteCache(event.current, _contact(state, event.current)),)


def _missing(state: RefresherState, event: RefreshFailed) -> tuple[RefresherState, tuple[Command, ...]]:
    state = replace(state, failure=event.failure, reason=event.reason)
    if state.gone:
        return state, ()
    if state.missing is None:
        state = replace(state, missing=0.0)
        return state, _note(state)
    if state.missing < state.limits.interval:
        return state, _note(state)
    gone = RefresherState(
        limits=state.limits,
        now=state.now,
        failure=event.failure,
        reason=event.reason,
        gone=True,
        cache_problem=state.cache_problem,
    )
    return gone, (QuarantineCache(),)


def _note(state: RefresherState) -> tuple[Command, ...]:
    if state.in_force is None or not state.on_disk:
        return ()
    return (RecordContact(_contact(state, state.in_force)),)


def _contact(state: RefresherState, policy_set: PolicySet) -> LastContact:
    at = state.now.wall if state.contact_at is None else state.contact_at
    return LastContact(at=at, age=state.age, noted=state.now.wall, versions=policy_set.versions)
