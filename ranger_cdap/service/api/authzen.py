"""`/access/v1` and `/.well-known/authzen-configuration`: the OpenID AuthZEN Authorization API 1.0.

A resource's type and id form its name in Ranger; an action is a permission of the service definition or, for CDAP, an
operation like `dataset.get`.
"""

from __future__ import annotations

import uuid
from typing import Any, Final, TypeVar

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.engine import AccessStatus, MatchingScope
from ranger_cdap.engine.decide.acl import Accesses
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.service.api.pdp import PUBLIC_GROUP, access_request, policy_info
from ranger_cdap.service.decisions.authz_error import AuthzProblem
from ranger_cdap.service.decisions.delegation import OWNER, Claims, TrustedClaims, verify_claims
from ranger_cdap.service.decisions.pdp_result import pdp_decision_of
from ranger_cdap.service.decisions.resource_name import NameTemplate, Resource
from ranger_cdap.service.decisions.service_decider import CheckedRequest, DeciderRegistry, ServiceDecider
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.service.wire.authzen_wire import (
    AuthZenAction,
    AuthZenActionName,
    AuthZenActions,
    AuthZenConfiguration,
    AuthZenEntity,
    AuthZenSubject,
    AuthZenSubjects,
    EvaluationContext,
    EvaluationError,
    EvaluationRequest,
    EvaluationResponse,
    EvaluationsRequest,
    EvaluationsResponse,
)
from ranger_cdap.service.wire.pdp_wire import AccessContext, PdpDecision

EVALUATION: Final = "/access/v1/evaluation"
EVALUATIONS: Final = "/access/v1/evaluations"
SEARCH_SUBJECT: Final = "/access/v1/search/subject"
SEARCH_ACTION: Final = "/access/v1/search/action"

_USER: Final = "user"
_OF_RANGER: Final = ("serviceName", "serviceType", "accessTime", "clientIpAddress")
"""Keys of `context` that form Ranger's access context; the others are context attributes."""

_Part = TypeVar("_Part", AuthZenEntity, AuthZenAction)

_LAST: Final = {"deny_on_first_deny": False, "permit_on_first_permit": True}
"""Decision after which evaluation stops."""


def evaluation(call: HandlerCall) -> Reply:
    """Evaluate one request; audited."""
    return json_reply(_evaluated(call, DeciderRegistry(call.state.services), call.body))


def evaluations(call: HandlerCall) -> Reply:
    """Evaluate several requests by the same policies, or one if there is no list; audited."""
    body: EvaluationsRequest = call.body
    if not body.evaluations:
        return evaluation(call)
    most = call.state.settings.service.max_batch
    if len(body.evaluations) > most:
        raise Refused(400, f"`evaluations` has more than {most} (`service.max_batch`)")
    deciders = DeciderRegistry(call.state.services)
    last = _LAST.get(body.options.evaluations_semantic) if body.options else None
    results: list[EvaluationResponse] = []
    for item in body.evaluations:
        results.append(_item(call, deciders, _merged(item, body)))
        if results[-1].decision is last:
            break
    return json_reply(EvaluationsResponse(evaluations=results))


def search_subject(call: HandlerCall) -> Reply:
    """List users, groups or roles that policies name and allow at any time and from anywhere; not audited."""
    body: EvaluationRequest = call.body
    kind = _text("subject.type", _given("subject", body.subject).type)
    permission = _text("action.name", _given("action", body.action).name)
    resource = _given("resource", body.resource)
    owner = verify_claims(call.caller, Claims("", resource_attributes=resource.properties)).owner
    place = _resource_of(DeciderRegistry(call.state.services), resource, _context(body))
    if place is None:
        return json_reply(AuthZenSubjects(results=[]))
    decider, values = place
    if _is_operation(call, decider, permission):
        raise Refused(400, "a search takes a permission, not an operation of CDAP")
    access = decider.engine.who_can(values, owner=owner)
    rows = {_USER: access.users, "group": {PUBLIC_GROUP: access.all_users} | access.groups, "role": access.roles}
    found = [name for name, accesses in rows.get(kind, {}).items() if _holds(accesses, permission)]
    return json_reply(AuthZenSubjects(results=[AuthZenSubject(type=kind, id=name) for name in found]))


