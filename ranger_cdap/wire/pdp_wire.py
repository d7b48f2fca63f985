"""The bodies of Ranger's Policy Decision Point (`/authz/v1`).

Null and empty fields are omitted, unknown ones ignored.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from ranger_cdap.engine.view import MAX_VALUE_LENGTH

MOST_NAMES: Final = 10_000
"""Limit on the names in a list: groups, permissions, addresses."""
MOST_ATTRIBUTES: Final = 1_000
"""Limit on the attributes of a user or a resource, and on context values."""

AccessTime = Annotated[int, msgspec.Meta(le=253_402_300_799_999)]
"""Milliseconds since 1970, up to the year 9999; 0 and less mean now."""


Name = Annotated[str, msgspec.Meta(max_length=MAX_VALUE_LENGTH)]
Names = Annotated[list[Name], msgspec.Meta(max_length=MOST_NAMES)]
Attributes = Annotated[dict[Name, Any], msgspec.Meta(max_length=MOST_ATTRIBUTES)]


class PdpDecision(StrEnum):
    """A decision; only `ALLOW` grants access."""

    ALLOW = "ALLOW"
    DENY = "DENY"
    NOT_DETERMINED = "NOT_DETERMINED"
    PARTIAL = "PARTIAL"


class Ranger(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """A body with Ranger's field names."""


class UserInfo(Ranger):
    """A user, and the caller's claims about them."""

    name: Name | None = None
    attributes: Attributes | None = None
    groups: Names | None = None
    roles: Names | None = None


class ResourceInfo(Ranger):
    """A resource by its name (`table:db1/t1`), and sub-resources one level below it (`column:c1`)."""

    name: str | None = None
    sub_resources: list[Name] | None = None
    name_match_scope: Name | None = None
    attributes: Attributes | None = None


class AccessInfo(Ranger):
    """The requested access; `action` is for the audit only."""

    resource: ResourceInfo | None = None
    action: Name | None = None
    permissions: Names | None = None


class AccessContext(Ranger):
    """The service that decides, and the context."""

    service_type: str | None = None
    service_name: str | None = None
    access_time: AccessTime | None = None
    client_ip_address: Name | None = None
    forwarded_ip_addresses: Names | None = None
    additional_info: Attributes | None = None


class AuthzRequest(Ranger):
    """One permission check."""

    request_id: str | None = None
    user: UserInfo | None = None
    access: AccessInfo | None = None
    context: AccessContext | None = None


class MultiAuthzRequest(Ranger):
    """Several permission checks of one user."""

    request_id: str | None = None
    user: UserInfo | None = None
    accesses: list[AccessInfo] | None = None
    context: AccessContext | None = None


class ResourcePermissionsRequest(Ranger):
    """A resource whose permissions are requested."""

    request_id: str | None = None
    resource: ResourceInfo | None = None
    context: AccessContext | None = None


class PolicyInfo(Ranger):
    """The policy that decided; -1, without a version, means none."""

    id: int
    version: int | None = None


class AccessResult(Ranger):
    """A decision, and the policy that made it."""

    decision: PdpDecision
    policy: PolicyInfo | None = None


class ResultInfo(Ranger):
    """The decision on one resource."""

    access: AccessResult


class PermissionResult(Ranger):
    """The decision on one permission."""

    permission: str
    access: AccessResult
    sub_resources: dict[str, ResultInfo] | None = None


class AuthzResult(Ranger):
    """The decision on one access."""

    decision: PdpDecision
    permissions: dict[str, PermissionResult]
    request_id: str | None = None


class MultiAuthzResult(Ranger):
    """The decisions on all accesses, in the order of the request."""

    decision: PdpDecision
    accesses: list[AuthzResult]
    request_id: str | None = None


Permissions = dict[str, dict[str, PermissionResult]]
"""The decisions for each of several names, by permission."""


class ResourcePermissions(Ranger):
    """The permissions on a resource; the group `public` contains every user."""

    resource: ResourceInfo
    users: Permissions | None = None
    groups: Permissions | None = None
    roles: Permissions | None = None
