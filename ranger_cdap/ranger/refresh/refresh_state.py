"""State machine of the policy refresh: a pure function of downloads, failures and time.

`step(state, event)` returns the next state and commands for the refresher (architecture.md, "A refresh").
Laws: without a compiled download or a valid cache no policies are in effect; an age never decreases without a contact;
policies older than the maximum staleness do not decide; a service that Ranger Admin reports as deleted does not come
back from a cache.
"""

from __future__ import annotations

import enum
import math
from typing import Final

import msgspec
from msgspec.structs import replace

from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.documents import PolicySet

STALE_AFTER_INTERVALS: Final = 3
# Ranger locks an account after five failed logins in 300 s.
WAIT_AFTER_FAILED_LOGIN: Final = 100.0
MOST_DOUBLINGS: Final = 2


class PolicyState(enum.StrEnum):
    """Freshness of the policies; in `NOT_READY`, `EXPIRED` and `GONE` everything is denied."""

    NOT_READY = "not ready"
    FRESH = "fresh"
    STALE = "stale"
    EXPIRED = "expired"
    GONE = "gone"
    DISABLED = "disabled"

    @property
    def decides(self) -> bool:
        """Return True if policies decide in this state."""
        return self in (PolicyState.FRESH, PolicyState.STALE, PolicyState.DISABLED)


class Failure(enum.Enum):
    """Kinds of failed refreshes."""

    UNREACHABLE = enum.auto()
    LOGIN = enum.auto()
    REFUSED = enum.auto()
    DISABLED = enum.auto()
    SERVICE_NOT_FOUND = enum.auto()


_NOT_ABOUT_THE_SERVICE: Final = (Failure.UNREACHABLE, Failure.LOGIN)


class Instant(msgspec.Struct, frozen=True):
    """A time on two clocks, in seconds: wall clock (since 1970, may jump) and monotonic clock."""

    wall: float
    monotonic: float

    def since(self, earlier: Instant) -> float:
        """Return the elapsed time, the larger by the two clocks, so that a clock set back or a suspend hides none."""
        return max(0.0, self.wall - earlier.wall, self.monotonic - earlier.monotonic)


class Limits(msgspec.Struct, frozen=True):
    """Polling interval and maximum age of policies, in seconds."""

    interval: float
    max_staleness: float


class LastContact(msgspec.Struct, frozen=True):
    """The last time Ranger Admin confirmed the set of these versions, kept next to the cache.

    `at` is that time, `age` how old it was at `noted`, both in seconds since 1970. `addresses` are Ranger's.
    """

    at: float
    age: float
    noted: float
    versions: Versions
    addresses: tuple[str, ...] = ()


class RefresherState(msgspec.Struct, frozen=True):
    """The policies in effect, their age at `now`, and the last failure.

    `failures` counts those since the last contact; `missing` is the time since the first 404; `on_disk` means that the
    cache holds the policies in effect.
    """

    limits: Limits
    now: Instant
    in_effect: PolicySet | None = None
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


class CacheFound(msgspec.Struct, frozen=True):
    """The cache on disk holds a set that can decide, confirmed `age` seconds ago."""

    now: Instant
    found: PolicySet
    age: float


class RefreshDue(msgspec.Struct, frozen=True):
    """The polling interval has passed."""

    now: Instant


class Confirmed(msgspec.Struct, frozen=True):
    """All downloads succeeded; `current` is the same object as the set in effect if nothing changed."""

    now: Instant
    current: PolicySet


class RefreshFailed(msgspec.Struct, frozen=True):
    """A download failed, or its result is unusable."""

    now: Instant
    failure: Failure
    reason: str


class CacheWritten(msgspec.Struct, frozen=True):
    """The cache was written: the policies in effect are on disk."""

    now: Instant


class CacheFailed(msgspec.Struct, frozen=True):
    """The cache could not be read or written."""

    now: Instant
    problem: str


Event = CacheFound | RefreshDue | Confirmed | RefreshFailed | CacheWritten | CacheFailed


# Commands to the refresher. The result of a download is `Confirmed` or `RefreshFailed`, of all others `CacheWritten` or
# `CacheFailed`.


class Download(msgspec.Struct, frozen=True):
    """Download documents newer than these versions."""

    known: Versions


class WriteCache(msgspec.Struct, frozen=True):
    """Write a set and, after it, its contact."""

    policy_set: PolicySet
    contact: LastContact


class RecordContact(msgspec.Struct, frozen=True):
    """Write only the contact, because the set on disk is in effect."""

    contact: LastContact


