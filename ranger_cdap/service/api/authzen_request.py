"""The parts of AuthZEN requests in Ranger's terms: claims, access context, service and resource."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from ranger_cdap.ranger_model.json_text import convert
from ranger_cdap.service.decisions.delegation import Claims
from ranger_cdap.service.decisions.service_decider import DeciderRegistry, ServiceDecider
from ranger_cdap.service.http.reply import Refused
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.authzen_wire import AuthZenAction, AuthZenEntity, EvaluationRequest
from ranger_cdap.wire.pdp_wire import AccessContext
from ranger_cdap.wire.resource_name import NameTemplate, Resource

USER: Final = "user"
"""The type of subjects that Ranger decides about."""

_OF_RANGER: Final = ("serviceName", "serviceType", "accessTime", "clientIpAddress")
"""Keys of `context` that form Ranger's access context; the others are context attributes."""

_Part = TypeVar("_Part", AuthZenEntity, AuthZenAction)


def given(what: str, part: _Part | None) -> _Part:
    """Return a part of a request.

    Raises:
        Refused: it is missing.
    """
    if part is None:
        raise Refused(400, f"`{what}` is missing")
    return part


def text_of(what: str, text: str | None) -> str:
    """Return a text of a request.

    Raises:
        Refused: it is missing or blank.
    """
    if not text or not text.strip():
        raise Refused(400, f"`{what}` is missing")
    return text


def access_context(request: EvaluationRequest) -> AccessContext:
    """Return Ranger's access context.

    Raises:
        Refused: one of its keys has a value that is none of it.
    """
    of_ranger = {key: value for key, value in (request.context or {}).items() if key in _OF_RANGER}
    return convert(
        of_ranger, AccessContext, lambda why: Refused(400, f"`context` is not a valid access context: {why}")
    )


def claims_of(
    subject: AuthZenEntity, action: AuthZenAction, resource: AuthZenEntity, context: dict[str, Any] | None
) -> Claims:
    """Return the claims of a request.

    Raises:
        Refused: the subject has no id, or groups or roles that are not names.
    """
    attributes = dict(subject.properties or {})
    groups, roles = (_names(name, attributes.pop(name, None)) for name in ("groups", "roles"))
    circumstances = {key: value for key, value in (context or {}).items() if key not in _OF_RANGER}
    of_action = action.properties or {}
    return Claims(
        user=text_of("subject.id", subject.id),
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


def resource_of(
    deciders: DeciderRegistry, resource: AuthZenEntity, context: AccessContext
) -> tuple[ServiceDecider, Resource] | None:
    """Return the service that decides on the resource, and its values; None if its type is unknown."""
    kind, name = text_of("resource.type", resource.type), text_of("resource.id", resource.id)
    named = context.service_name or context.service_type
    decider = deciders.of(context.service_name, context.service_type) if named else deciders.first_with(kind)
    return (
        None
        if decider is None or not decider.knows(kind)
        else (decider, NameTemplate.of(decider.definition, kind).parse(name))
    )


def is_operation(call: HandlerCall, decider: ServiceDecider, name: str) -> bool:
    """Return True if an action of this name is an operation of CDAP."""
    return "." in name and decider.service is next(iter(call.state.services.values()))
