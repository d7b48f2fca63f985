"""Policy refresh loop: downloads, compiles, caches, and swaps the policies in effect by one assignment."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from ranger_cdap.closing import Closing
from ranger_cdap.config import Settings, addresses
from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.errors import (
    AuthenticationFailed,
    CacheError,
    InvalidInput,
    PolicySetError,
    RangerCdapError,
    ServiceDisabled,
    ServiceNotFound,
    UnexpectedAnswer,
    VersionPending,
)
from ranger_cdap.forks import restart_after_fork
from ranger_cdap.ranger.client.downloader import APP_ID, Downloader
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.documents import Documents, PolicySet
from ranger_cdap.ranger.refresh.history import PolicyHistory
from ranger_cdap.ranger.refresh.policy_set_download import Downloads, PolicySetDownload
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
    policy_state,
    step,
    wait,
)

logger = logging.getLogger(__name__)

_NOTHING: Final = Versions()
_MOST_PROBLEMS: Final = 20  # reported one by one
_CLOSE_TIMEOUT: Final = 5.0  # seconds `close` waits for a download that is going on
_REQUEST_GAP: Final = 0.5  # seconds, at least, from one download to one that is requested
_FAILURES: Final[tuple[tuple[type[RangerCdapError], Failure], ...]] = (
    (ServiceNotFound, Failure.SERVICE_NOT_FOUND),
    (ServiceDisabled, Failure.DISABLED),
    (AuthenticationFailed, Failure.LOGIN),
    (PolicySetError, Failure.REFUSED),
    (RangerCdapError, Failure.UNREACHABLE),
)


def no_groups(_user: str) -> frozenset[str]:
    """Return no groups, for users if Ranger's groups are not used."""
    return frozenset()


class Snapshot(msgspec.Struct, frozen=True):
    """The policies in effect at one moment: `engine` is None without usable policies, for `reason`.

    `contact_at` is the last time Ranger Admin confirmed them, in seconds since 1970; `cache_problem` is the last error
    of the cache, empty without one; `groups_of` returns a user's groups in Ranger; `documents` are the source of the
    engine, for other processes.
    """

    engine: PolicyEngine | None
    state: PolicyState
    reason: str
    contact_at: float | None = None
    versions: Versions = _NOTHING
    cache_problem: str = ""
    groups_of: Callable[[str], frozenset[str]] = no_groups
    documents: Documents | None = None

    def has(self, version: int) -> bool:
        """Return true if policies of that version, or newer, decide."""
        return self.engine is not None and self.versions.policies >= version


def read_clocks() -> Instant:
    """Return the current time of the machine's clocks."""
    return Instant(time.time(), time.monotonic())


def jitter() -> float:
    """Return a factor near 1, so that plugins started together do not poll together."""
    return random.uniform(0.9, 1.1)  # noqa: S311 no secret depends on it


