"""Prepared request: everything that does not depend on a policy is computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ranger_cdap.engine.compiled.conditions import AttributeStore, ConditionContext, ContextTag
from ranger_cdap.engine.compiled.cost import MAX_VALUE_LENGTH
from ranger_cdap.engine.compiled.matcher import Value
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.model.request import ANY_ACCESS, AccessRequest, MatchingScope

Groups = tuple[frozenset[str], ...]

_TOKEN = "token:"  # noqa: S105 - a prefix of context keys, not a secret


@dataclass(slots=True)
class Query:
    """Request with its derived values; `path` is None if no policy can match its resource."""

    request: AccessRequest
    path: Path | None
    values: tuple[Value, ...]
    tokens: Mapping[str, str]
    principals: frozenset[str]
    roles: frozenset[str]
    access_types: tuple[str, ...]
    access_type_groups: Groups
    is_any: bool
    include_descendants: bool
    condition_context: ConditionContext
    assume_conditions: bool | None = None
    """True or False: assume all conditions in favour of the user, or against them; None: evaluate them."""
    conditional: bool = False
    """True as soon as a condition or a validity schedule was evaluated."""


def requested_resource(resource: Mapping[str, Value], model: ServiceModel) -> tuple[Path | None, tuple[Value, ...]]:
    """Return path and values of a requested resource, from the root down; the path is None if nothing can match."""
    path = model.path_of(frozenset(resource)) if resource else ()
    if path is None:
        return None, ()
    values = tuple(_value(resource[name]) for name in path)
    if any(v is None for v in values):
        return None, ()
    return path, tuple(v for v in values if v is not None)


def too_long_reason(request: AccessRequest) -> str:
    """Return the reason why the request is too long to be matched (engine/compiled/cost.py), or an empty string."""
    for name, value in request.resource.items():
        if any(isinstance(one, str) and len(one) > MAX_VALUE_LENGTH for one in _values(value)):
            return f"invalid: the {name} is longer than {MAX_VALUE_LENGTH} characters"
    if has_too_long_token(tokens_of(request)):
        return f"invalid: the value of a macro is longer than {MAX_VALUE_LENGTH} characters"
    return ""


def has_too_long_token(tokens: Mapping[str, str]) -> bool:
    """Return True if the value of some macro is too long to be matched."""
    return len(max(tokens.values(), key=len, default="")) > MAX_VALUE_LENGTH


def _values(value: Value) -> Iterable[object]:
    return value if isinstance(value, tuple | list) else (value,)


def single_values(resource: Mapping[str, Value], path: Path) -> tuple[str, ...] | None:
    """Return the values of a resource from the root down; None if a level has several values or a too long one."""
    values = tuple([resource[name] for name in path])
    for value in values:
        if type(value) is not str or len(value) > MAX_VALUE_LENGTH:
            return None
    return values  # type: ignore[return-value]


def _value(value: object) -> Value | None:
    """Return a value, or several as a tuple; None for any other type, which nothing matches."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    return None


def tokens_of(request: AccessRequest) -> dict[str, str]:
    """Return the values of macros in policy resources: those of the context, `{USER}` and `{OWNER}` (§4.1)."""
    tokens: dict[str, str] = {}
    if request.context:
        tokens = {k.removeprefix(_TOKEN): v for k, v in string_items(request.context).items() if k.startswith(_TOKEN)}
        tokens.pop("USER", None)
    if request.user is not None:
        tokens["USER"] = request.user
    if request.owner:
        tokens["OWNER"] = request.owner
    return tokens


def string_items(given: Mapping[str, object]) -> dict[str, str]:
    """Return a caller's map without keys and values that are not strings."""
    return {k: v for k, v in given.items() if isinstance(k, str) and isinstance(v, str)} if given else {}


def requested_access_types(request: AccessRequest, access: str, model: ServiceModel) -> tuple[tuple[str, ...], Groups]:
    """Return the requested access types, and the groups of them of which one each must be allowed (§9.1)."""
    if access != ANY_ACCESS:
        return tuple(request.all_access_types or (access,)), request.all_access_type_groups
    access_types = model.any_access_order
    if request.ignore_descendant_deny:
        return access_types, request.all_access_type_groups
    return access_types, tuple(frozenset({name}) for name in access_types)


def condition_context(
    request: AccessRequest,
    client_ip: str | None,
    roles: frozenset[str],
    tags: frozenset[str],
    certain_tags: frozenset[str],
    resource_tags: tuple[ContextTag, ...],
    attributes: AttributeStore | None,
) -> ConditionContext:
    """Return the input of conditions."""
    return ConditionContext(
        client_ip=client_ip,
        access_time=request.access_time,
        action=request.action,
        cluster_name=request.cluster_name,
        cluster_type=request.cluster_type,
        context=string_items(request.context),
        tags=tags,
        uncertain_tags=tags - certain_tags,
        user=request.user,
        groups=request.groups,
        roles=roles,
        access_type=request.access_type,
        resource=request.resource,
        owner=request.owner,
        groups_known=request.groups_known,
        resource_tags=resource_tags,
        attributes=attributes,
    )


def includes_descendants(request: AccessRequest, access: str) -> bool:
    """Return True if policies below the resource are included (§5.5)."""
    return access == ANY_ACCESS or request.matching_scope is MatchingScope.SELF_OR_DESCENDANTS
