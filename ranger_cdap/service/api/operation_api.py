"""`/cdap/v1/operation`: decide an operation with all that it involves, as `ranger-cdap check` does."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.errors import NotReady
from ranger_cdap.ranger.refresh.documents import Documents
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

_MOST_POLICIES: Final = 10_000
"""Policies of which names are looked up: after each change this takes 0.6 s of a processor for so many."""


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
    unknown = None
    # The nearest names may be of what other callers must not know of.
    if body.names and CallerRole.DELEGATE in call.caller.roles and (names := _known_names(authorizer)) is not None:
        row = authorizer.decider.config.profile.operation(body.operation)
        unknown = list(names.unknown_in(row, claims.user, claims.groups, answer.entity, context))
    return json_reply(_reply(body.operation, answer, call.state.pending([answer]), unknown))


def _known_names(authorizer: Authorizer) -> KnownNames | None:
    """Return the names that are known, those of the last policies again; None if looking takes too long."""
    snapshot = authorizer.snapshot
    if snapshot.engine is None or sum(one.count for one in snapshot.engine.view.repositories) > _MOST_POLICIES:
        return None
    return _names(authorizer, snapshot.documents)


@lru_cache(maxsize=1)
def _names(authorizer: Authorizer, documents: Documents | None) -> KnownNames:
    return KnownNames.of(authorizer, PolicyIndex.of(documents))


def _reply(asked: str, answer: Answer, pending: str, unknown: list[UnknownName] | None) -> OperationReply:
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
        unknown=unknown,
    )


def _entity(entity: EntityId | EntityPattern) -> OperationEntity:
    return OperationEntity(entity.type, list(entity.parts))
