"""Handlers of security zones, for Ranger administrators only."""

from __future__ import annotations

import msgspec

from ranger_cdap.ranger.changes.refusals import LONGEST_DESCRIPTION
from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.policy_store import add_default_policies, replace_policy, require_principals
from ranger_cdap.testing.admin.model.documents import AdminServiceDef, Zone
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    found,
    json_response,
    not_found_by_id,
    refuse,
    refuse_invalid,
)
from ranger_cdap.testing.admin.model.validation import failure
from ranger_cdap.testing.admin.rules.zone_rules import check_overlap, check_zone
from ranger_cdap.testing.admin.store.records import StoredService, StoredZone


def list_zones(call: AdminCall) -> ServerResponse:
    """GET all."""
    return json_response(call.page().of([zone.to_json() for zone in call.tables.zones.all()]))


def get_zone(call: AdminCall) -> ServerResponse:
    """GET one by id or name; an unknown one is 400 here."""
    return json_response(_of_path(call, "org.apache.ranger.plugin.model.RangerSecurityZone :").to_json())


def create_zone(call: AdminCall) -> ServerResponse:
    """POST a new one; each of its services gets its default policies there."""
    zone = _read(call)
    services = _checked(call, zone, None)
    call.tables.zones.insert(zone, call.caller.shown_name, call.now)
    for service, definition in services:
        _enter(call, zone, service, definition)
    return json_response(_zone(call, zone.name).to_json())


def update_zone(call: AdminCall) -> ServerResponse:
    """PUT by id; a service that leaves the zone loses its policies there, the others' policies get its new name."""
    old, zone = _of_path(call), _read(call)
    services = _checked(call, zone, old)
    call.tables.zones.update(old.stamp.id, zone, call.caller.shown_name, call.now)
    for name in old.document.services.keys() - zone.services.keys():
        _leave(call, old, name)
    for service, definition in services:
        if service.name in old.document.services:
            for policy in call.tables.policies(service.stamp.id, zone=old.name) if zone.name != old.name else ():
                replace_policy(call, service, policy, msgspec.structs.replace(policy.document, zone_name=zone.name))
            call.tables.raise_policy_version(service.stamp.id, call.now)
        else:
            _enter(call, zone, service, definition)
    return json_response(_zone(call, zone.name).to_json())


def delete_zone(call: AdminCall) -> ServerResponse:
    """DELETE by id or name, with the policies in it."""
    if "name" in call.path and call.tables.zones.by_name(call.path["name"]) is None:
        raise refuse_invalid([failure(3037, call.path["name"])])
    zone = _of_path(call)
    for name in zone.document.services:
        _leave(call, zone, name)
    call.tables.zones.delete(zone.stamp.id, call.now)
    return ServerResponse(204)


def _enter(call: AdminCall, zone: Zone, service: StoredService, definition: AdminServiceDef) -> None:
    add_default_policies(call, service, definition, zone.name)
    call.tables.raise_policy_version(service.stamp.id, call.now)


def _leave(call: AdminCall, zone: StoredZone, name: str) -> None:
    service = call.tables.services.by_name(name)
    if service is None:
        return
    for policy in call.tables.policies(service.stamp.id, zone=zone.name):
        call.tables.delete_policy(policy.stamp.id)
    call.tables.raise_policy_version(service.stamp.id, call.now)


def _read(call: AdminCall) -> Zone:
    """Return the zone that was sent, the names of its people without blanks around them, and without empty ones."""
    zone = call.read(Zone, "RangerSecurityZone")
    people = [f"{part}_{kind}" for part in ("admin", "audit") for kind in ("users", "user_groups", "roles")]
    trimmed = {kind: [name.strip() for name in getattr(zone, kind) if name.strip()] for kind in people}
    return msgspec.structs.replace(zone, **trimmed)


def _checked(call: AdminCall, zone: Zone, old: StoredZone | None) -> list[tuple[StoredService, AdminServiceDef]]:
    """Validate a zone and return its services; raises `Refusal` 400 with the violations."""
    if not zone.name.strip():
        raise refuse_invalid([failure(3035, "name")])
    if len(zone.description) > LONGEST_DESCRIPTION:
        raise refuse("ERROR: value too long for type character varying(1024)", code=1)
    others = [other for other in call.tables.zones.all() if old is None or other.stamp.id != old.stamp.id]
    services = [
        (service, stored.document)
        for service in filter(None, map(call.tables.services.by_name, zone.services))
        if (stored := call.tables.definitions.by_name(service.document.type)) is not None
    ]
    zones = [*(other.document for other in others), zone]
    problems = [failure(3036, other.stamp.id) for other in others if other.name == zone.name]
    problems = problems or list(check_zone(zone, {service.name: definition for service, definition in services}))
    if problems := problems or [problem for name in zone.services for problem in check_overlap(zones, name)]:
        raise refuse_invalid(problems)
    require_principals(
        call,
        (
            ("user", "users", (*zone.admin_users, *zone.audit_users)),
            ("group", "groups", (*zone.admin_user_groups, *zone.audit_user_groups)),
            ("role", "roles", (*zone.admin_roles, *zone.audit_roles)),
        ),
    )
    return services


def _zone(call: AdminCall, name: str) -> StoredZone:
    return found(call.tables.zones.by_name(name), refuse(f"security-zone with name: {name} does not exist", code=1))


def _of_path(call: AdminCall, of: str = "") -> StoredZone:
    if "name" in call.path:
        return _zone(call, call.path["name"])
    return found(call.tables.zones.by_id(call.path_id()), not_found_by_id(call.path_id(), of))
