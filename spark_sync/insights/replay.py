"""Replay of audit events: other policies, compiled once per process, decide the same requests. Without Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.engine import NO_POLICY, EngineOptions, PolicyEngine
from ranger_cdap.errors import PluginError
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.policies.refresh.documents import Documents, compile_set, pieces
from ranger_cdap.ranger_model.audit_event import AuditEvent
from spark_sync.insights.request import RequestBuilder

_NO_GROUPS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReplayBasis:
    """Common inputs of all decisions: policies, the groups of known users, and the condition classes of the driver.

    `digest` identifies the policies. A user who is not in `groups` has none, as in a plugin.
    """

    service: str
    documents: Documents
    groups: Mapping[str, frozenset[str]]
    conditions: frozenset[str]
    digest: bytes


class Redecided(NamedTuple):
    """Decision on an event now: allowed, and by which policy; None and the reason if it was not replayed."""

    allowed: bool | None
    policy: int = NO_POLICY
    reason: str = ""


def replay_basis(
    service: str, documents: Documents, groups: Mapping[str, frozenset[str]], conditions: frozenset[str]
) -> ReplayBasis:
    """Return a basis for Spark: the policies in one piece, without the user store, whose groups are in `groups`."""
    policies = b"".join(pieces(documents.policies))
    digest = hashlib.sha256(service.encode())
    for content in (policies, documents.roles, documents.tags or b""):
        digest.update(len(content).to_bytes(8))
        digest.update(content)
    return ReplayBasis(
        service, Documents(policies, documents.roles, documents.tags), groups, conditions, digest.digest()
    )


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
    """Return the replayer of this process for these policies; a process keeps the last one.

    Raises:
        PluginError: this process has other plugins than the one that loaded the policies.
    """
    key = (basis.digest, basis.conditions)
    if key not in _compiled:
        makers = condition_factories(plugin_manager())
        if differing := basis.conditions ^ frozenset(makers):
            names = ", ".join(f"`{name}`" for name in sorted(differing))
            raise PluginError(f"Spark's executors and its driver differ in their plugins: conditions {names}")
        engine = compile_set(basis.documents, basis.service, EngineOptions(conditions=makers)).engine
        _compiled.clear()
        _compiled[key] = engine
    return Replayer(_compiled[key], basis.groups)


_compiled: dict[tuple[bytes, frozenset[str]], PolicyEngine] = {}
