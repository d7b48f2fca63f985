"""Handlers of security zones, for Ranger administrators only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import msgspec

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.policy_store import add_default_policies
from ranger_cdap.testing.admin.model.documents import Zone
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    empty,
    found,
    json_response,
    not_found_by_id,
    refuse,
    refuse_invalid,
)
from ranger_cdap.testing.admin.model.validation import failure
from ranger_cdap.testing.admin.rules.policy_rules import kept_signature
from ranger_cdap.testing.admin.store.records import StoredService
from ranger_cdap.testing.admin.store.zone_tables import StoredZone

_WILDCARDS = "*?"


def list_zones(call: AdminCall) -> ServerResponse:
    """GET all."""
    return json_response(call.page().of([zone.to_json() for zone in call.tables.zones.all()]))


def get_zone(call: AdminCall) -> ServerResponse:
    """GET one by id or name; an unknown one is 400 here."""
    return json_response(_of_path(call).to_json())


def create_zone(call: AdminCall) -> ServerResponse:
    """POST a new one; each of its services gets its default policies there."""
    zone = call.read(Zone, "RangerSecurityZone")
    same = call.tables.zones.by_name(zone.name)
    if same is not None:
        raise refuse_invalid([failure(3036, same.stamp.id)])
    services = _checked(call, zone, None)
    call.tables.zones.insert(zone, call.caller.shown_name, call.now)
    for service in services:
        _enter(call, zone, service)
    return json_response(_zone(call, zone.name).to_json())


def update_zone(call: AdminCall) -> ServerResponse:
    """PUT by id; a service that leaves the zone loses its policies there. Policies follow a new name of their zone."""
    old, zone = _of_path(call), call.read(Zone, "RangerSecurityZone")
    same = call.tables.zones.by_name(zone.name)
    if same is not None and same.stamp.id != old.stamp.id:
        raise refuse_invalid([failure(3036, same.stamp.id)])
    services = _checked(call, zone, old)
    call.tables.zones.update(old.stamp.id, zone, call.caller.shown_name, call.now)
    for name in old.document.services.keys() - zone.services.keys():
        _leave(call, old, name)
    for service in services:
        if service.name in old.document.services:
            _rename(call, service, old.name, zone.name)
            call.tables.raise_policy_version(service.stamp.id, call.now)
        else:
            _enter(call, zone, service)
    return json_response(_zone(call, zone.name).to_json())


def delete_zone(call: AdminCall) -> ServerResponse:
    """DELETE by id or name, with the policies in it."""
    zone = _of_path(call)
    for name in zone.document.services:
        _leave(call, zone, name)
    call.tables.zones.delete(zone.stamp.id)
    return empty(204)


def _enter(call: AdminCall, zone: Zone, service: StoredService) -> None:
    definition = call.tables.definition(service.document.type)
    if definition is not None:
        add_default_policies(call, service, definition.document, zone.name)
    call.tables.raise_policy_version(service.stamp.id, call.now)


def _rename(call: AdminCall, service: StoredService, old: str, new: str) -> None:
    for stored in call.tables.policies(service.stamp.id, zone=old) if new != old else ():
        policy = msgspec.structs.replace(stored.document, zone_name=new)
        call.tables.update_policy(service, stored, policy, kept_signature(policy), call.caller.shown_name, call.now)


def _leave(call: AdminCall, zone: StoredZone, name: str) -> None:
    service = call.tables.service(name)
    if service is None:
        return
    for policy in call.tables.policies(service.stamp.id, zone=zone.name):
        call.tables.delete_policy(policy.stamp.id)
    call.tables.raise_policy_version(service.stamp.id, call.now)


def _checked(call: AdminCall, zone: Zone, old: StoredZone | None) -> list[StoredService]:
    """Validate a zone and return its services; raises `Refusal` 400 with the first violation."""
    if not zone.name.strip() or not zone.services:
        raise refuse("a security zone needs a name and resources of at least one service", code=1)
    people = (
        ("users", (*zone.admin_users, *zone.audit_users)),
        ("groups", (*zone.admin_user_groups, *zone.audit_user_groups)),
        ("roles", (*zone.admin_roles, *zone.audit_roles)),
    )
    for kind, names in people:
        for name in call.tables.principals.missing(kind, names):
            raise refuse(f"`{name}` of security zone `{zone.name}` does not exist in ranger admin", code=1)
    services = [_checked_service(call, zone, name) for name in zone.services]
    others = [other for other in call.tables.zones.all() if old is None or other.stamp.id != old.stamp.id]
    for service, other in product(services, others):
        for own, taken in product(zone.services[service.name].resources, other.resources(service.name)):
            if _may_overlap(own, taken):
                raise refuse(f"security zone `{other.name}` has some of the same resources", code=1)
    return services


def _checked_service(call: AdminCall, zone: Zone, name: str) -> StoredService:
    service = call.tables.service(name)
    definition = call.tables.definition(service.document.type) if service else None
    if service is None or definition is None:
        raise refuse(f"service `{name}` of security zone `{zone.name}` does not exist", code=1)
    levels = {resource.name for resource in definition.document.resources}
    rows = zone.services[name].resources
    if not rows or not all(row and row.keys() <= levels and all(map(_has_values, row.values())) for row in rows):
        raise refuse(f"security zone `{zone.name}` needs resources of service `{name}`, each with values", code=1)
    return service


def _has_values(values: Iterable[str]) -> bool:
    listed = list(values)
    return bool(listed) and all(listed)


def _may_overlap(one: dict[str, list[str]], other: dict[str, list[str]]) -> bool:
    """Return whether the resources may overlap; true in doubt."""
    return all(
        any(_patterns_may_overlap(first, second) for first, second in product(one[level], other[level]))
        for level in one.keys() & other.keys()
    )


def _patterns_may_overlap(first: str, second: str) -> bool:
    starts = list(_starts((first, second)))
    if starts == [first, second]:
        return first == second
    return starts[0].startswith(starts[1]) or starts[1].startswith(starts[0])


def _starts(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        cuts = [at for at in map(pattern.find, _WILDCARDS) if at >= 0]
        yield pattern[: min(cuts)] if cuts else pattern


def _zone(call: AdminCall, name: str) -> StoredZone:
    return found(call.tables.zones.by_name(name), refuse(f"security-zone with name: {name} does not exist", code=1))


def _of_path(call: AdminCall) -> StoredZone:
    if "name" in call.path:
        return _zone(call, call.path["name"])
    return found(call.tables.zones.by_id(call.path_id()), not_found_by_id(call.path_id()))
