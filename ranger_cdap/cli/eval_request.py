"""Lines that `ranger-cdap eval` reads and writes: one JSON object per line, with Ranger's names."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from ranger_cdap.engine import AccessRequest, Decision, ElementScope, MatchingScope, RequestTag
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.json_text import convert

Value = str | list[str]

RANGER_NAMES: Final[Mapping[str, str]] = {
    "userGroups": "groups",
    "userRoles": "roles",
    "clientIPAddress": "clientIP",
    "remoteIPAddress": "remoteIP",
    "forwardedAddresses": "forwarded",
    "resourceMatchingScope": "matchingScope",
    "resourceElementMatchingScopes": "elementScopes",
}
"""Names of Ranger's `RangerAccessRequest` for fields of a request; a resource may have its `elements`, `ownerUser`."""

INFORMATION: Final = frozenset({"requestData", "clientType", "sessionId"})
"""Fields of `RangerAccessRequest` for audit records only; no decision depends on them."""


class EvalTag(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A tag the requested resource carries."""

    type: str
    attributes: dict[str, str] = {}
    match_type: str = "SELF"


class EvalRequest(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """An access request; all but `resource` may be left out. Times are epoch milliseconds or ISO 8601."""

    resource: dict[str, Value | None]
    id: int | str | None = None
    user: str | None = None
    groups: list[str] = []
    roles: list[str] = []
    access_type: str | None = None
    access_time: int | str | None = None
    resource_owner: str | None = None
    matching_scope: MatchingScope = MatchingScope.SELF
    element_scopes: dict[str, ElementScope] = {}
    ignore_descendant_deny: bool = True
    all_access_types: list[str] = []
    all_access_type_groups: list[list[str]] = []
    context: dict[str, str] = {}
    tags: list[EvalTag] = []
    action: str | None = None
    client_ip: str | None = msgspec.field(default=None, name="clientIP")
    remote_ip: str | None = msgspec.field(default=None, name="remoteIP")
    forwarded: list[str] = []
    cluster_name: str | None = None
    cluster_type: str | None = None


class EvalAnswer(msgspec.Struct, rename="camel"):
    """The decision about a request."""

    id: int | str | None
    allowed: bool
    determined: bool
    policy_id: int
    policy_priority: int
    policy_version: int
    audited: bool
    audit_policy_id: int
    reason: str
    zone: str | None


class EvalError(msgspec.Struct):
    """The answer to a line that could not be read."""

    id: int | str | None
    error: str


def read_request(line: Mapping[str, Any]) -> EvalRequest:
    """Return the request of a line, written with our names or with Ranger's.

    Raises:
        InvalidInput: a field is given by both names.
        msgspec.ValidationError: a field is unknown, missing or of another type.
    """
    fields: dict[str, Any] = {}
    for given, value in line.items():
        name = RANGER_NAMES.get(given, given)
        if name in fields:
            raise InvalidInput(f"`{name}` is given twice: `{given}` is Ranger's name for it")
        if given not in INFORMATION:
            fields[name] = value
    resource = fields.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("elements"), dict):
        if unknown := resource.keys() - {"elements", "ownerUser"}:
            raise InvalidInput(f"`resource` has `elements`, and beside it `{min(unknown)}`, which is unknown")
        if "ownerUser" in resource:
            if "resourceOwner" in fields:
                raise InvalidInput("`resourceOwner` is given twice: `ownerUser` is Ranger's name for it")
            fields["resourceOwner"] = resource["ownerUser"]
        fields["resource"] = resource["elements"]
    return convert(fields, EvalRequest)


def to_access_request(asked: EvalRequest, *, now: int) -> AccessRequest:
    """Return the engine's request; `now` (epoch milliseconds) is the default access time.

    An empty list of roles counts as no list, as in Ranger; a level that is null counts as missing.

    Raises:
        InvalidInput: the time is not ISO 8601.
    """
    return AccessRequest(
        resource={
            name: value if isinstance(value, str) else tuple(value)
            for name, value in asked.resource.items()
            if value is not None
        },
        access_type=asked.access_type or "",
        user=asked.user,
        groups=frozenset(asked.groups),
        roles=frozenset(asked.roles) or None,
        owner=asked.resource_owner,
        access_time=_epoch_ms(asked.access_time, now),
        matching_scope=asked.matching_scope,
        client_ip=asked.client_ip,
        remote_ip=asked.remote_ip,
        forwarded=tuple(asked.forwarded),
        action=asked.action,
        cluster_name=asked.cluster_name,
        cluster_type=asked.cluster_type,
        element_scopes=asked.element_scopes,
        ignore_descendant_deny=asked.ignore_descendant_deny,
        all_access_types=tuple(asked.all_access_types),
        all_access_type_groups=tuple(frozenset(group) for group in asked.all_access_type_groups),
        context=asked.context,
        tags=tuple(RequestTag(type=t.type, attributes=t.attributes, match_type=t.match_type) for t in asked.tags),
    )


def to_answer(id_: int | str | None, decision: Decision) -> EvalAnswer:
    """Return the decision as an output line."""
    return EvalAnswer(
        id=id_,
        allowed=decision.allowed,
        determined=decision.determined,
        policy_id=decision.policy_id,
        policy_priority=decision.policy_priority,
        policy_version=decision.policy_version,
        audited=decision.audited,
        audit_policy_id=decision.audit_policy_id,
        reason=decision.reason,
        zone=decision.zone,
    )


def _epoch_ms(given: int | str | None, now: int) -> int:
    if given is None:
        return now
    if isinstance(given, int):
        return given
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise InvalidInput(f"`accessTime` is `{given}`, which is neither epoch milliseconds nor ISO 8601") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