class QuarantineCache(msgspec.Struct, frozen=True):
    """Rename the cache, so that no restart uses it."""


Command = Download | WriteCache | RecordContact | QuarantineCache


def step(state: RefresherState, event: Event) -> tuple[RefresherState, tuple[Command, ...]]:
    """Return the state after an event, and the resulting commands."""
    state = advance(state, event.now)
    match event:
        case CacheFound():
            return _cache_found(state, event), ()
        case RefreshDue():
            return state, (Download(state.in_effect.versions if state.in_effect else Versions()),)
        case Confirmed():
            return _confirmed(state, event)
        case RefreshFailed(failure=Failure.SERVICE_NOT_FOUND):
            return _missing(replace(state, failures=state.failures + 1), event)
        case RefreshFailed():
            state = replace(state, failures=state.failures + 1)
            missing = state.missing if event.failure in _NOT_ABOUT_THE_SERVICE else None
            state = replace(state, failure=event.failure, reason=event.reason, missing=missing)
            return state, _record_contact(state)
        case CacheWritten():
            return replace(state, on_disk=state.in_effect is not None, cache_problem=""), ()
        case CacheFailed():
            return replace(state, cache_problem=event.problem), ()


def advance(state: RefresherState, now: Instant) -> RefresherState:
    """Return the state at a later time, with increased ages."""
    passed = now.since(state.now)
    missing = None if state.missing is None else state.missing + passed
    return replace(state, now=now, age=state.age + passed, missing=missing)


def policy_state(state: RefresherState, now: Instant) -> PolicyState:
    """Return the freshness of the policies at a time not before that of the state."""
    if state.in_effect is None:
        return PolicyState.GONE if state.gone else PolicyState.NOT_READY
    age = state.age + now.since(state.now)
    # Negated so that a NaN age expires.
    if not age <= state.limits.max_staleness:
        return PolicyState.EXPIRED
    if state.failure is Failure.DISABLED:
        return PolicyState.DISABLED
    return PolicyState.FRESH if age <= STALE_AFTER_INTERVALS * state.limits.interval else PolicyState.STALE


def wait(state: RefresherState) -> float:
    """Return the seconds until the next refresh.

    Longer after a failed login, so that the account is not locked; doubled with each consecutive failure, up to
    `MOST_DOUBLINGS` times, so that Ranger Admin can recover.
    """
    if state.failure is Failure.LOGIN:
        return max(state.limits.interval, WAIT_AFTER_FAILED_LOGIN)
    return state.limits.interval * (1 << min(MOST_DOUBLINGS, max(0, state.failures - 1)))


def _cache_found(state: RefresherState, event: CacheFound) -> RefresherState:
    if state.in_effect is not None or state.gone:
        return state
    return replace(
        state,
        in_effect=event.found,
        on_disk=True,
        age=max(0.0, event.age),
        contact_at=event.now.wall - event.age,
        reason="policies are from the cache; Ranger Admin was not contacted yet",
    )


def _confirmed(state: RefresherState, event: Confirmed) -> tuple[RefresherState, tuple[Command, ...]]:
    unchanged = event.current is state.in_effect
    state = RefresherState(
        limits=state.limits,
        now=event.now,
        in_effect=event.current,
        on_disk=unchanged and state.on_disk,
        contact_at=event.now.wall,
        age=0.0,
        reason="",
        cache_problem=state.cache_problem,
    )
    # A contact recorded with an older set would make that set look fresh after a restart.
    return state, _record_contact(state) or (WriteCache(event.current, _contact(state, event.current)),)


def _missing(state: RefresherState, event: RefreshFailed) -> tuple[RefresherState, tuple[Command, ...]]:
    state = replace(state, failure=event.failure, reason=event.reason)
    if state.gone:
        return state, ()
    if state.missing is None:
        state = replace(state, missing=0.0)
        return state, _record_contact(state)
    if state.missing < state.limits.interval:
        return state, _record_contact(state)
    gone = RefresherState(
        limits=state.limits,
        now=state.now,
        failure=event.failure,
        reason=event.reason,
        gone=True,
        cache_problem=state.cache_problem,
    )
    return gone, (QuarantineCache(),)


def _record_contact(state: RefresherState) -> tuple[Command, ...]:
    if state.in_effect is None or not state.on_disk:
        return ()
    return (RecordContact(_contact(state, state.in_effect)),)


def _contact(state: RefresherState, policy_set: PolicySet) -> LastContact:
    at = state.now.wall if state.contact_at is None else state.contact_at
    return LastContact(at=at, age=state.age, noted=state.now.wall, versions=policy_set.versions)