def search_action(call: HandlerCall) -> Reply:
    """List a user's permissions on a resource; not audited."""
    body: EvaluationRequest = call.body
    subject, resource, context = _given("subject", body.subject), _given("resource", body.resource), _context(body)
    kind = _text("subject.type", subject.type)
    claims = verify_claims(call.caller, _claims_of(subject, None, resource, body.context))
    place = _resource_of(DeciderRegistry(call.state.services), resource, context)
    if place is None or kind != _USER:
        return json_reply(AuthZenActions(results=[]))
    decider, values = place
    request = access_request(decider, claims, context, values, MatchingScope.SELF)
    names = [access.name for access in decider.definition.access_types]
    allowed = (n for n in names if decider.engine.evaluate(msgspec.structs.replace(request, access_type=n)).allowed)
    return json_reply(AuthZenActions(results=[AuthZenActionName(name=name) for name in allowed]))


def configuration(call: HandlerCall) -> Reply:
    """Return the endpoints."""
    base = call.base_url
    return json_reply(
        AuthZenConfiguration(
            policy_decision_point=base,
            access_evaluation_endpoint=base + EVALUATION,
            access_evaluations_endpoint=base + EVALUATIONS,
            search_subject_endpoint=base + SEARCH_SUBJECT,
            search_action_endpoint=base + SEARCH_ACTION,
        )
    )


def _item(call: HandlerCall, deciders: DeciderRegistry, request: EvaluationRequest) -> EvaluationResponse:
    """Evaluate one of several; an invalid one is denied, and the others are evaluated."""
    try:
        return _evaluated(call, deciders, request)
    except Refused as e:
        found = EvaluationError(status=e.status, message=e.message)
    except InvalidInput as e:
        found = EvaluationError(status=400, message=str(e))
    return EvaluationResponse(decision=False, context=EvaluationContext(error=found))


def _evaluated(call: HandlerCall, deciders: DeciderRegistry, request: EvaluationRequest) -> EvaluationResponse:
    subject, action = _given("subject", request.subject), _given("action", request.action)
    resource, context = _given("resource", request.resource), _context(request)
    kind, permission = _text("subject.type", subject.type), _text("action.name", action.name)
    claims = verify_claims(call.caller, _claims_of(subject, action, resource, request.context))
    if kind != _USER:
        raise Refused(400, f"Ranger decides about subjects of the type `{_USER}`, not `{kind[:40]}`")
    place = _resource_of(deciders, resource, context)
    if place is None:
        raise AuthzProblem.RESOURCE_TYPE_NOT_FOUND.error(resource.type or "")
    decider, values = place
    if _is_operation(call, decider, permission):
        result = _operation(call, decider, claims, context, permission, values)
    else:
        result = _permission(decider, claims, context, permission, values)
    call.state.metrics.decided("authzen", result.decision)
    return result


def _permission(
    decider: ServiceDecider, claims: TrustedClaims, context: AccessContext, permission: str, values: Resource
) -> EvaluationResponse:
    request = access_request(decider, claims, context, values, MatchingScope.SELF)
    ((decision, name),) = decider.decide(CheckedRequest(msgspec.structs.replace(request, access_type=permission)))
    undecided = pdp_decision_of(decision) is PdpDecision.NOT_DETERMINED
    return EvaluationResponse(
        decision=decision.allowed,
        context=EvaluationContext(
            policy=policy_info(decision),
            policy_version=decider.engine.policy_version,
            decision_id=name,
            reason_admin={"ranger": "not-determined"} if undecided else None,
        ),
    )


def _operation(
    call: HandlerCall,
    decider: ServiceDecider,
    claims: TrustedClaims,
    context: AccessContext,
    operation: str,
    values: Resource,
) -> EvaluationResponse:
    if claims.owner or (context.access_time or 0) > 0:
        raise Refused(400, f"an operation of CDAP is decided for the current time and without `{OWNER}`")
    authorizer = call.state.authorizer
    entity = _entity(values, authorizer.decider.config.instance)
    answer = authorizer.check(
        claims.user, claims.groups, operation, entity, client_ip=context.client_ip_address or None
    )
    if not answer.ready:
        raise NotReady(answer.reason)
    reason = call.state.reason(answer.reason, [answer])
    return EvaluationResponse(
        decision=answer.allowed,
        context=EvaluationContext(
            policy=policy_info(answer.decided_by[0].decision) if answer.decided_by else None,
            policy_version=decider.engine.policy_version,
            decision_id=str(uuid.uuid4()),
            enforced=answer.enforced,
            reason_user={"en": reason} if reason else None,
        ),
    )


