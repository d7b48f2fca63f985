"""Handlers of searches for policies: by parameters, and by resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ranger_cdap.embedded_admin.api.admin_call import AdminCall
from ranger_cdap.embedded_admin.api.envelope import envelope
from ranger_cdap.embedded_admin.api.rights import may_administer, policy_readers
from ranger_cdap.embedded_admin.model.documents import AdminPolicy
from ranger_cdap.embedded_admin.model.responses import (
    JSON,
    Refusal,
    ServerResponse,
    found,
    json_response,
    not_found_by_id,
    refuse_because,
)
from ranger_cdap.embedded_admin.rules.grant_rules import matches
from ranger_cdap.embedded_admin.rules.resource_search import ResourceSearch
from ranger_cdap.embedded_admin.store.records import StoredPolicy, StoredService

_RESOURCE_PREFIX = "resource:"
"""`resource:namespace=ns1` finds policies with a matching namespace, also by wildcard."""
_SCOPE = "resourceMatchScope"
_INVALID = "INVALID_INPUT_DATA"


def list_policies(call: AdminCall) -> ServerResponse:
    """GET those of all services, or of the one named by `serviceName`, that the caller may see."""
    return _raw_list(call.page().of(_sorted(call, chosen_policies(call, call.query.get("serviceName")))))


def list_policies_of_service(call: AdminCall) -> ServerResponse:
    """GET those of one service; a caller without rights gets an empty list, not a rejection."""
    return _raw_list(call.page().of(_sorted(call, chosen_policies(call, call.path["name"]))))


def list_policies_in_envelope(call: AdminCall) -> ServerResponse:
    """GET those of one service, given by id, with the total count."""
    service = found(call.tables.service_by_id(call.path_id()), not_found_by_id(call.path_id()))
    chosen = _sorted(call, chosen_policies(call, service.name))
    return json_response(envelope(call, "policies", chosen, lambda stored: msgspec.Raw(stored.listed), sorted_by=None))


_ORDERS: dict[str, Callable[[StoredPolicy], Any]] = {
    "policyId": lambda stored: stored.stamp.id,
    "policyName": lambda stored: stored.document.name,
    "serviceName": lambda stored: stored.document.service,
    "createTime": lambda stored: stored.stamp.create_time,
    "updateTime": lambda stored: stored.stamp.update_time,
}
"""Orders of a list by the parameter `sortBy`; with another one, or none, it stays in the order of creation."""


def _sorted(call: AdminCall, policies: Iterable[StoredPolicy]) -> list[StoredPolicy]:
    order = _ORDERS.get(call.query.get("sortBy", ""))
    if order is None:
        return list(policies)
    return sorted(policies, key=order, reverse=call.query.get("sortType", "").lower() == "desc")


def _raw_list(rows: Sequence[StoredPolicy]) -> ServerResponse:
    return ServerResponse(200, b"[" + b",".join(stored.listed for stored in rows) + b"]", JSON)


def chosen_policies(call: AdminCall, service_name: str | None) -> Iterator[StoredPolicy]:
    """Yield the policies that match the search, in one service or in all, and that the caller may see."""
    for service in call.tables.services():
        if service_name in (None, service.name):
            yield from _chosen_of(call, service)


def _chosen_of(call: AdminCall, service: StoredService) -> Iterator[StoredPolicy]:
    sees_all, may_read, chosen = may_administer(call, service), policy_readers(call, service), _chooser(call, service)
    for stored in call.tables.policies(service.stamp.id, zone=call.query.get("zoneName", "")):
        if (sees_all or may_read(stored.document)) and (chosen is None or chosen(stored.document)):
            yield stored


def _chooser(call: AdminCall, service: StoredService) -> Callable[[AdminPolicy], bool] | None:
    """Return the predicate of the search, `None` without one."""
    wanted, scope = _resource(call), call.query.get(_SCOPE)
    filters = {name: text for name, text in call.query.items() if name in _FILTERS}
    if not wanted and not filters:
        return None
    definition = call.tables.definition(service.document.type) if wanted and scope is not None else None
    search = ResourceSearch(definition.document) if definition is not None else None

    def chosen(policy: AdminPolicy) -> bool:
        if not all(_FILTERS[name](policy, text) for name, text in filters.items()):
            return False
        return _has_resource(policy, wanted) if search is None else search.finds(policy, wanted, scope or "")

    return chosen


def _has_resource(policy: AdminPolicy, wanted: Mapping[str, str]) -> bool:
    return all(level in policy.resources and matches(policy.resources[level], text) for level, text in wanted.items())


def _resource(call: AdminCall) -> dict[str, str]:
    return {
        name.removeprefix(_RESOURCE_PREFIX): text
        for name, text in call.query.items()
        if name.startswith(_RESOURCE_PREFIX)
    }


def list_policies_for_resource(call: AdminCall) -> ServerResponse:
    """GET the enabled policies about a resource of the only service of a type, or of `serviceName`.

    They are in order of creation; where the resource is in a zone, they are that zone's.
    """
    resource = _resource(call)
    service, search = _searched(call, resource)
    zone = next((zone.name for zone in call.tables.zones.all() if zone.holds(service.name, _lists(resource))), "")
    may_read = policy_readers(call, service)
    stored = call.tables.policies(service.stamp.id, zone=zone, enabled_only=True)
    return _raw_list([row for row in stored if search.concerns(row.document, resource) and may_read(row.document)])


def _searched(call: AdminCall, resource: Mapping[str, str]) -> tuple[StoredService, ResourceSearch]:
    kind, name = call.path["type"], call.query.get("serviceName", "").strip()
    if not resource:
        raise refuse_because(_INVALID, "No resource specified")
    definition = found(call.tables.definition(kind), _invalid(f"Invalid service-type:[{kind}]"))
    search = ResourceSearch(definition.document)
    if not search.paths(resource):
        raise _invalid(
            f"Invalid resource specified: resource-names:[{', '.join(resource)}] are not part of any valid resource "
            f"hierarchy for service-type:[{kind}]"
        )
    of_type = [service for service in call.tables.services() if service.document.type == kind]
    if name:
        named = next((service for service in of_type if service.name == name), None)
        return found(named, _invalid(f"Invalid service-name:[{name}] or service-type:[{kind}]")), search
    if len(of_type) != 1:
        raise _invalid(f"Either 0 or more than 1 services found for service-type :[{kind}]")
    return of_type[0], search


def _lists(resource: Mapping[str, str]) -> dict[str, list[str]]:
    return {level: [value] for level, value in resource.items()}


def _invalid(message: str) -> Refusal:
    return refuse_because(_INVALID, message)


_FILTERS: dict[str, Callable[[AdminPolicy, str], bool]] = {
    "policyName": lambda policy, text: policy.name == text,
    "policyNamePartial": lambda policy, text: text.lower() in policy.name.lower(),
    "user": lambda policy, text: any(text in item.users for item in policy.items()),
    "group": lambda policy, text: any(text in item.groups for item in policy.items()),
    "role": lambda policy, text: any(text in item.roles for item in policy.items()),
    "isEnabled": lambda policy, text: str(policy.is_enabled).lower() == text.lower(),
    "polResource": lambda policy, text: any(
        text.lower() in value.lower() for resource in policy.resources.values() for value in resource.values
    ),
    "policyLabelsPartial": lambda policy, text: any(text.lower() in label.lower() for label in policy.policy_labels),
}
"""Predicates by search parameter; other parameters do not filter."""
