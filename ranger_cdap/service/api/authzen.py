"""`/access/v1` and `/.well-known/authzen-configuration`: the OpenID AuthZEN Authorization API 1.0.

A resource's type and id form its name in Ranger; an action is a permission of the service definition or, for CDAP, an
operation like `dataset.get`.
"""

from __future__ import annotations

import uuid
from typing import Final

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.engine import MatchingScope
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.service.api.authzen_request import (
    USER,
    access_context,
    claims_of,
    given,
    is_operation,
    resource_of,
    text_of,
)
from ranger_cdap.service.api.pdp import access_request, policy_info
from ranger_cdap.service.decisions.delegation import OWNER, TrustedClaims, verify_claims
from ranger_cdap.service.decisions.pdp_result import pdp_decision_of
from ranger_cdap.service.decisions.service_decider import CheckedRequest, DeciderRegistry, ServiceDecider
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.authz_error import AuthzProblem
from ranger_cdap.wire.authzen_wire import (
    AuthZenAction,
    AuthZenConfiguration,
    AuthZenEntity,
    EvaluationContext,
    EvaluationError,
    EvaluationRequest,
    EvaluationResponse,
    EvaluationsRequest,
    EvaluationsResponse,
)
from ranger_cdap.wire.pdp_wire import AccessContext, PdpDecision
from ranger_cdap.wire.resource_name import Resource

EVALUATION: Final = "/access/v1/evaluation"
EVALUATIONS: Final = "/access/v1/evaluations"

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
    most = call.state.limits.batch
    if len(body.evaluations) > most:
        raise Refused(400, f"`evaluations` has more than {most}")
    deciders = DeciderRegistry(call.state.services)
    last = _LAST.get(body.options.evaluations_semantic) if body.options else None
    results: list[EvaluationResponse] = []
    for item in body.evaluations:
        results.append(_item(call, deciders, _merged(item, body)))
        if results[-1].decision is last:
            break
    return json_reply(EvaluationsResponse(evaluations=results))


def configuration(call: HandlerCall) -> Reply:
    """Return the endpoints."""
    base = call.base_url
    return json_reply(
        AuthZenConfiguration(
            policy_decision_point=base,
            access_evaluation_endpoint=base + EVALUATION,
            access_evaluations_endpoint=base + EVALUATIONS,
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
    subject, action = given("subject", request.subject), given("action", request.action)
    resource, context = given("resource", request.resource), access_context(request)
    kind, permission = text_of("subject.type", subject.type), text_of("action.name", action.name)
    claims = verify_claims(call.caller, claims_of(subject, action, resource, request.context))
    if kind != USER:
        raise Refused(400, f"Ranger decides about subjects of the type `{USER}`, not `{kind[:40]}`")
    place = resource_of(deciders, resource, context)
    if place is None:
        raise AuthzProblem.RESOURCE_TYPE_NOT_FOUND.error(resource.type or "")
    decider, values = place
    result = (
        _operation(call, decider, claims, context, permission, values)
        if is_operation(call, decider, permission)
        else _permission(decider, claims, context, permission, values)
    )
    call.decided("authzen", result.decision)
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
    answer = authorizer.check(
        claims.user,
        claims.groups,
        operation,
        _entity(values, authorizer.decider.config.instance),
        client_ip=context.client_ip_address or None,
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


def _entity(values: Resource, instance: str) -> EntityId:
    kind = list(values)[-1]
    named, *parts = values.values()
    if named != instance or tuple(values) != entity_type(kind).path:
        raise Refused(400, f"operations are decided for the entities of CDAP instance `{instance}` only")
    return entity_id(kind, parts)


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
    return (
        item or whole
        if item is None or whole is None
        else AuthZenAction(name=whole.name if item.name is None else item.name, properties=item.properties)
    )
