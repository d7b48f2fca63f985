"""Documents of Ranger Admin as it stores them, their decoding and encoding.

Unknown fields are ignored, null means missing, and empty values are left out of a response.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from ranger_cdap.ranger_model.document import Document
from ranger_cdap.ranger_model.json_repair import without_any_null
from ranger_cdap.ranger_model.json_text import UNREADABLE, convert, decode, why
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.ranger_model.role import Role
from ranger_cdap.ranger_model.service_def import AccessTypeDef, PolicyConditionDef, ResourceDef, ServiceDef
from ranger_cdap.ranger_model.tag import ServiceResource, ServiceTags, Tag
from ranger_cdap.testing.admin.model.responses import T, refuse_unreadable

KINDS = ("users", "groups", "roles")
"""Fields with the names of principals, in policy items, roles and grants."""


class AdminPolicy(Policy):
    """A policy with the fields that only Ranger Admin uses."""

    options: dict[str, Any] = {}


class AdminResourceDef(ResourceDef):
    """A level of the resource hierarchy with the fields that only Ranger Admin uses."""

    item_id: int | None = None
    type: str = ""
    mandatory: bool = False
    lookup_supported: bool = False
    recursive_supported: bool = False
    excludes_supported: bool = False
    validation_reg_ex: str = ""
    validation_message: str = ""
    ui_hint: str = ""
    label: str = ""
    description: str = ""
    rb_key_label: str = ""
    rb_key_description: str = ""
    rb_key_validation_message: str = ""
    access_type_restrictions: list[str] = []


class AdminAccessTypeDef(AccessTypeDef):
    """An access type, or a marker that Ranger Admin computes, with the fields that only Ranger Admin uses."""

    item_id: int | None = None
    label: str = ""
    rb_key_label: str = ""


class AdminConditionDef(PolicyConditionDef):
    """A kind of condition with the fields that only Ranger Admin uses."""

    item_id: int | None = None
    validation_reg_ex: str = ""
    validation_message: str = ""
    ui_hint: str = ""
    label: str = ""
    description: str = ""
    rb_key_label: str = ""
    rb_key_description: str = ""
    rb_key_validation_message: str = ""


class AdminServiceDef(ServiceDef):
    """A service definition with the fields that only Ranger Admin uses."""

    # Optional here, because Ranger's validator reports a missing name.
    name: str = ""
    guid: str = ""
    is_enabled: bool = True
    display_name: str = ""
    impl_class: str = ""
    label: str = ""
    description: str = ""
    configs: list[dict[str, Any]] = []
    context_enrichers: list[dict[str, Any]] = []
    enums: list[dict[str, Any]] = []
    resources: list[AdminResourceDef] = []
    access_types: list[AdminAccessTypeDef] = []
    marker_access_types: list[AdminAccessTypeDef] = []
    policy_conditions: list[AdminConditionDef] = []


class Service(Document):
    """A service."""

    guid: str = ""
    is_enabled: bool = True
    type: str = ""
    name: str = ""
    display_name: str = ""
    description: str = ""
    # `None`: not sent, which is not the same as empty.
    tag_service: str | None = None
    configs: dict[str, str] = {}


class LookupContext(Document):
    """Input of a user for a level of a policy, and the values chosen for other levels."""

    resource_name: str = ""
    user_input: str = ""
    resources: dict[str, list[str]] = {}


class User(Document):
    """A user; only a hash of the password is stored."""

    name: str = ""
    first_name: str = ""
    last_name: str = ""
    password: str = ""
    description: str = ""
    user_role_list: list[str] = []
    group_id_list: list[int] = []
    user_source: int = 0
    status: int = 1
    is_visible: int = 1


class Group(Document):
    """A group."""

    name: str = ""
    description: str = ""
    group_type: int = 0
    group_source: int = 0
    is_visible: int = 1


class GroupUser(Document):
    """A user's membership of the group `name`."""

    name: str = ""
    user_id: int = 0


class AdminRole(Role):
    """A role with the fields that only Ranger Admin uses."""

    # Optional here, because Ranger's validator reports a missing name.
    name: str = ""
    description: str = ""
    options: dict[str, Any] = {}


class ZoneService(Document):
    """The resources of one service in a zone: rows of levels with their values."""

    resources: list[dict[str, list[str]]] = []


class Zone(Document):
    """A security zone."""

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

    def rows(self, service: str) -> list[dict[str, list[str]]]:
        """Return the zone's resources of a service."""
        return self.services[service].resources if service in self.services else []


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
    """A request to grant roles to users, groups or roles, or to revoke them."""

    grantor: str = ""
    target_roles: list[str] = []
    users: list[str] = []
    groups: list[str] = []
    roles: list[str] = []
    grant_option: bool = False


class TagDef(Document):
    """A tag type."""

    guid: str = ""
    name: str = ""
    source: str = ""
    attribute_defs: list[dict[str, Any]] = []


class AdminTag(Tag):
    """A tag with the fields that only Ranger Admin uses."""

    owner: int = 0
    options: dict[str, Any] | None = None


class AdminTaggedResource(ServiceResource):
    """A resource that carries tags, with the fields that only Ranger Admin uses."""

    owner_user: str = ""
    additional_info: dict[str, str] | None = None


class TagUpload(ServiceTags):
    """An upload of tags of one service, with the types of tags it defines."""

    tag_definitions: dict[str, TagDef] = {}
    tags: dict[str, AdminTag] = {}
    service_resources: list[AdminTaggedResource] = []


def read_document(body: bytes, kind: type[T], java_class: str) -> T:
    """Decode the document of a request.

    Raises:
        Refusal: not JSON, or not a `java_class`; 400 with the wording of Ranger's JSON library.
    """
    value = decode(
        body,
        refuse=lambda _: refuse_unreadable(
            "Unexpected end-of-input within/between Object entries", "JsonParseException", "com.fasterxml.jackson.core"
        ),
    )
    try:
        return convert(without_any_null(value), kind, strict=False)
    except UNREADABLE as e:
        raise refuse_unreadable(
            f"Cannot deserialize value of type `{java_class}`: {why(e)}",
            "MismatchedInputException",
            "com.fasterxml.jackson.databind.exc",
        ) from None


def to_json_object(document: Document) -> dict[str, Any]:
    """Return the document as Ranger answers it: defaults written out, but no null, empty text, list or object."""
    return _kept((name, getattr(document, field)) for name, field in _fields(type(document)))


@cache
def _fields(kind: type[Document]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))


def _written(value: Any) -> Any:
    if isinstance(value, Document):
        return to_json_object(value)
    if isinstance(value, dict):
        return _kept(value.items())
    return [_written(inner) for inner in value] if isinstance(value, list) else value


def _kept(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    written = ((name, _written(value)) for name, value in pairs)
    return {name: value for name, value in written if value is not None and value not in ("", [], {})}
