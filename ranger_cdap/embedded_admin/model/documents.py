"""Ranger's JSON documents as structs, and reading them the way Ranger's server does.

Unknown fields are ignored, null means missing, and what is empty is left out of an answer.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from ranger_cdap.embedded_admin.model.answers import refuse_unreadable

T = TypeVar("T")

KINDS = ("users", "groups", "roles")
"""The fields in which an item, a role and a grant hold the names of principals of each kind."""


class Document(msgspec.Struct, kw_only=True, rename="camel"):
    """The base: snake_case here, camelCase on the wire."""


class PolicyResource(Document):
    """The values of one level."""

    values: list[str] = []
    is_excludes: bool = False
    is_recursive: bool = False


class PolicyItemAccess(Document):
    """An access type of an item."""

    type: str = ""
    is_allowed: bool = True


class PolicyItemCondition(Document):
    """A condition of an item or a policy."""

    type: str = ""
    values: list[str] = []


class PolicyItem(Document):
    """Who, and which access types."""

    accesses: list[PolicyItemAccess] = []
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    conditions: list[PolicyItemCondition] = []
    delegate_admin: bool = False

    def access_types(self) -> frozenset[str]:
        """The names of the access types."""
        return frozenset(access.type for access in self.accesses)


class Policy(Document):
    """A policy as it is sent; the server gives id, version and times."""

    guid: str = ""
    is_enabled: bool = True
    service: str = ""
    name: str = ""
    policy_type: int = 0
    policy_priority: int = 0
    description: str = ""
    is_audit_enabled: bool = True
    resources: dict[str, PolicyResource] = {}
    additional_resources: list[dict[str, PolicyResource]] = []
    policy_items: list[PolicyItem] = []
    deny_policy_items: list[PolicyItem] = []
    allow_exceptions: list[PolicyItem] = []
    deny_exceptions: list[PolicyItem] = []
    data_mask_policy_items: list[dict[str, Any]] = []
    row_filter_policy_items: list[dict[str, Any]] = []
    options: dict[str, Any] = {}
    validity_schedules: list[dict[str, Any]] = []
    policy_labels: list[str] = []
    zone_name: str = ""
    conditions: list[PolicyItemCondition] = []
    is_deny_all_else: bool = False

    def item_lists(self) -> tuple[list[PolicyItem], ...]:
        """The four lists of items."""
        return (self.policy_items, self.deny_policy_items, self.allow_exceptions, self.deny_exceptions)

    def items(self) -> list[PolicyItem]:
        """All items of the four lists."""
        return [item for items in self.item_lists() for item in items]


class AccessTypeDef(Document):
    """An access type, or one of the markers the server computes."""

    item_id: int | None = None
    name: str = ""
    label: str = ""
    rb_key_label: str = ""
    implied_grants: list[str] = []
    category: str | None = None


class ResourceDef(Document):
    """A level of the hierarchy."""

    item_id: int | None = None
    name: str = ""
    type: str = ""
    level: int = 1
    parent: str = ""
    mandatory: bool = False
    lookup_supported: bool = False
    recursive_supported: bool = False
    excludes_supported: bool = False
    matcher: str = ""
    matcher_options: dict[str, str] = {}
    validation_reg_ex: str = ""
    validation_message: str = ""
    ui_hint: str = ""
    label: str = ""
    description: str = ""
    rb_key_label: str = ""
    rb_key_description: str = ""
    rb_key_validation_message: str = ""
    access_type_restrictions: list[str] = []
    is_valid_leaf: bool | None = None


class ServiceDef(Document):
    """A service definition as it is sent."""

    guid: str = ""
    is_enabled: bool = True
    name: str = ""
    display_name: str = ""
    impl_class: str = ""
    label: str = ""
    description: str = ""
    options: dict[str, str] = {}
    configs: list[dict[str, Any]] = []
    resources: list[ResourceDef] = []
    access_types: list[AccessTypeDef] = []
    policy_conditions: list[dict[str, Any]] = []
    context_enrichers: list[dict[str, Any]] = []
    enums: list[dict[str, Any]] = []
    data_mask_def: dict[str, Any] = {}
    row_filter_def: dict[str, Any] = {}
    marker_access_types: list[AccessTypeDef] = []


class Service(Document):
    """A service as it is sent."""

    guid: str = ""
    is_enabled: bool = True
    type: str = ""
    name: str = ""
    display_name: str = ""
    description: str = ""
    tag_service: str = ""
    configs: dict[str, str] = {}


class User(Document):
    """A user as it is sent; the password goes no further than its hash."""

    name: str = ""
    first_name: str = ""
    last_name: str = ""
    email_address: str = ""
    password: str = ""
    description: str = ""
    user_role_list: list[str] = []
    group_id_list: list[int] = []
    user_source: int = 0
    status: int = 1
    is_visible: int = 1


class Group(Document):
    """A group as it is sent."""

    name: str = ""
    description: str = ""
    group_type: int = 0
    group_source: int = 0
    is_visible: int = 1


class GroupUser(Document):
    """A user's membership of the group `name`."""

    name: str = ""
    parent_group_id: int | None = None
    user_id: int = 0


