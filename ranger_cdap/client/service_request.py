"""Requests to the decision service as values: what is sent, and the replies that answer it. Pure.

Law: a reply is true only if it allows what its request asks. Several decisions at once have no truth value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Generic, Literal, TypeVar

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_type, to_resource
from ranger_cdap.errors import InvalidInput
from ranger_cdap.wire.authzen_wire import (
    AuthZenAction,
    AuthZenEntity,
    EvaluationContext,
    EvaluationRequest,
    EvaluationResponse,
    EvaluationsRequest,
)
from ranger_cdap.wire.cdap_wire import EnforceReply, EnforceRequest, VisibleReply, VisibleRequest
from ranger_cdap.wire.health_wire import Live, Ready
from ranger_cdap.wire.pdp_wire import (
    AccessInfo,
    AuthzRequest,
    AuthzResult,
    MultiAuthzRequest,
    MultiAuthzResult,
    PdpDecision,
    ResourcePermissions,
    ResourcePermissionsRequest,
)
from ranger_cdap.wire.resource_name import NameTemplate

T = TypeVar("T")

_OK: Final = frozenset({HTTPStatus.OK.value})
_OK_OR_NOT_READY: Final = frozenset({HTTPStatus.OK.value, HTTPStatus.SERVICE_UNAVAILABLE.value})


class _NoTruth:
    __slots__ = ()

    def __bool__(self) -> bool:
        raise TypeError(f"`{type(self).__name__}` holds several decisions and has no truth value; read each of them")


# Fields that a newer service adds are ignored.
class CheckDecision(EnforceReply, frozen=True, forbid_unknown_fields=False):
    """Decision on a check of CDAP; true if it is allowed."""

    def __bool__(self) -> bool:
        return self.allowed


class VisibilityDecisions(_NoTruth, VisibleReply, frozen=True, forbid_unknown_fields=False):
    """Visibility of each entity, in the order of the request; it has no truth value."""


class EvaluationDecision(EvaluationResponse):
    """Decision on an evaluation; true if it is allowed."""

    def __bool__(self) -> bool:
        return self.decision


class EvaluationDecisions(_NoTruth, msgspec.Struct):
    """Decisions in the order of the request; it has no truth value."""

    evaluations: list[EvaluationDecision]


class AccessDecision(AuthzResult):
    """Decision of the Policy Decision Point on one access; true if it is `ALLOW`."""

    def __bool__(self) -> bool:
        return self.decision is PdpDecision.ALLOW


class AccessDecisions(_NoTruth, MultiAuthzResult):
    """Decisions of the Policy Decision Point, in the order of the request; it has no truth value."""


class Liveness(Live):
    """Liveness of the service; true if it is live."""

    def __bool__(self) -> bool:
        return self.live


class Readiness(Ready):
    """Readiness of the service; true if it is ready to decide."""

    def __bool__(self) -> bool:
        return self.ready


@dataclass(frozen=True, slots=True)
class ServiceRequest(Generic[T]):
    """Request to one endpoint; `problem` returns why a reply with that status does not answer it, empty if it does.

    `repeatable`: a repetition has no further effect, except for another audit record. `public`: sent without
    credentials.
    """

    method: Literal["GET", "POST"]
    path: str
    reply: type[T]
    problem: Callable[[T, int], str]
    body: bytes | None = None
    statuses: Collection[int] = _OK
    repeatable: bool = True
    public: bool = False


# --- CDAP -------------------------------------------------------------------------------------------------------------


def enforce(check: EnforceRequest) -> ServiceRequest[CheckDecision]:
    """Ask for a decision on a check of CDAP; one with a stamp may be journalled, so it is not repeated."""
    return posted("/cdap/v1/enforce", check, CheckDecision, lambda *_: "", repeatable=check.check is None)


def visible(question: VisibleRequest) -> ServiceRequest[VisibilityDecisions]:
    """Ask which of several entities a user sees."""
    count = len(question.entities)
    return posted("/cdap/v1/visible", question, VisibilityDecisions, lambda r, _: _count(len(r.visible), count))


# --- AuthZEN ----------------------------------------------------------------------------------------------------------


def evaluation(question: EvaluationRequest) -> ServiceRequest[EvaluationDecision]:
    """Ask for one evaluation of AuthZEN."""
    return posted("/access/v1/evaluation", question, EvaluationDecision, lambda r, _: _contradiction(r))


def evaluations(questions: EvaluationsRequest) -> ServiceRequest[EvaluationDecisions]:
    """Ask for several evaluations of AuthZEN by one set of policies.

    Raises:
        InvalidInput: there is none.
    """
    if not questions.evaluations:
        raise InvalidInput("`evaluations` is empty; ask with `evaluation` instead")
    count = len(questions.evaluations)
    semantic = questions.options.evaluations_semantic if questions.options else "execute_all"

    def problem(reply: EvaluationDecisions, _status: int) -> str:
        found = reply.evaluations
        last = {"deny_on_first_deny": False, "permit_on_first_permit": True}.get(semantic)
        ended = 0 < len(found) < count and found[-1].decision is last
        ended = ended and all(each.decision is not last for each in found[:-1])
        return ("" if ended else _count(len(found), count)) or next(filter(None, map(_contradiction, found)), "")

    return posted("/access/v1/evaluations", questions, EvaluationDecisions, problem)


def operation(
    user: str,
    name: str,
    entity: EntityId,
    *,
    groups: Collection[str] = (),
    instance: str = "cdap",
    client_ip: str | None = None,
) -> ServiceRequest[EvaluationDecision]:
    """Ask whether a user may perform an operation of CDAP, like `dataset.get`, on an entity of that instance."""
    resource = NameTemplate(entity_type(entity.type).path).format(to_resource(entity, instance))
    return evaluation(
        EvaluationRequest(
            subject=AuthZenEntity(type="user", id=user, properties={"groups": list(groups)} if groups else None),
            action=AuthZenAction(name=name),
            resource=AuthZenEntity(type=entity.type, id=resource),
            context={"clientIpAddress": client_ip} if client_ip else None,
        )
    )


# --- Ranger's Policy Decision Point -----------------------------------------------------------------------------------


def authorize(question: AuthzRequest) -> ServiceRequest[AccessDecision]:
    """Ask Ranger's Policy Decision Point about one access."""

    def problem(reply: AccessDecision, _status: int) -> str:
        return _other_id(reply.request_id, question.request_id) or _other_access(reply, question.access)

    return posted("/authz/v1/authorize", question, AccessDecision, problem)