class PolicyRefresher(Closing):
    """Refreshes the policies of one service; thread-safe.

    `refresh` and the background thread never raise for failures of Ranger Admin or the disk: see the snapshot. The
    thread goes on refreshing after any error.
    Policies older than those this host has used are rejected, from the cache and from Ranger Admin, unless
    `allow_older`.
    """

    def __init__(
        self,
        admin: Downloads,
        settings: Settings,
        *,
        options: EngineOptions = EngineOptions(),  # noqa: B008 - immutable
        clock: Callable[[], Instant] = read_clocks,
        spread: Callable[[], float] = jitter,
        allow_older: bool = False,
    ) -> None:
        plugin, service = settings.plugin, settings.ranger.service
        self._admin = admin
        self._service = service
        self._policy_set = PolicySetDownload(admin, settings, options, clock)
        self._downloader = Downloader.here(APP_ID, service, plugin.cluster_name)
        self._cache = PolicyCache(
            plugin.cache_dir,
            service,
            report=logger.warning,
            with_users=plugin.needs_users,
            allow_older=allow_older,
            addresses=addresses(settings.ranger.url),
            accepted=plugin.accept_cache_of,
            options=options,
        )
        self._history = PolicyHistory(plugin.history_dir, service) if plugin.history_dir else None
        self._clock = clock
        self._spread = spread
        self._refreshing = threading.Lock()
        self._closed = threading.Event()
        self._wake = threading.Event()
        self._failed: RangerCdapError | None = None
        self._refreshes = 0
        self._thread: threading.Thread | None = None
        self._began = False
        state = RefresherState(Limits(plugin.poll_interval, plugin.max_staleness), clock())
        self._current = (state, snapshot_of(state, state.now))
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Refresh in this process, in the background if the parent does; the policies in effect stay."""
        closed = self._closed.is_set()
        self._refreshing, self._closed, self._wake = threading.Lock(), threading.Event(), threading.Event()
        self._began = self._began and self._current[0].in_effect is not None
        background, self._thread = self._thread is not None, None
        if closed:
            self._closed.set()
        elif background:
            self.start()

    @property
    def snapshot(self) -> Snapshot:
        """The usable policies now; they age also while a download hangs."""
        state, snapshot = self._current
        now = self._clock()
        return snapshot if policy_state(state, now) is snapshot.state else snapshot_of(state, now)

    @property
    def interval(self) -> float:
        """Seconds until the next refresh in the background; longer after a failed login."""
        return wait(self._current[0])

    def refresh(self) -> Snapshot:
        """Load the cache if not done yet, download once, and return the usable policies."""
        return self._refresh()[0]

    def refresh_now(self) -> Snapshot:
        """Download once, and return when Ranger Admin's current policies are in effect.

        Raises:
            RangerCdapError: one of its subclasses, by the kind of failure; the previous policies stay in effect.
        """
        snapshot, failed = self._refresh()
        if failed is not None:
            raise failed
        return snapshot

    def refresh_to(self, version: int, timeout: float) -> Snapshot:
        """Return when policies of that version or newer are in effect; downloads until then, at intervals.

        All that wait at the same time share the downloads.

        Raises:
            VersionPending: they are not in effect within `timeout` seconds.
            RangerCdapError: a download failed: a subclass by the cause. After a failed login there is none.
        """
        began, before = self._clock(), self._refreshes
        while not (snapshot := self.snapshot).has(version):
            if self._refreshes != before and self._failed is not None:
                raise self._failed
            if self._current[0].failure is Failure.LOGIN:
                raise AuthenticationFailed(self._current[0].reason)
            left = timeout - self._clock().since(began)
            if left <= 0 or self._closed.wait(min(left, self._gap())):
                raise VersionPending(
                    f"policies of version `{version}` are not in effect after {timeout:g} s:"
                    f" version `{snapshot.versions.policies}` is{_and(snapshot.reason)}"
                )
            self._refresh(unless=lambda: self.snapshot.has(version) or self._gap() > 0)
        return snapshot

    def request_refresh(self) -> None:
        """Wake the background thread to refresh soon, without waiting for it; many requests cause one download.

        Ignored after a failed login, so that requests cannot lock the account.

        Raises:
            InvalidInput: there is no background thread.
        """
        if self._thread is None:
            raise InvalidInput("policies are not refreshed in the background here, so no refresh can be requested")
        if self._current[0].failure is not Failure.LOGIN:
            self._wake.set()

    def _refresh(self, *, unless: Callable[[], bool] = lambda: False) -> tuple[Snapshot, RangerCdapError | None]:
        before = self._current[1]
        with self._refreshing:
            if unless():
                return self.snapshot, None
            if not self._began:
                self._began = True
                self._load_cache()
            self._handle(RefreshDue(self._clock()))
            self._refreshes += 1
            failed = self._failed
        self._report(before, self._current[1])
        return self.snapshot, failed

    def _gap(self) -> float:
        """Return the seconds until a requested download may begin."""
        return max(0.0, _REQUEST_GAP - self._clock().since(self._current[0].now)) if self._refreshes else 0.0

    def start(self) -> None:
        """Start refreshing in a daemon thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ranger-cdap-policies", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop the background thread and close the connections."""
        self._closed.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_TIMEOUT)
        self._admin.close()

    def _run(self) -> None:
        if not self._began:
            self._refresh_anyhow()
        while True:
            self._prepare()
            passed = self._clock().since(self._current[0].now)  # in a forked child, since the parent's last refresh
            self._wake.wait(max(0.0, self.interval * self._spread() - passed))
            if self._closed.is_set() or self._closed.wait(self._gap()):
                return
            self._wake.clear()
            self._refresh_anyhow()

    def _refresh_anyhow(self) -> None:
        try:
            self.refresh()
        except Exception as e:  # whatever fails, the thread must go on refreshing; meanwhile the policies age
            logger.error(  # noqa: TRY400 - a sentence
                "a refresh of the policies of service `%s` failed unexpectedly: %s", self._service, type(e).__name__
            )
            # The state may not know of this refresh, and then no wait is due.
            self._closed.wait(self.interval * self._spread())

    def _prepare(self) -> None:
        """Build what the first decisions would otherwise build; until then the policies in effect count as costly."""
        if (engine := self._current[1].engine) is not None:
            with suppress(Exception):
                engine.prepare()

    def _handle(self, first: Event) -> None:
        """Carry out the commands of the state machine until there are none."""
        events = deque([first])
        while events:
            before = self._current[1].versions
            state, commands = step(self._current[0], events.popleft())
            self._current = (state, snapshot := snapshot_of(state, state.now))
            since = self._downloader.activations.after(before, snapshot.versions, state.now.wall)
            self._downloader = replace(self._downloader, activations=since)
            events.extend(self._do(command) for command in commands)

    def _do(self, command: Command) -> Event:
        try:
            match command:
                case Download():
                    return self._download(command.known)
                case WriteCache():
                    self._keep(command.policy_set.documents)
                    self._cache.write(command.policy_set.documents, command.contact)
                case RecordContact():
                    self._cache.record_contact(command.contact)
                case QuarantineCache():
                    self._cache.quarantine("the service is not in Ranger Admin any more")
        except CacheError as e:
            return CacheFailed(self._clock(), str(e))
        except Exception as e:
            return CacheFailed(self._clock(), f"the policy cache cannot be written: {type(e).__name__}")
        return CacheWritten(self._clock())

    def _keep(self, documents: Documents) -> None:
        """Keep a version in the history; one that cannot be written is reported and stops nothing."""
        if self._history is None:
            return
        try:
            self._history.keep(documents, int(self._clock().wall * 1000))
        except CacheError as e:
            logger.warning("%s", e)

    def _load_cache(self) -> None:
        try:
            loaded = self._cache.load(self._clock().wall)
        except Exception as e:
            why = str(e) if isinstance(e, CacheError) else f"the policy cache cannot be used: {type(e).__name__}"
            self._handle(CacheFailed(self._clock(), why))
            return
        if loaded is not None:
            self._keep(loaded[0].documents)
            self._handle(CacheFound(self._clock(), *loaded))

    def _download(self, known: Versions) -> Event:
        self._failed = None
        try:
            current = self._not_older(self._policy_set.current(self._current[0].in_effect, known, self._downloader))
        except RangerCdapError as e:
            self._failed = e
            failure = next(failure for kind, failure in _FAILURES if isinstance(e, kind))
            return RefreshFailed(self._clock(), failure, str(e))
        except Exception as e:
            # The thread must go on refreshing after any error; meanwhile the policies age.
            logger.debug("a refresh failed unexpectedly", exc_info=True)
            self._failed = UnexpectedAnswer(f"the refresh failed unexpectedly: {type(e).__name__}")
            return RefreshFailed(self._clock(), Failure.UNREACHABLE, str(self._failed))
        return Confirmed(self._clock(), current)

    def _not_older(self, current: PolicySet) -> PolicySet:
        """Return the download, unless this host used newer; if the disk does not show it, Ranger Admin is trusted."""
        if current is self._current[0].in_effect:
            return current
        try:
            older = self._cache.refusal(current.versions)
        except CacheError as e:
            logger.warning("%s", e)
            return current
        if older:
            raise PolicySetError(f"Ranger Admin has {older}")
        return current

    def _report(self, before: Snapshot, after: Snapshot) -> None:
        if (before.state, before.reason) != (after.state, after.reason):
            level = logging.INFO if after.state is PolicyState.FRESH and not after.reason else logging.WARNING
            logger.log(level, "policies of service `%s`: %s%s", self._service, after.state, _and(after.reason))
        if after.cache_problem not in ("", before.cache_problem):
            logger.warning("%s", after.cache_problem)
        _log_problems(before.engine, after.engine)


