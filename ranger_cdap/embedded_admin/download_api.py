"""The handlers of downloads: what a plugin asks for again and again."""

from __future__ import annotations

from typing import Any

import msgspec

from ranger_cdap.embedded_admin.answers import (
    Answer,
    empty,
    json_answer,
    refuse_because,
    service_not_found,
)
from ranger_cdap.embedded_admin.call import Call
from ranger_cdap.embedded_admin.principals import ROLES, USER_STORE
from ranger_cdap.embedded_admin.records import StoredDefinition, StoredService
from ranger_cdap.embedded_admin.rights import (
    POLICY_DOWNLOAD,
    TAG_DOWNLOAD,
    USER_STORE_DOWNLOAD,
    require_download_right,
)
from ranger_cdap.embedded_admin.tag_definition import for_service_type

AUDIT_MODE = "audit-default"
PLUGIN_CONFIGS: dict[str, str] = {
    "ranger.plugins.conf.ldap.username.caseconversion": "none",
    "ranger.plugins.conf.ldap.groupname.caseconversion": "none",
    "ranger.plugins.conf.mapping.username.handler": "org.apache.ranger.ugsyncutil.transform.RegEx",
    "ranger.plugins.conf.mapping.groupname.handler": "org.apache.ranger.ugsyncutil.transform.RegEx",
    "ranger.plugins.conf.mapping.regex.separator": "/",
}
_PLUGIN_CONFIG_PREFIX = "ranger.plugin."
_TAGS_VERSION = 1
"""There are no tags here, so their version never changes."""


def download_policies(call: Call) -> Answer:
    """GET the enabled policies, or 304 if the caller has them; never a delta, as the real server by default."""
    service = _service(call, POLICY_DOWNLOAD, "policy")
    if call.version("lastKnownVersion") == service.policy_version:
        return empty(304)
    return json_answer(_policy_set(call, service))


def _policy_set(call: Call, service: StoredService) -> dict[str, Any]:
    definition = _definition(call, service)
    answer = _policies(call, service, definition.answer())
    tags = call.tables.service(service.document.tag_service) if service.document.tag_service else None
    if tags is not None:
        stored = _definition(call, tags)
        own = StoredDefinition(stored.stamp, for_service_type(stored.document, service.document.type))
        answer["tagPolicies"] = _policies(call, tags, own.answer())
    return answer


def _policies(call: Call, service: StoredService, definition: dict[str, Any]) -> dict[str, Any]:
    own = {name: text for name, text in service.document.configs.items() if name.startswith(_PLUGIN_CONFIG_PREFIX)}
    return {
        "serviceName": service.name,
        "serviceId": service.stamp.id,
        "policyVersion": service.policy_version,
        "policyUpdateTime": service.policy_update_time,
        "policies": [
            msgspec.Raw(stored.listed) for stored in call.tables.policies(service.stamp.id, enabled_only=True)
        ],
        "serviceDef": definition,
        "auditMode": AUDIT_MODE,
        "serviceConfig": PLUGIN_CONFIGS | own,
    }


def download_roles(call: Call) -> Answer:
    """GET all roles, or 304; without roles the field is left out."""
    service = _service(call, POLICY_DOWNLOAD, "UserGroupRoles")
    version, changed = call.tables.principals.counter(ROLES)
    if call.version("lastKnownRoleVersion") == version:
        return empty(304)
    answer: dict[str, Any] = {"serviceName": service.name, "roleVersion": version, "roleUpdateTime": changed}
    if roles := [role.answer() for role in call.tables.principals.roles()]:
        answer["rangerRoles"] = roles
    return json_answer(answer)


def download_tags(call: Call) -> Answer:
    """GET the tags, or 304; there never are any."""
    service = _service(call, TAG_DOWNLOAD, "tags")
    if call.version("lastKnownVersion") == _TAGS_VERSION:
        return empty(304)
    return json_answer(
        {
            "op": "add_or_update",
            "serviceName": service.name,
            "tagVersion": _TAGS_VERSION,
            "isDelta": False,
            "tagsChangeExtent": "ALL",
            "isTagsDeduped": True,
        }
    )


def download_user_store(call: Call) -> Answer:
    """GET users with their groups, or 304."""
    service = _service(call, USER_STORE_DOWNLOAD, "UsersAndGroups")
    version, changed = call.tables.principals.counter(USER_STORE)
    if call.version("lastKnownUserStoreVersion") == version:
        return empty(304)
    users = call.tables.principals.users()
    groups = call.tables.principals.groups()
    answer: dict[str, Any] = {
        "serviceName": service.name,
        "userStoreVersion": version,
        "userStoreUpdateTime": changed,
        "userAttrMapping": {user.document.name: {} for user in users},
        "groupAttrMapping": {group.document.name: {} for group in groups},
    }
    if members := {user.document.name: [name for _, name in user.groups] for user in users if user.groups}:
        answer["userGroupMapping"] = members
    return json_answer(answer)


def _service(call: Call, setting: str, what: str) -> StoredService:
    service = call.tables.service(call.path["name"])
    if service is None:
        raise service_not_found(call.path["name"])
    if not service.document.is_enabled:
        raise refuse_because("OPER_NOT_ALLOWED_FOR_STATE", "Unauthorized access.")
    require_download_right(call, service, setting, what)
    return service


def _definition(call: Call, service: StoredService) -> StoredDefinition:
    stored = call.tables.definition(service.document.type)
    if stored is None:
        raise service_not_found(service.name)
    return stored
