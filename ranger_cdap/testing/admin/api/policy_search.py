"""Handlers of searches for policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.rights import may_administer, policy_readers
from ranger_cdap.testing.admin.model.documents import AdminPolicy
from ranger_cdap.testing.admin.model.responses import (
    JSON,
    ServerResponse,
)
from ranger_cdap.testing.admin.rules.grant_rules import matches
from ranger_cdap.testing.admin.store.records import StoredPolicy, StoredService


def list_policies(call: AdminCall) -> ServerResponse:
    """GET those of all services, or of the one that the path or `serviceName` names, that the caller may see.

    A caller without rights gets an empty list, not a rejection.
    """
    service_name = call.path.get("name", call.query.get("serviceName"))
    services = (service for service in call.tables.services.all() if service_name in (None, service.name))
    rows = call.page().of(list(chain.from_iterable(_chosen_of(call, service) for service in services)))
    return ServerResponse(200, b"[" + b",".join(stored.listed for stored in rows) + b"]", JSON)


def _chosen_of(call: AdminCall, service: StoredService) -> Iterator[StoredPolicy]:
    """Yield the policies of a service that match the search, and that the caller may see."""
    sees_all, may_read = may_administer(call, service), policy_readers(call, service)
    filters = [found for name, text in call.query.items() if (found := _filter(name, text)) is not None]
    yield from (
        stored
        for stored in call.tables.policies(service.stamp.id, zone=call.query.get("zoneName", ""))
        if (sees_all or may_read(stored.document)) and all(chooses(stored.document) for chooses in filters)
    )


def _filter(parameter: str, text: str) -> Callable[[AdminPolicy], bool] | None:
    """Return the predicate of a parameter; `resource:namespace=ns1` finds namespaces also by wildcard."""
    _, is_of_level, level = parameter.partition("resource:")
    if is_of_level:
        return lambda policy: level in policy.resources and matches(policy.resources[level], text)
    found = _FILTERS.get(parameter)
    return None if found is None else lambda policy: found(policy, text)


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
