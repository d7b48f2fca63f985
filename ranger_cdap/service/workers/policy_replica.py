"""`PolicyReplica`: the owner's policies of one Ranger service in a worker.

Law: it decides with the owner's policies or with none, and they age from Ranger Admin's last contact with the owner,
whether or not the owner still sends news: never longer than `plugin.max_staleness`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ranger_cdap.config import Settings
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.refresh.documents import (
    Documents,
    PolicySet,
    after_deltas,
    compile_set,
    with_users,
)
from ranger_cdap.policies.refresh.policy_refresher import Snapshot, read_clocks, snapshot_of
from ranger_cdap.policies.refresh.refresh_state import Failure, Instant, Limits, RefresherState, policy_state
from ranger_cdap.service.workers.messages import FullSet, InEffect, Lost, NextSet, PolicyNews, SamePolicies


class PolicyReplica:
    """Source of policies; `take` is called by one thread, `snapshot` by any."""

    def __init__(
        self, settings: Settings, service: str, options: EngineOptions, clock: Callable[[], Instant] = read_clocks
    ) -> None:
        self._service = service
        self._options = options
        self._clock = clock
        limits = Limits(settings.plugin.poll_interval, settings.plugin.max_staleness)
        state = RefresherState(limits, clock())
        self._current = (state, snapshot_of(state, state.now))

    @property
    def snapshot(self) -> Snapshot:
        """Return the usable policies now."""
        state, snapshot = self._current
        now = self._clock()
        return snapshot if policy_state(state, now) is snapshot.state else snapshot_of(state, now)

    def take(self, news: PolicyNews) -> InEffect | Lost:
        """Decide by the news from now on, and return the number of the set; `Lost` if they do not follow ours.

        Raises:
            PolicySetError: a full set cannot be used, which the owner could.
        """
        held = self._current[0].in_effect
        in_effect = self._after(held, news)
        if in_effect is None and news.number:
            return Lost(self._service)
        freshness = news.freshness
        state = RefresherState(
            limits=self._current[0].limits,
            now=Instant(freshness.wall, freshness.monotonic),
            in_effect=in_effect,
            contact_at=freshness.contact_at,
            age=freshness.age,
            failure=Failure[freshness.failure] if freshness.failure is not None else None,
            reason=freshness.reason,
            gone=freshness.gone,
        )
        self._current = (state, snapshot_of(state, self._clock()))
        return InEffect(self._service, news.number, in_effect.versions.policies if in_effect is not None else -1)

    def _after(self, held: PolicySet | None, news: PolicyNews) -> PolicySet | None:
        """Return the set of the news, from the one held; None if there is none, or it does not follow."""
        change, found = news.change, held
        match change:
            case FullSet():
                documents = Documents(change.policies, change.roles, change.tags, change.users)
                found = compile_set(documents, self._service, self._options)
            case NextSet() if held is not None and held.number == change.since:
                if change.deltas is not None:
                    found = after_deltas(held, change.deltas, self._service)
                if found is not None and change.users is not None:
                    found = with_users(found, change.users)
            case SamePolicies() if held is not None and held.number == news.number:
                return held
            case _:
                return None
        return replace(found, number=news.number) if found is not None else None

    def refresh_now(self) -> Snapshot:
        """Refuse: the owner downloads.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput("policies are downloaded by the owner of this service, not by its workers")

    def refresh_to(self, version: int, timeout: float) -> Snapshot:
        """Refuse, as `refresh_now`.

        Raises:
            InvalidInput: always.
        """
        _ = version, timeout
        return self.refresh_now()

    def request_refresh(self) -> None:
        """Refuse, as `refresh_now`.

        Raises:
            InvalidInput: always.
        """
        self.refresh_now()

    def close(self) -> None:
        """Stop deciding needs nothing here."""
