"""`RangerService`: the policies of one Ranger service, for requests in Ranger's terms."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ranger_cdap.audit import AuditTrail
from ranger_cdap.authz.decider import PolicySource
from ranger_cdap.authz.groups import GroupHook, GroupResolver
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot


@dataclass(frozen=True, slots=True)
class RangerService:
    """Decider of Ranger requests for one service; safe to share between threads. `cluster` is for audit records."""

    name: str
    refresher: PolicySource
    audit: AuditTrail
    groups: GroupHook | None
    cluster: str
    clock: Callable[[], float] = time.time

    @property
    def snapshot(self) -> Snapshot:
        """Return the policies in effect and how fresh they are."""
        return self.refresher.snapshot

    def now(self) -> int:
        """Return the time now, in milliseconds since 1970."""
        return int(self.clock() * 1000)

    def decide(self, engine: PolicyEngine, request: AccessRequest) -> Decision:
        """Return the engine's decision, with the user's groups from the request, Ranger's user store and hooks."""
        return engine.evaluate(self.completed(request))

    def completed(self, request: AccessRequest) -> AccessRequest:
        """Return the request with its user as Ranger names them, and all their known groups."""
        resolver = GroupResolver.of(self.refresher.snapshot, self.groups, {request.user or "": request.groups})
        return resolver.completed(request)
