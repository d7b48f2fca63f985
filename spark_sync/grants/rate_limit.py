"""`RateLimitedRanger`: Ranger Admin, asked no more often than so many times a second, by however many threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from ranger_cdap.cdap.grant import Grant
from ranger_cdap.engine.model.wire import Policy

if TYPE_CHECKING:
    from spark_sync.grants.policy_rest import PolicyRest

UNLIMITED: Final = 0.0


class RateLimiter:
    """Gives turns at equal distances: at most `rate` a second, as many as go if that is 0."""

    def __init__(
        self,
        rate: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._distance = 1 / rate if rate else UNLIMITED
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next = 0.0

    def take(self) -> None:
        """Wait for a turn."""
        if not self._distance:
            return
        with self._lock:
            now = self._clock()
            mine = max(now, self._next)
            self._next = mine + self._distance
        self._sleep(mine - now)


class RateLimitedRanger:
    """As `spark_sync.grants.writer.PolicyRest`; each request waits for its turn."""

    def __init__(self, ranger: PolicyRest, turns: RateLimiter) -> None:
        self._ranger, self._turns = ranger, turns

    def create_policy(self, policy: Policy) -> Policy:
        """As `PolicyRest.create_policy`."""
        self._turns.take()
        return self._ranger.create_policy(policy)

    def update_policy(self, policy: Policy) -> Policy:
        """As `PolicyRest.update_policy`."""
        self._turns.take()
        return self._ranger.update_policy(policy)

    def policy_by_id(self, policy_id: int) -> Policy | None:
        """As `PolicyRest.policy_by_id`."""
        self._turns.take()
        return self._ranger.policy_by_id(policy_id)

    def policy_by_guid(self, service: str, guid: str) -> Policy | None:
        """As `PolicyRest.policy_by_guid`."""
        self._turns.take()
        return self._ranger.policy_by_guid(service, guid)

    def policy_by_name(self, service: str, name: str) -> Policy | None:
        """As `PolicyRest.policy_by_name`."""
        self._turns.take()
        return self._ranger.policy_by_name(service, name)

    def policies_matching(self, service: str, resource: Mapping[str, str]) -> list[Policy]:
        """As `PolicyRest.policies_matching`."""
        self._turns.take()
        return self._ranger.policies_matching(service, resource)

    def delete_policy(self, policy_id: int) -> None:
        """As `PolicyRest.delete_policy`."""
        self._turns.take()
        self._ranger.delete_policy(policy_id)

    def grant_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """As `PolicyRest.grant_access`."""
        self._turns.take()
        self._ranger.grant_access(service, grant, grantor=grantor)

    def revoke_access(self, service: str, grant: Grant, *, grantor: str) -> None:
        """As `PolicyRest.revoke_access`."""
        self._turns.take()
        self._ranger.revoke_access(service, grant, grantor=grantor)