class RoleMember(Document):
    """A user, group or role in a role."""

    name: str = ""
    is_admin: bool = False


class Role(Document):
    """A role as it is sent."""

    name: str = ""
    description: str = ""
    options: dict[str, Any] = {}
    users: list[RoleMember] = []
    groups: list[RoleMember] = []
    roles: list[RoleMember] = []


class ZoneService(Document):
    """What of one service is in a zone: rows of levels with their values."""

    resources: list[dict[str, list[str]]] = []


class Zone(Document):
    """A security zone as it is sent."""

    name: str = ""
    services: dict[str, ZoneService] = {}
    tag_services: list[str] = []
    admin_users: list[str] = []
    admin_user_groups: list[str] = []
    admin_roles: list[str] = []
    audit_users: list[str] = []
    audit_user_groups: list[str] = []
    audit_roles: list[str] = []
    description: str = ""


class GrantRevoke(Document):
    """A grant or revoke request."""

    grantor: str = ""
    grantor_groups: list[str] = []
    resource: dict[str, str] = {}
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    access_types: list[str] = []
    delegate_admin: bool = False
    enable_audit: bool = True
    replace_existing_permissions: bool = False
    is_recursive: bool = False
    owner_user: str = ""
    zone_name: str = ""


class GrantRevokeRole(Document):
    """A request to grant roles to somebody, or to revoke them."""

    grantor: str = ""
    target_roles: list[str] = []
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    grant_option: bool = False


class TagDef(Document):
    """A type of tags."""

    guid: str = ""
    name: str = ""
    source: str = ""
    attribute_defs: list[dict[str, Any]] = []


class Tag(Document):
    """A tag on resources."""

    id: int | None = None
    guid: str = ""
    type: str = ""
    owner: int = 0
    attributes: dict[str, str] = {}
    options: dict[str, Any] = {}
    validity_periods: list[dict[str, Any]] = []


class TaggedResource(Document):
    """A resource that carries tags; its id is a number within one document."""

    id: int | None = None
    guid: str = ""
    resource_elements: dict[str, PolicyResource] = {}
    owner_user: str = ""
    additional_info: dict[str, str] = {}


class ServiceTags(Document):
    """An upload of tags: of resources of one service, which of the tags each carries, by their numbers in it."""

    op: str = "add_or_update"
    service_name: str = ""
    tag_definitions: dict[str, TagDef] = {}
    tags: dict[str, Tag] = {}
    service_resources: list[TaggedResource] = []
    resource_to_tag_ids: dict[str, list[int]] = {}


def read_document(body: bytes, kind: type[T], java_class: str) -> T:
    """The document of a request.

    Raises:
        Refusal: not JSON, or of another type than `java_class`; 400 as Ranger's JSON library words it.
    """
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise refuse_unreadable(
            "Unexpected end-of-input within/between Object entries", "JsonParseException", "com.fasterxml.jackson.core"
        ) from None
    try:
        return msgspec.convert(without_nulls(value), kind, strict=False)
    except (msgspec.ValidationError, RecursionError) as e:
        raise refuse_unreadable(
            f"Cannot deserialize value of type `{java_class}`: {e}",
            "MismatchedInputException",
            "com.fasterxml.jackson.databind.exc",
        ) from None


def without_nulls(value: Any) -> Any:
    """The value with nulls taken out of objects and lists."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value if inner is not None]
    return value


def without_empties(value: Any) -> Any:
    """The value as Ranger answers it: no null, empty text, list or object at any depth."""
    if isinstance(value, dict):
        kept = {key: without_empties(inner) for key, inner in value.items()}
        return {
            key: inner
            for key, inner in kept.items()
            if inner is not None and inner != "" and inner != [] and inner != {}
        }
    if isinstance(value, list):
        return [without_empties(inner) for inner in value]
    return value


def to_json_object(document: Document) -> dict[str, Any]:
    """The document as Ranger answers it."""
    stripped: dict[str, Any] = without_empties(msgspec.to_builtins(document))
    return stripped
