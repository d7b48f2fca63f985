"""Handlers of grant and revoke: changes to the policy of one exact resource, on behalf of a grantor.

The resulting policy is not validated, as on the real server, so clients must validate.
"""

from __future__ import annotations

import msgspec

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.policy_store import add_policy, replace_policy
from ranger_cdap.testing.admin.api.rights import GRANTORS, delegation, is_named, is_service_admin, may_administer
from ranger_cdap.testing.admin.model.documents import AdminPolicy, AdminServiceDef, GrantRevoke
from ranger_cdap.testing.admin.model.responses import DONE, Refusal, ServerResponse, found, json_response, refuse
from ranger_cdap.testing.admin.rules.grant_rules import granted, grantees, requested_resources, revoked
from ranger_cdap.testing.admin.rules.policy_rules import signature
from ranger_cdap.testing.admin.store.records import StoredService


def grant(call: AdminCall) -> ServerResponse:
    """POST a grant: into the policy of exactly that resource, or into a new one named `grant-<milliseconds>`."""
    service, request = _service(call), call.read(GrantRevoke, "GrantRevokeRequest")
    zone = _zone(call, service, request)
    definition = _require_right(call, service, request, zone, "grant")
    wanted = AdminPolicy(
        service=service.name,
        description="created by grant",
        is_audit_enabled=request.enable_audit,
        resources=requested_resources(request),
        zone_name=zone,
    )
    old = call.tables.policy_by("signature", signature(wanted), service.stamp.id, zone)
    named = old.document if old else msgspec.structs.replace(wanted, name=_free_name(call, service, zone))
    _refuse_unknown_types(request, definition, named.name, service)
    if old is None:
        add_policy(call, service, granted(named, request))
    else:
        replace_policy(call, service, old, granted(named, request))
    return json_response(DONE)


def revoke(call: AdminCall) -> ServerResponse:
    """POST a revoke; a resource without a policy is fine, and an emptied policy stays."""
    service, request = _service(call), call.read(GrantRevoke, "GrantRevokeRequest")
    zone = _zone(call, service, request)
    _require_right(call, service, request, zone, "revoke")
    wanted = AdminPolicy(service=service.name, resources=requested_resources(request), zone_name=zone)
    old = call.tables.policy_by("signature", signature(wanted), service.stamp.id, zone)
    if old is not None:
        replace_policy(call, service, old, revoked(old.document, request))
    return json_response(DONE)


def _service(call: AdminCall) -> StoredService:
    name = call.path["name"]
    return found(
        call.tables.services.by_name(name), refuse(f'"RANGER_ERROR_SERVICE_NOT_FOUND: ServiceName={name}"', 404)
    )


def _zone(call: AdminCall, service: StoredService, request: GrantRevoke) -> str:
    """Return the named zone, or the only one with the resource; else empty. Raises `Refusal` 400 for an unknown one."""
    zones = call.tables.zones
    if request.zone_name:
        if zones.by_name(request.zone_name) is None:
            raise refuse(f"zone does not exist - name={request.zone_name}", code=1)
        return request.zone_name
    resource = {level: values.values for level, values in requested_resources(request).items()}
    holding = [zone.name for zone in zones.all() if zone.holds(service.name, resource)]
    return holding[0] if len(holding) == 1 else ""


def _require_right(
    call: AdminCall, service: StoredService, request: GrantRevoke, zone: str, what: str
) -> AdminServiceDef:
    """Check the grantor's right and return the service's definition.

    Raises:
        Refusal: 403 with Ranger's text.
    """
    trusted = may_administer(call, service) or is_named(service, GRANTORS, call.caller.name)
    if not trusted and (request.grantor not in ("", call.caller.name) or request.owner_user):
        raise _forbidden("Invalid grant/revoke request - contains grantor or userOwner specification")
    principals = call.tables.principals
    if request.grantor and principals.users.by_name(request.grantor) is None:
        raise _forbidden(f"Grantor user {request.grantor} doesn't exist")
    named = grantees(request)
    if not named:
        raise _forbidden("Grantee users/groups/roles list is empty")
    for grantee in named:
        if principals.missing(grantee.kind, [grantee.name]):
            raise _forbidden(f"Grantee {grantee.kind.removesuffix('s')} {grantee.name} doesn't exist")
    definition = call.tables.definitions.by_name(service.document.type)
    if definition is None or not _grantor_may(call, service, request, zone):
        raise _forbidden(f"User doesn't have necessary permission to {what} access")
    return definition.document


def _grantor_may(call: AdminCall, service: StoredService, request: GrantRevoke, zone: str) -> bool:
    grantor = call.tables.principals.users.by_name(request.grantor) if request.grantor else None
    if grantor is None:
        return False
    login = call.tables.principals.login(request.grantor)
    if (login is not None and login.is_admin) or is_service_admin(call, service, request.grantor):
        return True
    return delegation(call, service, request.grantor, zone)(requested_resources(request), request.access_types)


def _refuse_unknown_types(
    request: GrantRevoke, definition: AdminServiceDef, policy: str, service: StoredService
) -> None:
    where = f"policy='{policy}' service='{service.name}'"
    levels = {resource.name for resource in definition.resources}
    for level in request.resource:
        if level not in levels:
            raise refuse(f"{level}: is not a valid resource-type. {where}", code=1)
    accesses = {access.name for access in definition.access_types}
    for access in request.access_types:
        if access not in accesses:
            raise refuse(f"{access}: is not a valid access-type. {where}", code=1)


def _free_name(call: AdminCall, service: StoredService, zone: str) -> str:
    # The real server refuses the second of two grants in one millisecond; here it takes the next free one.
    millis = call.now
    while call.tables.policy_by("name", f"grant-{millis}", service.stamp.id, zone):
        millis += 1
    return f"grant-{millis}"


def _forbidden(message: str) -> Refusal:
    return Refusal(json_response({**DONE, "msgDesc": message}, 403))
