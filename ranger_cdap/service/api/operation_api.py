"""`/cdap/v1/operation`: decide an operation with all that it involves, as `ranger-cdap check` does."""

from __future__ import annotations

from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.errors import NotReady
from ranger_cdap.service.api.pdp import policy_info
from ranger_cdap.service.decisions.delegation import Claims, verify_claims
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.operation_wire import (
    DecidingPrivilege,
    NeededPrivilege,
    OperationEntity,
    OperationReply,
    OperationRequest,
)


def operation(call: HandlerCall) -> Reply:
    """Decide an operation; audited.

    Raises:
        Refused: the caller may not ask about this user, these groups or this impersonated user.
        InvalidInput: there is no such operation, entity or role, or they do not fit each other.
        NotReady: there are no policies.
    """
    body: OperationRequest = call.body
    authorizer = call.state.authorizer
    claims = verify_claims(call.caller, Claims(body.user, groups=body.groups))
    related = {
        role: tuple(entity_pattern(one.type, tuple(one.parts)) for one in entities)
        for role, entities in body.related.items()
        if entities
    }
    context = Context(related, body.impersonated)
    others = {context.effective} - {None, call.caller.name}
    if others and CallerRole.DELEGATE not in call.caller.roles:
        raise Refused(403, f"{call.caller.name} is not authorized")
    answer = authorizer.check(
        claims.user,
        claims.groups,
        body.operation,
        entity_id(body.entity.type, body.entity.parts),
        context=context,
        client_ip=body.client_ip,
    )
    if not answer.ready:
        raise NotReady(answer.reason)
    call.decided("cdap", answer.allowed)
    return json_reply(_reply(body.operation, answer, call.state.pending([answer])))


def _reply(asked: str, answer: Answer, pending: str) -> OperationReply:
    return OperationReply(
        user=answer.person,
        asked=asked,
        operation=answer.operation,
        entity=_entity(answer.entity),
        allowed=answer.allowed,
        enforced=answer.enforced,
        reason=answer.reason,
        requirements=list(answer.requirements),
        missing=[
            NeededPrivilege(one.person, one.capacity, list(one.actions), _entity(one.entity)) for one in answer.missing
        ],
        decided_by=[
            DecidingPrivilege(
                one.person,
                one.capacity,
                list(one.actions),
                _entity(one.entity),
                one.action,
                one.held,
                policy_info(one.decision),
                one.decision.reason,
                one.decision.policy_zone or "",
            )
            for one in answer.decided_by
        ],
        pending=pending,
    )


def _entity(entity: EntityId | EntityPattern) -> OperationEntity:
    return OperationEntity(entity.type, list(entity.parts))