def snapshot_of(state: RefresherState, now: Instant) -> Snapshot:
    """Return the usable policies of a state at a time. Pure."""
    found = policy_state(state, now)
    in_effect = state.in_effect
    return Snapshot(
        engine=in_effect.engine if in_effect is not None and found.decides else None,
        state=found,
        reason=_reason(found, state),
        contact_at=state.contact_at,
        versions=in_effect.versions if in_effect is not None else _NOTHING,
        cache_problem=state.cache_problem,
        groups_of=in_effect.groups_of if in_effect is not None else no_groups,
        documents=in_effect.documents if in_effect is not None and found.decides else None,
    )


def _log_problems(before: PolicyEngine | None, after: PolicyEngine | None) -> None:
    """Log the first few new problems of policies."""
    if after is None or after is before:
        return
    known = frozenset(before.problems) if before is not None else frozenset()
    new = [problem for problem in after.problems if problem not in known]
    for problem in new[:_MOST_PROBLEMS]:
        logger.warning("%s", problem)
    if len(new) > _MOST_PROBLEMS:
        logger.warning("and %d more problems with policies", len(new) - _MOST_PROBLEMS)


def _reason(found: PolicyState, state: RefresherState) -> str:
    if found not in (PolicyState.STALE, PolicyState.EXPIRED) or state.contact_at is None:
        return state.reason
    last = datetime.fromtimestamp(state.contact_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"Ranger Admin last confirmed the policies at {last}{_and(state.reason)}"


def _and(reason: str) -> str:
    return f"; {reason}" if reason else ""
