"""Replay of audit events: other policies decide the same requests. Without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.engine import NO_POLICY, PolicyEngine
from ranger_cdap.ranger_model.audit_event import AuditEvent
from spark_sync.insights.request import RequestBuilder
from spark_sync.spark.sent_policies import SentPolicies, compiled

_NO_GROUPS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReplayBasis:
    """Common inputs of all decisions: policies, and the groups of known users; others have none, as in a plugin."""

    policies: SentPolicies
    groups: Mapping[str, frozenset[str]]


class Redecided(NamedTuple):
    """Decision on an event now: allowed, and by which policy; None and the reason if it was not replayed."""

    allowed: bool | None
    policy: int = NO_POLICY
    reason: str = ""


class Replayer:
    """Decider of audit events by one set of policies, at the time and from the address of each event."""

    def __init__(self, engine: PolicyEngine, groups: Mapping[str, frozenset[str]]) -> None:
        self._engine = engine
        self._groups = groups
        self._builder = RequestBuilder.of(engine)

    def decide(self, event: AuditEvent) -> Redecided:
        """Return the decision on an event; never raises."""
        request = self._builder.request(event, self._groups.get(event.user, _NO_GROUPS))
        if isinstance(request, str):
            return Redecided(None, reason=request)
        decision = self._engine.evaluate(request)
        return Redecided(is_allowed(decision), decision.policy_id)


def replayer(basis: ReplayBasis) -> Replayer:
    """Return the replayer of this process for these policies.

    Raises:
        PluginError: this process has other plugins than the one that loaded the policies.
    """
    return Replayer(compiled(basis.policies), basis.groups)
