"""The handlers of security zones; only Ranger administrators come here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from ranger_cdap.embedded_admin.api.call import Call
from ranger_cdap.embedded_admin.api.policy_store import add_default_policies
from ranger_cdap.embedded_admin.model.answers import (
    Answer,
    empty,
    found,
    json_answer,
    not_found_by_id,
    refuse,
    refuse_invalid,
)
from ranger_cdap.embedded_admin.model.documents import Zone
from ranger_cdap.embedded_admin.model.problems import problem
from ranger_cdap.embedded_admin.store.records import StoredService
from ranger_cdap.embedded_admin.store.zone_tables import StoredZone

_WILDCARDS = "*?"


def list_zones(call: Call) -> Answer:
    """GET all."""
    return json_answer(call.page().of([zone.answer() for zone in call.tables.zones.all()]))


def get_zone(call: Call) -> Answer:
    """GET one by id."""
    return json_answer(_by_id(call).answer())


def get_zone_by_name(call: Call) -> Answer:
    """GET one by name; an unknown one is 400 here."""
    return json_answer(_zone(call, call.path["name"]).answer())


def create_zone(call: Call) -> Answer:
    """POST a new one; each of its services gets its default policies there."""
    zone = call.read(Zone, "RangerSecurityZone")
    same = call.tables.zones.by_name(zone.name)
    if same is not None:
        raise refuse_invalid([problem(3036, same.stamp.id)])
    services = _checked(call, zone, None)
    call.tables.zones.insert(zone, call.caller.shown_name, call.now)
    for service in services:
        _enter(call, zone, service)
    return json_answer(_zone(call, zone.name).answer())


def update_zone(call: Call) -> Answer:
    """PUT by id; a service that leaves the zone loses its policies there, the name stays."""
    old, zone = _by_id(call), call.read(Zone, "RangerSecurityZone")
    if zone.name != old.name:
        raise refuse("a security zone is not renamed: delete it and create another", code=1)
    services = _checked(call, zone, old)
    call.tables.zones.update(old.stamp.id, zone, call.caller.shown_name, call.now)
    for name in old.document.services.keys() - zone.services.keys():
        _leave(call, old, name)
    for service in services:
        if service.name in old.document.services:
            call.tables.raise_policy_version(service.stamp.id, call.now)
        else:
            _enter(call, zone, service)
    return json_answer(_zone(call, zone.name).answer())


def delete_zone(call: Call) -> Answer:
    """DELETE by id, with the policies in it."""
    return _delete(call, _by_id(call))


def delete_zone_by_name(call: Call) -> Answer:
    """DELETE by name."""
    return _delete(call, _zone(call, call.path["name"]))


def _delete(call: Call, zone: StoredZone) -> Answer:
    for name in zone.document.services:
        _leave(call, zone, name)
    call.tables.zones.delete(zone.stamp.id)
    return empty(204)


def _enter(call: Call, zone: Zone, service: StoredService) -> None:
    definition = call.tables.definition(service.document.type)
    if definition is not None:
        add_default_policies(call, service, definition.document, zone.name)
    call.tables.raise_policy_version(service.stamp.id, call.now)


def _leave(call: Call, zone: StoredZone, name: str) -> None:
    service = call.tables.service(name)
    if service is None:
        return
    for policy in call.tables.policies(service.stamp.id, zone=zone.name):
        call.tables.delete_policy(policy.stamp.id)
    call.tables.raise_policy_version(service.stamp.id, call.now)


def _checked(call: Call, zone: Zone, old: StoredZone | None) -> list[StoredService]:
    """The services of a zone that may be stored; raises `Refusal` 400 with the first thing that is wrong."""
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
            if _may_meet(own, taken):
                raise refuse(f"security zone `{other.name}` has some of the same resources", code=1)
    return services


def _checked_service(call: Call, zone: Zone, name: str) -> StoredService:
    service = call.tables.service(name)
    definition = call.tables.definition(service.document.type) if service else None
    if service is None or definition is None:
        raise refuse(f"service `{name}` of security zone `{zone.name}` does not exist", code=1)
    levels = {resource.name for resource in definition.document.resources}
    rows = zone.services[name].resources
    if not rows or not all(row and row.keys() <= levels and all(map(_is_said, row.values())) for row in rows):
        raise refuse(f"security zone `{zone.name}` needs resources of service `{name}`, each with values", code=1)
    return service


def _is_said(values: Iterable[str]) -> bool:
    said = list(values)
    return bool(said) and all(said)


def _may_meet(one: dict[str, list[str]], other: dict[str, list[str]]) -> bool:
    """Whether something could be in both; a doubt counts as yes."""
    return all(
        any(_patterns_may_meet(first, second) for first, second in product(one[level], other[level]))
        for level in one.keys() & other.keys()
    )


def _patterns_may_meet(first: str, second: str) -> bool:
    starts = list(_starts((first, second)))
    if starts == [first, second]:
        return first == second
    return starts[0].startswith(starts[1]) or starts[1].startswith(starts[0])


def _starts(patterns: Iterable[str]) -> Iterator[str]:
    for pattern in patterns:
        cuts = [at for at in map(pattern.find, _WILDCARDS) if at >= 0]
        yield pattern[: min(cuts)] if cuts else pattern


def _zone(call: Call, name: str) -> StoredZone:
    return found(call.tables.zones.by_name(name), refuse(f"security-zone with name: {name} does not exist", code=1))


def _by_id(call: Call) -> StoredZone:
    return found(call.tables.zones.by_id(call.path_id()), not_found_by_id(call.path_id()))
