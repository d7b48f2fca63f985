"""`/authz/v1/authorize`, `authorizeMulti` and `permissions`: Ranger's Policy Decision Point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from ranger_cdap.engine import NO_POLICY, AccessEntry, AccessRequest, Decision, MatchingScope, Verdict
from ranger_cdap.engine.view import Accesses
from ranger_cdap.service.decisions.delegation import Claims, TrustedClaims, of_resource, verify_claims
from ranger_cdap.service.decisions.pdp_result import deciding, overall, pdp_decision_of
from ranger_cdap.service.decisions.service_decider import CheckedRequest, Decided, DeciderRegistry, ServiceDecider
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.authz_error import AuthzProblem
from ranger_cdap.wire.pdp_wire import (
    AccessContext,
    AccessInfo,
    AccessResult,
    AuthzRequest,
    AuthzResult,
    MultiAuthzRequest,
    MultiAuthzResult,
    PdpDecision,
    PermissionResult,
    Permissions,
    PolicyInfo,
    ResourceInfo,
    ResourcePermissions,
    ResourcePermissionsRequest,
    ResultInfo,
    UserInfo,
)
from ranger_cdap.wire.resource_name import Resource, parse_resource, parse_sub_resource

PUBLIC_GROUP: Final = "public"
"""The group that contains every user."""

MOST_CIRCUMSTANCES: Final = 100_000
"""Limit on the attributes and context values of all accesses of a request together."""

_SELF: Final = "SELF"
_SCOPES: Final = {
    None: MatchingScope.SELF,
    _SELF: MatchingScope.SELF,
    "SELF_OR_ANY_DESCENDANT": MatchingScope.SELF_OR_DESCENDANTS,
}


def authorize(call: HandlerCall) -> Reply:
    """Decide one access, by permission; audited."""
    body: AuthzRequest = call.body
    (result,) = _answered(call, *_checked_accesses(call, body.user, [body.access], body.context))
    return json_reply(msgspec.structs.replace(result, request_id=body.request_id))


def authorize_multi(call: HandlerCall) -> Reply:
    """Decide several accesses, by one set of policies; audited."""
    body: MultiAuthzRequest = call.body
    results = _answered(call, *_checked_accesses(call, body.user, body.accesses or [None], body.context))
    verdict = overall([result.decision for result in results])
    return json_reply(MultiAuthzResult(request_id=body.request_id, decision=verdict, accesses=results))


def permissions(call: HandlerCall) -> Reply:
    """List the permissions on a resource of users, groups and roles that policies name; for delegates, not audited."""
    body: ResourcePermissionsRequest = call.body
    resource = _checked_resource(body.resource)
    claims = verify_claims(call.caller, Claims("", resource_attributes=resource.attributes))
    decider = _decider(call, body.context)
    if resource.sub_resources:
        raise Refused(400, "`permissions` takes one resource; request each of `subResources` by its own name")
    access = decider.engine.who_can(
        parse_resource(decider.definition, resource.name or ""),
        matching_scope=_SCOPES[resource.name_match_scope],
        owner=claims.owner,
    )
    public = {PUBLIC_GROUP: access.all_users} if access.all_users else {}
    return json_reply(
        ResourcePermissions(
            resource=resource,
            users=_table(access.users),
            groups=_table(public | access.groups),
            roles=_table(access.roles),
        )
    )


@dataclass(frozen=True, slots=True)
class _CheckedAccess:
    """Validated access: `request` without resource and permission, and the resources by their given names.

    Names in `resources` other than `None` are sub-resources, each of which needs every permission.
    """

    request: AccessRequest
    resources: dict[str, Resource]
    permissions: tuple[str, ...]
    has_sub_resources: bool
    action: str

    def parts(self) -> Iterator[CheckedRequest]:
        """Yield the accesses to decide: each permission on each resource."""
        for permission in self.permissions:
            for resource in self.resources.values():
                yield CheckedRequest(
                    msgspec.structs.replace(self.request, resource=resource, access_type=permission), self.action
                )


def _checked_accesses(
    call: HandlerCall, user: UserInfo | None, accesses: Sequence[AccessInfo | None], context: AccessContext | None
) -> tuple[ServiceDecider, list[_CheckedAccess]]:
    """Return the decider and the accesses; nothing is decided before all of them are valid."""
    if user is None or not (user.name or "").strip():
        raise Refused(400, "missing user info")
    claims = _claims(call, user, accesses, context)
    checked = [_checked(access) for access in accesses]
    decider = _decider(call, context)
    most = call.state.limits.batch
    if (
        sum(len(a.permissions or ()) * max(1, len(a.resource.sub_resources or ())) for a in checked if a.resource)
        > most
    ):
        raise Refused(400, f"the request needs more than {most} decisions")
    return decider, [_checked_access(decider, *pair, context) for pair in zip(checked, claims, strict=True)]


def _claims(
    call: HandlerCall, user: UserInfo, accesses: Sequence[AccessInfo | None], context: AccessContext | None
) -> list[TrustedClaims]:
    """Return the claims of each access; their common part is verified once, however many there are."""
    said = Claims(
        user=user.name or "",
        groups=user.groups,
        roles=user.roles,
        user_attributes=user.attributes,
        circumstances=(context.additional_info if context else None) or {},
    )
    of_all = verify_claims(call.caller, said)
    attributes = [access.resource.attributes if access and access.resource else None for access in accesses]
    if sum(len(each) + len(of_all.context) for each in attributes if each) > MOST_CIRCUMSTANCES:
        raise Refused(400, f"the accesses have more than {MOST_CIRCUMSTANCES} attributes and context values in total")
    return [of_resource(call.caller, of_all, each) for each in attributes]


def _checked(access: AccessInfo | None) -> AccessInfo:
    if access is None:
        raise AuthzProblem.ACCESS_MISSING.error()
    _checked_resource(access.resource)
    if not access.permissions:
        raise AuthzProblem.PERMISSIONS_EMPTY.error()
    # To the engine, as to Ranger's, no permission means any of them.
    if not all(permission.strip() for permission in access.permissions):
        raise AuthzProblem.PERMISSION_NOT_FOUND.error("")
    return access


def _checked_resource(resource: ResourceInfo | None) -> ResourceInfo:
    if resource is None:
        raise AuthzProblem.RESOURCE_MISSING.error()
    if not resource.name:
        raise AuthzProblem.RESOURCE_NAME_MISSING.error()
    scope = resource.name_match_scope
    if resource.sub_resources and scope not in (None, _SELF):
        raise AuthzProblem.MATCH_SCOPE_INVALID.error(scope, "resource with sub-resources", _SELF)
    if scope not in _SCOPES:
        raise AuthzProblem.MATCH_SCOPE_INVALID.error(scope or "", "a resource", ", ".join(filter(None, _SCOPES)))
    return resource


def _decider(call: HandlerCall, context: AccessContext | None) -> ServiceDecider:
    if context is None:
        raise AuthzProblem.CONTEXT_MISSING.error()
    return DeciderRegistry(call.state.services).of(context.service_name, context.service_type)


def _checked_access(
    decider: ServiceDecider, access: AccessInfo, claims: TrustedClaims, context: AccessContext | None
) -> _CheckedAccess:
    named = access.resource
    assert named is not None  # `_checked` refuses it
    assert context is not None  # `_decider` refuses it
    resource = parse_resource(decider.definition, named.name or "")
    below = {name: parse_sub_resource(decider.definition, resource, name) for name in named.sub_resources or ()}
    return _CheckedAccess(
        request=access_request(decider, claims, context, resource, _SCOPES[named.name_match_scope]),
        resources=below or {"": resource},
        permissions=tuple(dict.fromkeys(access.permissions or ())),
        has_sub_resources=bool(below),
        action=access.action or "",
    )


def access_request(
    decider: ServiceDecider, claims: TrustedClaims, context: AccessContext, resource: Resource, scope: MatchingScope
) -> AccessRequest:
    """Return the engine's request without its access type, with all groups of the user."""
    return decider.service.completed(claimed_request(decider, claims, context, resource, scope))


