"""`RangerService`: the policies of one Ranger service, asked in Ranger's own words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from ranger_cdap.audit import AuditTrail
from ranger_cdap.authz.groups import GroupHook, GroupResolver
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine
from ranger_cdap.policies.refresh.policy_refresher import PolicyRefresher, Snapshot


@dataclass(frozen=True, slots=True)
class RangerService:
    """Decides Ranger requests for one service; safe to share between threads."""

    name: str
    refresher: PolicyRefresher
    audit: AuditTrail
    groups: GroupHook | None = None
    clock: Callable[[], float] = time.time

    @property
    def snapshot(self) -> Snapshot:
        """The policies in effect and how fresh they are."""
        return self.refresher.snapshot

    def now(self) -> int:
        """The time now, in milliseconds since 1970."""
        return int(self.clock() * 1000)

    def decide(self, engine: PolicyEngine, request: AccessRequest) -> Decision:
        """The engine's decision, the user's groups being those of the request, of Ranger's user store and of hooks."""
        return engine.evaluate(self.completed(request))

    def completed(self, request: AccessRequest) -> AccessRequest:
        """The request with all groups of its user that are known."""
        if request.user is None:
            return request
        people = GroupResolver({request.user: request.groups}, self.refresher.snapshot.groups_of, self.groups)
        membership = people.membership(request.user)
        return msgspec.structs.replace(request, groups=membership.groups, groups_known=membership.known)