def authorize_multi(question: MultiAuthzRequest) -> ServiceRequest[AccessDecisions]:
    """Ask Ranger's Policy Decision Point about several accesses, by one set of policies."""
    asked = question.accesses or []

    def problem(reply: AccessDecisions, _status: int) -> str:
        return (
            _other_id(reply.request_id, question.request_id)
            or _count(len(reply.accesses), len(asked))
            or next(filter(None, map(_other_access, reply.accesses, asked)), "")
            or _other_summary(reply)
        )

    return posted("/authz/v1/authorizeMulti", question, AccessDecisions, problem)


def permissions(question: ResourcePermissionsRequest) -> ServiceRequest[ResourcePermissions]:
    """Ask Ranger's Policy Decision Point for the permissions on a resource."""

    def problem(reply: ResourcePermissions, _status: int) -> str:
        asked = question.resource
        same = asked is not None and reply.resource.name == asked.name
        return "" if same else "it is about another resource"

    return posted("/authz/v1/permissions", question, ResourcePermissions, problem)


# --- health -----------------------------------------------------------------------------------------------------------


def live() -> ServiceRequest[Liveness]:
    """Ask whether the service is live; without credentials."""
    return ServiceRequest("GET", "/health/live", Liveness, lambda *_: "", public=True)


def ready() -> ServiceRequest[Readiness]:
    """Ask whether the service is ready to decide; without credentials."""

    def problem(reply: Readiness, status: int) -> str:
        return "" if reply.ready is (status == HTTPStatus.OK) else f"it contradicts its status (HTTP {status})"

    return ServiceRequest("GET", "/health/ready", Readiness, problem, statuses=_OK_OR_NOT_READY, public=True)


def posted(
    path: str, body: msgspec.Struct, reply: type[T], problem: Callable[[T, int], str], *, repeatable: bool = True
) -> ServiceRequest[T]:
    """Return the request that posts a body.

    Raises:
        InvalidInput: JSON cannot express it.
    """
    try:
        content = msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        raise InvalidInput(f"the request for `{path}` holds a value that JSON cannot express") from None
    return ServiceRequest("POST", path, reply, problem, content, repeatable=repeatable)


def _count(found: int, asked: int) -> str:
    return "" if found == asked else f"it has {found} decisions for {asked} questions"


def _contradiction(reply: EvaluationResponse) -> str:
    context = reply.context or EvaluationContext()
    return "it allows what it reports an error for" if reply.decision and context.error is not None else ""


def _other_id(found: str | None, asked: str | None) -> str:
    return "" if (found or "") == (asked or "") else "its `requestId` is that of another request"


def _other_access(reply: AuthzResult, asked: AccessInfo | None) -> str:
    """Return why the reply is not about exactly these permissions and sub-resources, or contradicts itself."""
    names = set(asked.permissions or ()) if asked else set()
    below = set((asked.resource.sub_resources if asked and asked.resource else None) or ())
    for name, found in reply.permissions.items():
        if found.permission != name or set(found.sub_resources or ()) != below:
            return "it is about another access"
        parts = [part.access.decision for part in (found.sub_resources or {}).values()]
        if found.access.decision is PdpDecision.ALLOW and any(part is not PdpDecision.ALLOW for part in parts):
            return "it allows a resource of which it denies a part"
    if set(reply.permissions) != names:
        return "it is about other permissions"
    if reply.decision is PdpDecision.ALLOW:
        denied = not names or any(r.access.decision is not PdpDecision.ALLOW for r in reply.permissions.values())
        return "it allows an access of which it denies a part" if denied else ""
    return ""


def _other_summary(reply: MultiAuthzResult) -> str:
    allowed = bool(reply.accesses) and all(each.decision is PdpDecision.ALLOW for each in reply.accesses)
    return "" if allowed or reply.decision is not PdpDecision.ALLOW else "it allows what it denies a part of"
