"""Downloads of policies and of users; policies stay undecoded, so that an unreadable one does not fail the load."""

from __future__ import annotations

import msgspec

from ranger_cdap.ranger_model.document import Document, Version
from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.ranger_model.service_def import ServiceDef


class PolicyDelta(Document):
    """A changed policy: `change_type` 0 create, 1 update, 2 delete."""

    id: int | None = None
    change_type: int | None = None
    policies_version: Version | None = None
    policy: msgspec.Raw = msgspec.Raw(b"null")


class SecurityZoneInfo(Document):
    """A security zone: its resources and its own policies."""

    zone_name: str = ""
    resources: list[dict[str, list[str]]] = []
    policies: list[msgspec.Raw] = []
    policy_deltas: list[PolicyDelta] | None = None
    contains_associated_tag_service: bool = False


class SecurityZone(Document):
    """A security zone as Ranger Admin keeps it: its resources by service, and its tag services."""

    name: str = ""
    services: dict[str, SecurityZoneInfo] = {}
    tag_services: list[str] = []


class TagPolicies(Document):
    """The policies of the tag service that is linked to the service."""

    service_name: str = ""
    service_id: int | None = None
    policy_version: Version = -1
    policies: list[msgspec.Raw] = []
    service_def: ServiceDef | None = None
    audit_mode: str = "audit-default"
    service_config: dict[str, str] = {}


class ServicePolicies(Document):
    """The download of a service's policies.

    Only documents made of files say that `zones_known` is false: the resources of the zones are not among them.
    """

    service_name: str = ""
    service_id: int | None = None
    policy_version: Version = -1
    policies: list[msgspec.Raw] | None = None
    tag_policies: TagPolicies | None = None
    service_def: ServiceDef | None = None
    audit_mode: str = "audit-default"
    security_zones: dict[str, SecurityZoneInfo] = {}
    policy_deltas: list[PolicyDelta] | None = None
    service_config: dict[str, str] = {}
    zones_known: bool = True


class UserStore(Document):
    """The download of users and their groups."""

    user_store_version: Version = -1
    user_attr_mapping: dict[str, dict[str, str]] = {}
    group_attr_mapping: dict[str, dict[str, str]] = {}
    user_group_mapping: dict[str, list[str]] = {}

    def groups_of(self, user: str) -> frozenset[str]:
        """Return the groups of a user."""
        return frozenset(self.user_group_mapping.get(user, ()))


class AuditFilter(Document):
    """A rule of `ranger.plugin.audit.filters`, in a service's configuration."""

    access_result: str = ""
    resources: dict[str, PolicyResource] = {}
    access_types: list[str] = []
    actions: list[str] = []
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    is_audited: bool | None = None
