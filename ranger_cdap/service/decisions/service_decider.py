"""`ServiceDecider`: the policies of one Ranger service at one time; one request is decided by them as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ranger_cdap.audit import AuditedAccess, AuditedService, AuditRecord, event_id, record_of
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine, ProblemCode
from ranger_cdap.errors import AuditSinkError, NotReady
from ranger_cdap.ranger_model.service_def import ServiceDef
from ranger_cdap.service.decisions.ranger_service import RangerService
from ranger_cdap.service.http.reply import Refused
from ranger_cdap.service.http.turns import give_way
from ranger_cdap.wire.authz_error import AuthzProblem


class CheckedRequest(NamedTuple):
    """Access to decide, and the user's action if it has its own name."""

    request: AccessRequest
    action: str = ""


class Decided(NamedTuple):
    """Decision, and the id of its audit record."""

    decision: Decision
    name: str


@dataclass(frozen=True, slots=True)
class ServiceDecider:
    """Decider for one service; `now` in epoch milliseconds."""

    service: RangerService
    engine: PolicyEngine
    now: int

    @property
    def definition(self) -> ServiceDef:
        """Return the service definition of its policies."""
        return self.engine.service_def

    def knows(self, resource_type: str) -> bool:
        """Return true if the service has resources of that type."""
        return any(resource.name == resource_type for resource in self.definition.resources)

    def decide(self, *accesses: CheckedRequest) -> list[Decided]:
        """Return the decisions, in order; audited together, so that they wait for a disk once.

        A decision whose required audit record cannot be written is a denial.
        """
        decided = list(map(self._decided, accesses))
        try:
            self.service.audit.write(self._records(accesses, decided))
        except AuditSinkError as e:
            denied = Decision(
                allowed=False,
                determined=True,
                audited=True,
                reason=f"access is denied while it cannot be audited ({e})",
            )
            decided = [Decided(denied, one.name) if one.decision.audited else one for one in decided]
            self.service.audit.write_later(self._records(accesses, decided))
        return decided

    def _decided(self, checked: CheckedRequest) -> Decided:
        give_way()
        return Decided(self.engine.evaluate(checked.request), event_id())

    def _records(self, accesses: Sequence[CheckedRequest], decided: Sequence[Decided]) -> list[AuditRecord]:
        return [
            self._record(checked, *one) for checked, one in zip(accesses, decided, strict=True) if one.decision.audited
        ]

    def _record(self, checked: CheckedRequest, decision: Decision, name: str) -> AuditRecord:
        request, action = checked
        return record_of(
            decision,
            AuditedService.of(self.engine, self.service.cluster),
            AuditedAccess(
                time=self.now,
                user=request.user,
                access=action or request.access_type,
                action=request.access_type,
                resource=[one if isinstance(one, str) else ",".join(one) for one in request.resource.values()],
                resource_type=list(request.resource)[-1],
                client_ip=request.client_ip,
            ),
            allowed=decision.allowed,
            reason=decision.reason,
            name=name,
        )


@dataclass(eq=False, slots=True)
class DeciderRegistry:
    """Deciders of one request, created lazily."""

    services: Mapping[str, RangerService]
    _deciders: dict[str, ServiceDecider] = field(default_factory=dict)

    def of(self, name: str | None, type_: str | None) -> ServiceDecider:
        """Return the decider of the service with that name, or else of the first of that type.

        Raises:
            InvalidInput: neither is given, or there is no such service.
            NotReady: there are no policies, without which a service's type is unknown.
            Refused: the service's policies also mask or filter.
        """
        if name:
            if name not in self.services:
                raise AuthzProblem.SERVICE_NOT_FOUND.error(name)
            return _telling_all(self._decider(name))
        if not type_:
            raise AuthzProblem.SERVICE_MANDATORY.error()
        for decider in map(self._decider, self.services):
            if decider.definition.name == type_:
                return _telling_all(decider)
        raise AuthzProblem.SERVICE_TYPE_NOT_FOUND.error(type_)

    def first_with(self, resource_type: str) -> ServiceDecider | None:
        """Return the decider of the first service that has such resources; None if none has.

        Raises:
            NotReady: as `of`.
            Refused: as `of`.
        """
        for decider in map(self._decider, self.services):
            if decider.knows(resource_type):
                return _telling_all(decider)
        return None

    def _decider(self, name: str) -> ServiceDecider:
        if name not in self._deciders:
            service = self.services[name]
            snapshot = service.snapshot
            if snapshot.engine is None:
                raise NotReady(f"service `{name}` is not ready: {snapshot.reason}")
            self._deciders[name] = ServiceDecider(service, snapshot.engine, service.now())
        return self._deciders[name]


def _telling_all(decider: ServiceDecider) -> ServiceDecider:
    """Return the decider, if its policies only decide access; an answer without a mask or filter would reveal more.

    Raises:
        Refused: some policy masks or filters.
    """
    engine, definition = decider.engine, decider.definition
    shows_less = any(
        isinstance(d, dict) and d.get("resources") for d in (definition.data_mask_def, definition.row_filter_def)
    )
    if shows_less and any(problem.code is ProblemCode.NOT_ABOUT_ACCESS for problem in engine.problems):
        raise Refused(
            501,
            f"policies of service `{engine.service_name}` mask data or filter rows, which cannot be expressed here; "
            "use Ranger's own Policy Decision Point for this service",
        )
    return decider
