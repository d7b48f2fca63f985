"""`ServiceDecider`: the policies of one Ranger service at one moment; all that one request asks is decided by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ranger_cdap.audit import AuditRecord, event_id, record_of
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine, ProblemCode
from ranger_cdap.engine.model.wire import ServiceDef
from ranger_cdap.errors import AuditSinkError, NotReady
from ranger_cdap.service.decisions.authz_error import AuthzProblem
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.http.reply import Refused


class PolicyQuestion(NamedTuple):
    """The access to decide, and the user's action, where that has a name of its own."""

    request: AccessRequest
    action: str = ""


class Decided(NamedTuple):
    """A decision, and the name it is audited under."""

    decision: Decision
    name: str


@dataclass(frozen=True, slots=True)
class ServiceDecider:
    """Decides for one service; `now` in epoch milliseconds."""

    service: RangerService
    engine: PolicyEngine
    now: int

    @property
    def definition(self) -> ServiceDef:
        """The service definition of its policies."""
        return self.engine.service_def

    def knows(self, resource_type: str) -> bool:
        """Whether the service has resources of that type."""
        return any(resource.name == resource_type for resource in self.definition.resources)

    def decide(self, *questions: PolicyQuestion) -> list[Decided]:
        """The decisions, in order; audited together, so that a disk they must wait for is waited for once.

        What must be audited and cannot be is denied.
        """
        decided = [Decided(self.engine.evaluate(question.request), event_id()) for question in questions]
        try:
            self.service.audit.write(self._records(questions, decided))
        except AuditSinkError as e:
            denied = Decision(
                allowed=False,
                determined=True,
                audited=True,
                reason=f"access is denied while it cannot be audited ({e})",
            )
            decided = [Decided(denied, one.name) if one.decision.audited else one for one in decided]
            self.service.audit.write_later(self._records(questions, decided))
        return decided

    def _records(self, questions: Sequence[PolicyQuestion], decided: Sequence[Decided]) -> list[AuditRecord]:
        pairs = zip(questions, decided, strict=True)
        return [self._record(question, *one) for question, one in pairs if one.decision.audited]

    def _record(self, question: PolicyQuestion, decision: Decision, name: str) -> AuditRecord:
        request, action = question
        return record_of(
            decision,
            self.engine,
            time=self.now,
            person=request.user,
            access=action or request.access_type,
            action=request.access_type,
            resource=[one if isinstance(one, str) else ",".join(one) for one in request.resource.values()],
            resource_type=list(request.resource)[-1],
            allowed=decision.allowed,
            reason=decision.reason,
            client_ip=request.client_ip,
            name=name,
        )


class DeciderRegistry:
    """The deciders of one request, created lazily."""

    def __init__(self, services: Mapping[str, RangerService]) -> None:
        self._services = services
        self._deciders: dict[str, ServiceDecider] = {}

    def of(self, name: str | None, type_: str | None) -> ServiceDecider:
        """The decider of the service with that name, or else of the first of that type.

        Raises:
            InvalidInput: neither is given, or there is no such service.
            NotReady: there are no policies; of a service without policies nobody knows the type.
            Refused: the service's policies say more than who may do what.
        """
        if name:
            if name not in self._services:
                raise AuthzProblem.SERVICE_NOT_FOUND.error(name)
            return _telling_all(self._decider(name))
        if not type_:
            raise AuthzProblem.SERVICE_MANDATORY.error()
        for decider in map(self._decider, self._services):
            if decider.definition.name == type_:
                return _telling_all(decider)
        raise AuthzProblem.SERVICE_TYPE_NOT_FOUND.error(type_)

    def first_with(self, resource_type: str) -> ServiceDecider | None:
        """The decider of the first service that has such resources; None if none has.

        Raises:
            NotReady: as `of`.
            Refused: as `of`.
        """
        for decider in map(self._decider, self._services):
            if decider.knows(resource_type):
                return _telling_all(decider)
        return None

    def _decider(self, name: str) -> ServiceDecider:
        if name not in self._deciders:
            service = self._services[name]
            snapshot = service.snapshot
            if snapshot.engine is None:
                raise NotReady(f"service `{name}` is not ready: {snapshot.reason}")
            self._deciders[name] = ServiceDecider(service, snapshot.engine, service.now())
        return self._deciders[name]


def _telling_all(decider: ServiceDecider) -> ServiceDecider:
    """The decider, if policies decide access only: without the mask or filter that belongs to it, an answer shows more.

    Raises:
        Refused: some policy masks or filters.
    """
    engine, definition = decider.engine, decider.definition
    shows_less = any(
        isinstance(d, dict) and d.get("resources") for d in (definition.dataMaskDef, definition.rowFilterDef)
    )
    if shows_less and any(problem.code is ProblemCode.NOT_ABOUT_ACCESS for problem in engine.problems):
        raise Refused(
            501,
            f"policies of service `{engine.service_name}` mask data or filter rows, which cannot be told here; "
            "ask Ranger's own Policy Decision Point about this service",
        )
    return decider
