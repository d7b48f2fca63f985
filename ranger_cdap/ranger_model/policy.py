"""Policies: resources, items and conditions."""

from __future__ import annotations

from typing import Any

from ranger_cdap.ranger_model.document import Document, JavaInt, JavaLong
from ranger_cdap.ranger_model.schedule import ValiditySchedule


class PolicyResource(Document):
    """The values of one level; an empty list matches everything."""

    values: list[str] = []
    is_excludes: bool = False
    is_recursive: bool = False


class PolicyItemAccess(Document, omit_defaults=False):
    """An access type of an item; with `is_allowed` false it grants nothing."""

    type: str = ""
    is_allowed: bool = True


class PolicyItemCondition(Document):
    """A condition of an item or a policy, by its name in the service definition."""

    type: str = ""
    values: list[str] = []


class PolicyItem(Document):
    """Users, groups and roles with their access types, and the conditions under which they have them."""

    accesses: list[PolicyItemAccess] = []
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    conditions: list[PolicyItemCondition] = []
    delegate_admin: bool = False

    def access_types(self) -> frozenset[str]:
        """Return the names of the access types."""
        return frozenset(access.type for access in self.accesses)


def policy_text(policy_id: int | None, name: str = "", zone: str | None = "", version: int | None = None) -> str:
    """Return `policy 12 "kv readers" (zone finance, version 3)`, without what is unknown."""
    version_text = f"version {version}" if version is not None and version >= 0 else ""
    more = ", ".join(filter(None, (zone and f"zone {zone}", version_text)))
    return f"policy {policy_id}" + (f' "{name}"' if name else "") + (f" ({more})" if more else "")


def name_text(name: str, zone: str | None) -> str:
    """Return `readers (zone finance)`; outside zones the name alone."""
    return f"{name} (zone {zone})" if zone else name


class Policy(Document):
    """A policy; `id` and `version` are None before Ranger Admin has assigned them.

    `created_by`, `updated_by`: the names that Ranger shows for its accounts. `update_time`: in epoch milliseconds.
    """

    id: JavaLong | None = None
    guid: str = ""
    name: str = ""
    service: str = ""
    service_type: str | None = None
    description: str = ""
    version: JavaLong | None = None
    is_enabled: bool = True
    policy_type: JavaInt = 0
    policy_priority: JavaInt = 0
    is_audit_enabled: bool = True
    resources: dict[str, PolicyResource] = {}
    additional_resources: list[dict[str, PolicyResource]] = []
    conditions: list[PolicyItemCondition] = []
    policy_items: list[PolicyItem] = []
    deny_policy_items: list[PolicyItem] = []
    allow_exceptions: list[PolicyItem] = []
    deny_exceptions: list[PolicyItem] = []
    data_mask_policy_items: Any = None
    row_filter_policy_items: Any = None
    is_deny_all_else: bool = False
    validity_schedules: list[ValiditySchedule] = []
    policy_labels: list[str] = []
    zone_name: str = ""
    options: dict[str, Any] = {}
    created_by: str | None = None
    updated_by: str | None = None
    update_time: Any = None

    def item_lists(self) -> dict[str, list[PolicyItem]]:
        """Return the four lists of items by their names in JSON: allow, deny, and the exceptions of both."""
        return {
            "policyItems": self.policy_items,
            "denyPolicyItems": self.deny_policy_items,
            "allowExceptions": self.allow_exceptions,
            "denyExceptions": self.deny_exceptions,
        }

    def items(self) -> list[PolicyItem]:
        """Return all items of the four lists."""
        return [item for items in self.item_lists().values() for item in items]
