"""State of group lookups: what is known of each user, what is being looked up, and when a source is tried again; pure.

Laws: groups are used for at most `ttl` seconds from the start of their lookup. A failure is never an answer: it is
remembered, for `retry_after` seconds, as a failure. One lookup per user at a time. While a source is unavailable one
lookup at a time tries it, at most every `retry_after` seconds, and all others fail at once.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

MOST_USERS: Final = 20_000


@dataclass(frozen=True, slots=True)
class CachedGroups:
    """The groups of a user; None: no source knows the user."""

    groups: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class CachedFailure:
    """The reason why the groups of a user are unknown."""

    reason: str


@dataclass(frozen=True, slots=True)
class Lookup:
    """A lookup of a user that began at a time; `is_new` if the caller has to carry it out."""

    user: str
    began: float
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class LookupOutcome:
    """The end of a lookup: groups, or the reason of a failure; `unavailable_for` seconds no one can be looked up.

    `has_answered` is false if a failure says nothing about the source.
    """

    groups: frozenset[str] | None = None
    failure: str = ""
    unavailable_for: float = 0.0
    has_answered: bool = True


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Times in seconds; `deadline` is the longest that a caller waits for a lookup."""

    ttl: float
    negative_ttl: float
    deadline: float
    retry_after: float
    most: int = MOST_USERS


@dataclass(eq=False, slots=True)
class GroupCache:
    """The state; times are values of one clock that never goes back.

    `unavailable` is the reason why no user can be looked up, empty if there is none.
    """

    limits: CacheLimits
    unavailable: str = ""
    _known: OrderedDict[str, tuple[CachedGroups | CachedFailure, float]] = field(default_factory=OrderedDict)
    _running: dict[str, Lookup] = field(default_factory=dict)
    _try_again: float = 0.0
    _last_answer: float = float("-inf")

    def ask(self, user: str, now: float) -> CachedGroups | CachedFailure | Lookup:
        """Return what is known of a user, or the lookup to wait for."""
        found = self._known.get(user)
        if found is not None:
            if now < found[1]:
                self._known.move_to_end(user)
                return found[0]
            del self._known[user]
        running = self._running.get(user)
        if running is not None:
            late = now >= running.began + self.limits.deadline
            return CachedFailure("the lookup does not end") if late else running
        if self.unavailable:
            if now < self._try_again:
                return CachedFailure(self.unavailable)
            self._try_again = now + self.limits.retry_after  # this lookup tries; the others wait for its outcome
        self._running[user] = Lookup(user, now)
        return Lookup(user, now, is_new=True)

    def finished(self, lookup: Lookup, outcome: LookupOutcome, now: float) -> None:
        """Take the outcome of a lookup, late or not."""
        self._running.pop(lookup.user, None)
        if outcome.failure:
            self._remember(lookup.user, CachedFailure(outcome.failure), now + self.limits.retry_after)
            if outcome.unavailable_for:
                self.unavailable, self._try_again = outcome.failure, now + outcome.unavailable_for
            elif outcome.has_answered:
                self._answered(now)
            return
        self._answered(now)
        lasts = self.limits.ttl if outcome.groups is not None else self.limits.negative_ttl
        if now < lookup.began + lasts:
            self._remember(lookup.user, CachedGroups(outcome.groups), lookup.began + lasts)

    def overdue(self, lookup: Lookup, now: float) -> None:
        """Take note that a lookup has not ended in time: the source is unavailable, unless it answered others since."""
        if self._last_answer < lookup.began and not self.unavailable:
            self.unavailable = "no answer in time"
            self._try_again = now + self.limits.retry_after

    def __len__(self) -> int:
        return len(self._known)

    def _answered(self, now: float) -> None:
        self.unavailable = ""
        self._last_answer = now

    def _remember(self, user: str, what: CachedGroups | CachedFailure, until: float) -> None:
        self._known[user] = what, until
        self._known.move_to_end(user)
        while len(self._known) > self.limits.most:
            self._known.popitem(last=False)