def _is_operation(call: HandlerCall, decider: ServiceDecider, name: str) -> bool:
    return "." in name and decider.service is next(iter(call.state.services.values()))


def _entity(values: Resource, instance: str) -> EntityId:
    kind = list(values)[-1]
    named, *parts = values.values()
    if named != instance or tuple(values) != entity_type(kind).path:
        raise Refused(400, f"operations are decided for the entities of CDAP instance `{instance}` only")
    return entity_id(kind, parts)


def _resource_of(
    deciders: DeciderRegistry, resource: AuthZenEntity, context: AccessContext
) -> tuple[ServiceDecider, Resource] | None:
    """Return the service that decides on the resource, and its values; None if its type is unknown."""
    kind, name = _text("resource.type", resource.type), _text("resource.id", resource.id)
    named = context.service_name or context.service_type
    decider = deciders.of(context.service_name, context.service_type) if named else deciders.first_with(kind)
    if decider is None or not decider.knows(kind):
        return None
    return decider, NameTemplate.of(decider.definition, kind).parse(name)


def _claims_of(
    subject: AuthZenEntity, action: AuthZenAction | None, resource: AuthZenEntity, context: dict[str, Any] | None
) -> Claims:
    attributes = dict(subject.properties or {})
    groups, roles = (_names(name, attributes.pop(name, None)) for name in ("groups", "roles"))
    circumstances = {key: value for key, value in (context or {}).items() if key not in _OF_RANGER}
    of_action = (action.properties if action else None) or {}
    return Claims(
        user=_text("subject.id", subject.id),
        groups=groups,
        roles=roles,
        user_attributes=attributes,
        resource_attributes=resource.properties,
        circumstances=circumstances | {f"action.{key}": value for key, value in of_action.items()},
    )


def _names(what: str, names: object) -> list[str]:
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused(400, f"`subject.properties.{what}` must be a list of names")
    return names


def _context(request: EvaluationRequest) -> AccessContext:
    given = {key: value for key, value in (request.context or {}).items() if key in _OF_RANGER}
    try:
        return msgspec.convert(given, AccessContext)
    except msgspec.ValidationError as e:
        raise Refused(400, f"`context` is not a valid access context: {e}") from None


def _merged(item: EvaluationRequest, whole: EvaluationRequest) -> EvaluationRequest:
    """Return the item, completed by the whole request: missing parts, and a part's missing type, id or name."""
    return EvaluationRequest(
        subject=_merged_entity(item.subject, whole.subject),
        action=_merged_action(item.action, whole.action),
        resource=_merged_entity(item.resource, whole.resource),
        context=whole.context if item.context is None else item.context,
    )


def _merged_entity(item: AuthZenEntity | None, whole: AuthZenEntity | None) -> AuthZenEntity | None:
    if item is None or whole is None:
        return item or whole
    kind = whole.type if item.type is None else item.type
    return AuthZenEntity(type=kind, id=whole.id if item.id is None else item.id, properties=item.properties)


def _merged_action(item: AuthZenAction | None, whole: AuthZenAction | None) -> AuthZenAction | None:
    if item is None or whole is None:
        return item or whole
    return AuthZenAction(name=whole.name if item.name is None else item.name, properties=item.properties)


def _given(what: str, part: _Part | None) -> _Part:
    if part is None:
        raise Refused(400, f"`{what}` is missing")
    return part


def _text(what: str, text: str | None) -> str:
    if not text or not text.strip():
        raise Refused(400, f"`{what}` is missing")
    return text


def _holds(accesses: Accesses, permission: str) -> bool:
    return permission in accesses and accesses[permission].status is AccessStatus.ALLOWED
