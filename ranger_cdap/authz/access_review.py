"""Access of users as reviews show it: allowed, denied, or conditional, where conditions make a difference."""

from __future__ import annotations

from functools import lru_cache

from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.engine import AccessEntry, AccessRequest, Decision, EngineOptions, PolicyEngine, Verdict
from ranger_cdap.errors import NotReady
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.ranger.refresh.documents import Documents, compile_set
from ranger_cdap.ranger.refresh.ended import without_ended
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot


def review_engine(snapshot: Snapshot, now: int) -> PolicyEngine:
    """Return the engine of a snapshot without policies that ended before `now` (epoch milliseconds).

    The last one that had to be compiled is kept for the next question.

    Raises:
        NotReady: there are no policies.
    """
    engine, documents = snapshot.engine, snapshot.documents
    if engine is None:
        raise NotReady(snapshot.reason)
    if documents is None or (current := without_ended(documents, now)) is documents:
        return engine
    return _compiled(current, engine.service_name)


@lru_cache(maxsize=1)
def _compiled(documents: Documents, service: str) -> PolicyEngine:
    options = EngineOptions(conditions=condition_factories(plugin_manager()))
    return compile_set(documents, service, options).engine


def reviewed(engine: PolicyEngine, request: AccessRequest) -> tuple[Decision, AccessEntry | None]:
    """Return the decision at the time of the request, and the access it belongs to; None if no policy applies."""
    decision = engine.evaluate(request)
    if decision.conditional:
        return decision, engine.access_entry(request)
    return (
        (decision, AccessEntry(Verdict.ALLOWED, decision.policy_id))
        if is_allowed(decision)
        else (decision, AccessEntry(Verdict.DENIED, decision.policy_id) if decision.policy_id >= 0 else None)
    )
