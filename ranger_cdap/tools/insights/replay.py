"""Replay of audit events: policies decide the same requests again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.engine.view import NO_ZONES_KNOWN
from ranger_cdap.ranger_model.audit_event import AuditEvent
from ranger_cdap.tools.analysis.access_row import AccessRow
from ranger_cdap.tools.analysis.example_request import ExampleRequest
from ranger_cdap.tools.analysis.logic.witness import Witness
from ranger_cdap.tools.analysis.row_text import LevelText, Spelling, resource_text
from ranger_cdap.tools.insights.facts import AuditFacts, Redecided, Use
from ranger_cdap.tools.insights.request import RequestBuilder

_NO_GROUPS: Final = frozenset[str]()


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
        is_open = decision.reason == NO_ZONES_KNOWN
        return (
            Redecided(None, reason=NO_ZONES_KNOWN) if is_open else Redecided(is_allowed(decision), decision.policy_id)
        )


def changed_rows(
    facts: AuditFacts,
    engine: PolicyEngine,
    groups: Mapping[str, frozenset[str]],
    spelling: Spelling = resource_text,
) -> list[AccessRow]:
    """Return the uses that were allowed and would be denied or the reverse, gained ones first, by their frequency."""
    found = [use for use in facts.uses if use.now is not None and use.now is not use.allowed]
    builder = RequestBuilder.of(engine)
    found.sort(key=lambda use: (use.now is not True, -use.times, use))
    return [_row(use, builder, groups, spelling) for use in found]


def _row(use: Use, builder: RequestBuilder, groups: Mapping[str, frozenset[str]], spelling: Spelling) -> AccessRow:
    gained, named = use.now is True, builder.levels(use.type, use.resource)
    path, values = named if not isinstance(named, str) else ((), ())
    levels = tuple(LevelText((value,)) for value in values)
    of_user = groups.get(use.user, _NO_GROUPS)
    request = AccessRequest(dict(zip(path, values, strict=True)), use.access, use.user or None, of_user)
    policy = use.by if gained else use.policy
    return AccessRow(
        gained=gained,
        policy_id=policy if policy >= 0 else None,
        who=(f"user {use.user}",),
        accesses=(use.access,),
        path=path,
        levels=levels,
        resource=spelling(path, levels),
        examples={use.access: ExampleRequest.of(Witness(request), spelling)},
        times=use.times,
    )
