"""Laws of the state of lookups, by simulation: times, users, failures and outages are drawn."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ranger_cdap.directory.group_cache import (
    CachedFailure,
    CachedGroups,
    CacheLimits,
    GroupCache,
    Lookup,
    LookupOutcome,
)

LIMITS = CacheLimits(ttl=60, negative_ttl=30, deadline=2, retry_after=5, most=3)
USERS = st.sampled_from("abcde")
DOWN = LookupOutcome(failure="down", unavailable_for=5)
STAFF = LookupOutcome(groups=frozenset({"staff"}))


def looked_up(cache: GroupCache, user: str, now: float) -> Lookup:
    found = cache.ask(user, now)
    assert isinstance(found, Lookup)
    assert found.is_new
    return found


def learn(cache: GroupCache, user: str, outcome: LookupOutcome, now: float) -> None:
    cache.finished(looked_up(cache, user, now), outcome, now)


class CacheMachine(RuleBasedStateMachine):
    """Users ask, lookups end in any order and as they like, and time goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = GroupCache(LIMITS)
        self.now = 0.0
        self.running: dict[str, Lookup] = {}
        self.begun: dict[str, float] = {}  # the beginning of the last lookup that found groups
        self.truth: dict[str, LookupOutcome] = {}

    @rule(seconds=st.sampled_from([0.1, 1.0, 2.0, 4.9, 5.0, 29.0, 31.0, 60.0]))
    def time_goes_on(self, seconds: float) -> None:
        self.now += seconds

    @rule(user=USERS)
    def ask(self, user: str) -> None:
        found = self.cache.ask(user, self.now)
        if isinstance(found, Lookup):
            assert found.is_new == (user not in self.running)
            assert self.now < found.began + LIMITS.deadline
            self.running.setdefault(user, found)
        elif isinstance(found, CachedGroups):
            outcome = self.truth[user]
            assert not outcome.failure
            assert found.groups == outcome.groups
            lasts = LIMITS.negative_ttl if outcome.groups is None else LIMITS.ttl
            assert self.now < self.begun[user] + lasts
        else:
            assert found.reason

    @rule(
        user=USERS,
        outcome=st.sampled_from(
            [
                STAFF,
                LookupOutcome(groups=None),
                LookupOutcome(groups=frozenset()),
                DOWN,
                LookupOutcome(failure="bad entry"),
            ]
        ),
    )
    def end(self, user: str, outcome: LookupOutcome) -> None:
        lookup = self.running.pop(user, None)
        if lookup is not None:
            self.cache.finished(lookup, outcome, self.now)
            self.truth[user], self.begun[user] = outcome, lookup.began

    @rule(user=USERS)
    def overdue(self, user: str) -> None:
        lookup = self.running.get(user)
        if lookup is not None and self.now >= lookup.began + LIMITS.deadline:
            self.cache.overdue(lookup, self.now)

    @invariant()
    def is_bounded(self) -> None:
        assert len(self.cache) <= LIMITS.most


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)


@given(st.floats(0, 120))
def test_groups_are_used_until_the_ttl_from_the_start_of_their_lookup(later: float) -> None:
    cache = GroupCache(LIMITS)
    cache.finished(looked_up(cache, "a", 10), STAFF, 11.5)
    found = cache.ask("a", 10 + later)
    assert isinstance(found, CachedGroups) if later < 60 else isinstance(found, Lookup)


def test_a_failure_is_never_no_groups_and_does_not_last() -> None:
    cache = GroupCache(LIMITS)
    learn(cache, "a", LookupOutcome(failure="bad entry"), 0)
    assert cache.ask("a", 4.9) == CachedFailure("bad entry")
    assert isinstance(cache.ask("b", 4.9), Lookup)  # the source is not to blame
    assert isinstance(cache.ask("a", 5), Lookup)


def test_expired_groups_are_not_used_while_the_source_is_down() -> None:
    cache = GroupCache(LIMITS)
    learn(cache, "a", STAFF, 0)
    learn(cache, "b", DOWN, 59)
    assert isinstance(cache.ask("a", 59.9), CachedGroups)
    assert cache.ask("a", 60) == CachedFailure("down")


def test_while_a_source_is_down_one_lookup_tries_it_and_all_others_fail_at_once() -> None:
    cache = GroupCache(LIMITS)
    learn(cache, "a", DOWN, 0)
    assert all(cache.ask(user, 4.9) == CachedFailure("down") for user in "bcde")
    trying = looked_up(cache, "b", 5)
    assert all(cache.ask(user, 5.1) == CachedFailure("down") for user in "cde")
    cache.finished(trying, STAFF, 5.2)
    assert isinstance(cache.ask("c", 5.3), Lookup)


def test_a_try_that_never_ends_does_not_keep_the_source_closed() -> None:
    cache = GroupCache(LIMITS)
    learn(cache, "a", DOWN, 0)
    looked_up(cache, "b", 5)
    assert cache.ask("c", 9.9) == CachedFailure("down")
    looked_up(cache, "c", 10)


def test_a_lookup_that_does_not_end_closes_the_source_unless_others_were_answered() -> None:
    slow = GroupCache(LIMITS)
    lookup = looked_up(slow, "a", 0)
    learn(slow, "b", STAFF, 1)
    slow.overdue(lookup, 2)
    assert slow.ask("a", 2) == CachedFailure("the lookup does not end")
    assert isinstance(slow.ask("c", 2), Lookup)

    hung = GroupCache(LIMITS)
    learn(hung, "b", STAFF, 0)
    hung.overdue(looked_up(hung, "a", 1), 3)
    assert hung.ask("c", 3) == CachedFailure("no answer in time")
    assert isinstance(hung.ask("c", 8), Lookup)


def test_a_failure_that_says_nothing_about_the_source_does_not_open_it_again() -> None:
    cache = GroupCache(LIMITS)
    waiting = looked_up(cache, "b", 0)
    learn(cache, "a", DOWN, 1)
    cache.finished(waiting, LookupOutcome(failure="busy", has_answered=False), 1.5)
    assert cache.ask("c", 2) == CachedFailure("down")


def test_a_late_answer_counts_from_the_start_of_its_lookup() -> None:
    cache = GroupCache(LIMITS)
    cache.finished(looked_up(cache, "a", 0), STAFF, 61)
    assert isinstance(cache.ask("a", 61), Lookup)
