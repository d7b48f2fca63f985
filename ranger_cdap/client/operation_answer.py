"""Operations of CDAP with all that they involve: the question to a service, and its reply as an `Answer`. Pure."""

from __future__ import annotations

from collections.abc import Collection

from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege, Missing
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern, entity_pattern
from ranger_cdap.cdap.requirements import requirement_sentences
from ranger_cdap.client.service_request import ServiceRequest, posted
from ranger_cdap.engine import NO_POLICY, Decision
from ranger_cdap.errors import InvalidInput
from ranger_cdap.wire.operation_wire import (
    NeededPrivilege,
    OperationEntity,
    OperationReply,
    OperationRequest,
)


# Fields that a newer service adds are ignored.
class OperationDecision(OperationReply, frozen=True, forbid_unknown_fields=False):
    """Decision on an operation; true if it is allowed."""

    def __bool__(self) -> bool:
        return self.allowed


def check(
    user: str,
    groups: Collection[str],
    operation: str,
    entity: EntityId,
    *,
    context: Context = Context(),  # noqa: B008 a frozen value
    client_ip: str | None = None,
    names: bool = False,
) -> ServiceRequest[OperationDecision]:
    """Ask what `Authorizer.check` decides; the master user is that of the service.

    `names`: also ask which names are not known, which a service tells delegates only.
    """
    question = OperationRequest(
        user=user,
        operation=operation,
        entity=_wire(entity),
        groups=tuple(groups),
        related={role: list(map(_wire, entities)) for role, entities in context.related.items()},
        impersonated=context.impersonated,
        client_ip=client_ip,
        names=names,
    )

    def problem(reply: OperationDecision, _status: int) -> str:
        if (reply.user, reply.asked, reply.entity) != (question.user, question.operation, question.entity):
            return "it is about another operation"
        if reply.allowed and reply.enforced and (reply.missing or not all(one.held for one in reply.decided_by)):
            return "it allows what it says a privilege is missing for"
        try:
            answer_of(reply)
        except InvalidInput as e:
            return f"it holds what this version does not know: {e}"
        return ""

    return posted("/cdap/v1/operation", question, OperationDecision, problem)


def answer_of(reply: OperationReply) -> Answer:
    """Return the answer as `Authorizer.check` does, without the alternatives that did not decide.

    Raises:
        InvalidInput: an entity or a requirement is unknown here.
    """
    if unknown := [name for name in reply.requirements if name not in requirement_sentences()]:
        raise InvalidInput(f"`{unknown[0][:80]}` is not a requirement")
    entity = _entity(reply.entity)
    if not isinstance(entity, EntityId):
        raise InvalidInput(f"`{entity}` is a pattern")
    return Answer(
        reply.allowed,
        reply.operation,
        entity,
        reply.user,
        tuple(reply.requirements),
        tuple(
            EvaluatedPrivilege(
                _entity(one.entity),
                tuple(one.actions),
                one.action,
                Decision(
                    one.held,
                    one.held,
                    one.policy.id,
                    NO_POLICY if one.policy.version is None else one.policy.version,
                    reason=one.reason,
                    policy_zone=one.zone,
                ),
                one.user,
                one.capacity,
            )
            for one in reply.decided_by
        ),
        given_reason=reply.reason,
        given_missing=tuple(map(_missing, reply.missing)),
        enforced=reply.enforced,
    )


def _missing(one: NeededPrivilege) -> Missing:
    return Missing(one.user, tuple(one.actions), _entity(one.entity), one.capacity)


def _wire(entity: EntityId | EntityPattern) -> OperationEntity:
    return OperationEntity(entity.type, list(entity.parts))


def _entity(entity: OperationEntity) -> EntityId | EntityPattern:
    return entity_pattern(entity.type, tuple(entity.parts))