def claimed_request(
    decider: ServiceDecider, claims: TrustedClaims, context: AccessContext, resource: Resource, scope: MatchingScope
) -> AccessRequest:
    """Return the engine's request without its access type, with the groups that the caller claims."""
    given = context.access_time or 0
    return AccessRequest(
        resource=resource,
        access_type="",
        user=claims.user,
        groups=claims.groups,
        owner=claims.owner,
        access_time=given if given > 0 else decider.now,
        matching_scope=scope,
        client_ip=context.client_ip_address or None,
        forwarded=tuple(context.forwarded_ip_addresses or ()),
        cluster_name=claims.context.get("clusterName"),
        cluster_type=claims.context.get("clusterType"),
        context=claims.context,
    )


def _answered(call: HandlerCall, decider: ServiceDecider, accesses: Sequence[_CheckedAccess]) -> list[AuthzResult]:
    """Return the result of each access; all are decided together."""
    decided = iter(decider.decide(*(part for checked in accesses for part in checked.parts())))
    results = []
    for checked in accesses:
        by_permission = {name: _permission(checked, name, decided) for name in checked.permissions}
        verdict, _ = deciding((result.access.decision, None) for result in by_permission.values())
        call.decided("pdp", verdict is PdpDecision.ALLOW)
        results.append(AuthzResult(decision=verdict, permissions=by_permission))
    return results


def _permission(checked: _CheckedAccess, permission: str, decided: Iterator[Decided]) -> PermissionResult:
    """Return the result of a permission, from the next decisions, one per resource."""
    found = {
        name: AccessResult(decision=pdp_decision_of(decision), policy=policy_info(decision))
        for name, (decision, _) in zip(checked.resources, islice(decided, len(checked.resources)), strict=True)
    }
    _, access = deciding((access.decision, access) for access in found.values())
    below = {name: ResultInfo(access=each) for name, each in found.items()} if checked.has_sub_resources else None
    return PermissionResult(permission=permission, access=access, sub_resources=below)


def policy_info(decision: Decision) -> PolicyInfo:
    """Return the policy that decided."""
    return PolicyInfo(
        id=decision.policy_id, version=None if decision.policy_version == NO_POLICY else decision.policy_version
    )


def _table(rows: dict[str, Accesses]) -> Permissions | None:
    return {
        name: {a: _entry(a, entry) for a, entry in accesses.items()} for name, accesses in rows.items() if accesses
    } or None


def _entry(permission: str, entry: AccessEntry) -> PermissionResult:
    # A conditional decision is no promise; Ranger reports it so, too.
    verdict = PdpDecision.ALLOW if entry.verdict is Verdict.ALLOWED else PdpDecision.DENY
    return PermissionResult(
        permission=permission, access=AccessResult(decision=verdict, policy=PolicyInfo(id=entry.policy_id))
    )
