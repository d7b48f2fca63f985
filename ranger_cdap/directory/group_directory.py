"""`GroupDirectory`: the groups of users from the configured sources, cached, and never waited for beyond a deadline."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Final, Protocol, Self

from ranger_cdap.config import GroupSettings, Settings
from ranger_cdap.directory.group_cache import (
    CachedFailure,
    CachedGroups,
    CacheLimits,
    GroupCache,
    Lookup,
    LookupOutcome,
)
from ranger_cdap.errors import ConfigError, GroupLookupFailed, GroupSourceUnavailable
from ranger_cdap.forks import restart_after_fork

logger = logging.getLogger(__name__)

_BUSY: Final = LookupOutcome(failure="too many users are looked up at the same time", has_answered=False)

LONGEST_NAME: Final = 256
MOST_AT_ONCE: Final = 4
"""Users looked up at the same time."""
RETRY_SECONDS: Final = 5.0
"""After a failure nothing asks the directory again for so long: groups are unknown at once."""
REJECTED_SECONDS: Final = 60.0
"""Seconds between attempts with credentials that were rejected: directories lock accounts after a few."""


class GroupSource(Protocol):
    """A source of groups."""

    name: str
    is_definitive: bool

    def look_up(self, user: str, deadline: float) -> frozenset[str] | None:
        """Return the groups of a user, None for an unknown one; raise GroupLookupFailed if they are not known."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


GroupSourceFactory = Callable[[Settings], GroupSource]


class CredentialsRejected(GroupSourceUnavailable):
    """The account of a source is rejected; trying it again soon could lock it."""


def machine_clock() -> float:
    """Return seconds on a clock that never goes back, and that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class GroupDirectory:
    """Groups by user; safe to share between threads and to use in a forked process."""

    def __init__(
        self,
        settings: GroupSettings,
        sources: Sequence[GroupSource],
        *,
        at_once: int = MOST_AT_ONCE,
        clock: Callable[[], float] = machine_clock,
    ) -> None:
        self._settings = settings
        self.sources = tuple(sources)
        self._at_once = at_once
        self._clock = clock
        self._start_empty()
        weakref.finalize(self, _close, self.sources)
        restart_after_fork(self)

    @classmethod
    def of(cls, settings: Settings, factories: Mapping[str, GroupSourceFactory]) -> Self | None:
        """Return the groups of the settings, by factories of sources; None if they name no source and no group.

        Raises:
            ConfigError: a source has no factory, its extra is not installed, or a file cannot be used.
        """
        groups = settings.groups
        if not groups.sources and not groups.static:
            return None
        names = tuple(dict.fromkeys(groups.sources))
        for name in names:
            if name not in factories:
                raise ConfigError(f"no plugin has the source of groups `{name}`, which `groups.sources` names")
        return cls(groups, [factories[name](settings) for name in names])

    def after_fork(self) -> None:
        """Forget what threads of the parent were looking up."""
        self._start_empty()

    def groups_of(self, user: str) -> frozenset[str] | None:
        """Return the groups of a user; None if no source knows the user.

        Raises:
            GroupLookupFailed: they are unknown, which may be only for now.
        """
        if user in self._settings.static:
            return frozenset(self._settings.static[user])
        if not self.sources:
            return None
        if not is_possible_name(user):
            raise GroupLookupFailed("the name of the user is empty, too long or not printable")
        with self._lock:
            asked = self._cache.ask(user, self._clock())
            if isinstance(asked, CachedGroups):
                return asked.groups
            if isinstance(asked, CachedFailure):
                raise GroupLookupFailed(asked.reason)
            if asked.is_new:
                self._running[user] = Future()
            running = self._running[user]
        if asked.is_new:
            self._begin(asked, running)
        return self._awaited(asked, running)

    def _start_empty(self) -> None:
        settings = self._settings
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(self._at_once)
        self._running: dict[str, Future[LookupOutcome]] = {}
        self._cache = GroupCache(CacheLimits(settings.ttl, settings.negative_ttl, settings.deadline, RETRY_SECONDS))

    def _begin(self, lookup: Lookup, running: Future[LookupOutcome]) -> None:
        """Look up in a thread of its own: no time-out of a library bounds the sum of its steps."""
        thread = threading.Thread(target=self._run, args=(lookup, running, self._slots), daemon=True, name="groups")
        try:
            thread.start()
        except RuntimeError:
            self._finish(lookup, running, LookupOutcome(failure="no thread can be started"))

    def _run(self, lookup: Lookup, running: Future[LookupOutcome], slots: threading.BoundedSemaphore) -> None:
        deadline = time.monotonic() + self._settings.deadline
        if not slots.acquire(timeout=self._settings.deadline):
            self._finish(lookup, running, _BUSY)
            return
        try:
            outcome = self._outcome(lookup.user, deadline)
        finally:
            slots.release()
        self._finish(lookup, running, outcome)

    def _outcome(self, user: str, deadline: float) -> LookupOutcome:
        try:
            return LookupOutcome(groups=self._from_sources(user, deadline))
        except CredentialsRejected as e:
            return LookupOutcome(failure=str(e), unavailable_for=REJECTED_SECONDS)
        except (GroupSourceUnavailable, ConfigError) as e:  # of a secret that cannot be read
            return LookupOutcome(failure=str(e), unavailable_for=RETRY_SECONDS)
        except GroupLookupFailed as e:
            return LookupOutcome(failure=str(e))
        except Exception as e:
            logger.warning("a lookup of groups failed with %s", type(e).__name__)
            return LookupOutcome(failure=f"the lookup failed with {type(e).__name__}")

    def _from_sources(self, user: str, deadline: float) -> frozenset[str] | None:
        found: set[str] = set()
        is_known = False
        for source in self.sources:
            groups = source.look_up(user, deadline)
            is_known |= groups is not None
            found |= groups or frozenset()
            if groups and not self._settings.combined:
                break
        if not is_known and not all(source.is_definitive for source in self.sources):
            raise GroupLookupFailed("this machine does not know the user, or its name service is unavailable")
        return frozenset(found) if is_known else None

    def _finish(self, lookup: Lookup, running: Future[LookupOutcome], outcome: LookupOutcome) -> None:
        with self._lock:
            before = self._cache.unavailable
            self._cache.finished(lookup, outcome, self._clock())
            if self._running.get(lookup.user) is running:
                del self._running[lookup.user]
            self._report(before)
            if outcome.failure and not self._cache.unavailable:
                logger.warning("groups of a user are unknown: %s", outcome.failure)
        running.set_result(outcome)

    def _awaited(self, lookup: Lookup, running: Future[LookupOutcome]) -> frozenset[str] | None:
        left = max(0.0, lookup.began + self._settings.deadline - self._clock())
        try:
            outcome = running.result(timeout=left)
        except NotInTime:
            with self._lock:
                before = self._cache.unavailable
                self._cache.overdue(lookup, self._clock())
                self._report(before)
            raise GroupLookupFailed("the groups were not found in time") from None
        if outcome.failure:
            raise GroupLookupFailed(outcome.failure)
        return outcome.groups

    def _report(self, before: str) -> None:
        now = self._cache.unavailable
        if now and not before:
            logger.warning("groups cannot be looked up: %s; users count as members of every group in a deny", now)
        elif before and not now:
            logger.info("groups can be looked up again")


def is_possible_name(user: str) -> bool:
    """Return whether a source can know the name: printable text of at most `LONGEST_NAME` characters."""
    return 0 < len(user) <= LONGEST_NAME and user.isprintable() and user == user.strip()


def _close(sources: Iterable[GroupSource]) -> None:
    for source in sources:
        source.close()
