"""Handlers of the downloads that plugins poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.plugin_api import note_download
from ranger_cdap.testing.admin.api.rights import (
    GRANTORS,
    POLICY_DOWNLOAD,
    TAG_DOWNLOAD,
    USER_STORE_DOWNLOAD,
    require_download_right,
)
from ranger_cdap.testing.admin.model.documents import AdminPolicy, to_json_object
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    found,
    json_response,
    refuse_because,
    service_not_found,
)
from ranger_cdap.testing.admin.rules.tag_definition import for_service_type
from ranger_cdap.testing.admin.rules.tag_rules import downloaded
from ranger_cdap.testing.admin.store.change_log import LoggedChange, folded
from ranger_cdap.testing.admin.store.principals import ROLES, USER_STORE
from ranger_cdap.testing.admin.store.records import StoredDefinition, StoredService

AUDIT_MODE = "audit-default"
PLUGIN_CONFIGS: dict[str, str] = {
    "ranger.plugins.conf.ldap.username.caseconversion": "none",
    "ranger.plugins.conf.ldap.groupname.caseconversion": "none",
    "ranger.plugins.conf.mapping.username.handler": "org.apache.ranger.ugsyncutil.transform.RegEx",
    "ranger.plugins.conf.mapping.groupname.handler": "org.apache.ranger.ugsyncutil.transform.RegEx",
    "ranger.plugins.conf.mapping.regex.separator": "/",
}
_PLUGIN_CONFIG_PREFIX = "ranger.plugin."


def download_policies(call: AdminCall) -> ServerResponse:
    """GET the enabled policies, or 304 if the caller has them.

    If server and caller both support deltas: all policies, including disabled ones, or only the changes.
    """
    # As in ServiceREST of 2.9.0: who forwards grants may download policies too, but not roles.
    service = _service(call, "policy", POLICY_DOWNLOAD, GRANTORS)
    if _has(call, service, "policy", "lastKnownVersion", service.policy_version):
        return ServerResponse(304)
    answer, tags = _heads(call, service)
    with_deltas = call.policy_deltas and call.flag("supportsPolicyDeltas")
    known = call.version("lastKnownVersion")
    changes = call.tables.changes.since(service.stamp.id, known, service.policy_version) if with_deltas else None
    if changes is not None:
        answer["policyDeltas"] = [
            {
                "id": change.id,
                "changeType": change.kind,
                "policiesVersion": change.version,
                "policy": _changed_policy(call, change),
            }
            for change in folded(changes)
        ]
        # A plugin drops zones that the document does not name. Changes inside a zone send everything.
        return json_response(answer | _zones(call, service, lambda zone: {"policyDeltas": []}))
    answer["policies"] = _policies(call, service, enabled_only=not with_deltas)
    answer |= _zones(
        call, service, lambda zone: {"policies": _policies(call, service, zone=zone, enabled_only=not with_deltas)}
    )
    if tags is not None:
        answer["tagPolicies"] |= {
            "policyVersion": tags.policy_version,
            "policies": _policies(call, tags, enabled_only=not with_deltas),
        }
    return json_response(answer)


def _changed_policy(call: AdminCall, change: LoggedChange) -> dict[str, Any]:
    stored = call.tables.policy_by_id(change.policy_id)
    if stored is not None:
        return stored.to_json()
    return {"id": change.policy_id, "serviceType": change.service_type} | to_json_object(
        AdminPolicy(policy_type=change.policy_type)
    )


def _policies(call: AdminCall, service: StoredService, *, zone: str = "", enabled_only: bool) -> list[msgspec.Raw]:
    return [
        msgspec.Raw(row.listed) for row in call.tables.policies(service.stamp.id, zone=zone, enabled_only=enabled_only)
    ]


def _zones(call: AdminCall, service: StoredService, content: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    zones = {
        zone.name: {
            "zoneName": zone.name,
            **to_json_object(zone.document.services[service.name]),
            **content(zone.name),
            "containsAssociatedTagService": service.document.tag_service in zone.document.tag_services,
        }
        for zone in call.tables.zones.all()
        if service.name in zone.document.services
    }
    return {"securityZones": zones} if zones else {}


def _heads(call: AdminCall, service: StoredService) -> tuple[dict[str, Any], StoredService | None]:
    """Return the download without policies, and the linked tag service."""
    answer = _head(service, _definition(call, service).to_json()) | {"policyVersion": service.policy_version}
    tags = call.tables.services.by_name(service.document.tag_service) if service.document.tag_service else None
    if tags is not None:
        stored = _definition(call, tags)
        own = StoredDefinition(stored.stamp, for_service_type(stored.document, service.document.type))
        answer["tagPolicies"] = _head(tags, own.to_json())
    return answer, tags


def _head(service: StoredService, definition: dict[str, Any]) -> dict[str, Any]:
    own = {name: text for name, text in service.document.configs.items() if name.startswith(_PLUGIN_CONFIG_PREFIX)}
    return {
        "serviceName": service.name,
        "serviceId": service.stamp.id,
        "policyUpdateTime": service.policy_update_time,
        "serviceDef": definition,
        "auditMode": AUDIT_MODE,
        "serviceConfig": PLUGIN_CONFIGS | own,
    }


def download_roles(call: AdminCall) -> ServerResponse:
    """GET all roles, or 304; without roles the field is left out."""
    service = _service(call, "UserGroupRoles", POLICY_DOWNLOAD)
    version, changed = call.tables.principals.counter(ROLES)
    if _has(call, service, "role", "lastKnownRoleVersion", version):
        return ServerResponse(304)
    answer: dict[str, Any] = {"serviceName": service.name, "roleVersion": version, "roleUpdateTime": changed}
    if roles := [role.to_json() for role in call.tables.principals.roles.all()]:
        answer["rangerRoles"] = roles
    return json_response(answer)


def download_tags(call: AdminCall) -> ServerResponse:
    """GET the tags of the service's resources, or 304."""
    service = _service(call, "tags", TAG_DOWNLOAD)
    if _has(call, service, "tag", "lastKnownVersion", service.tag_version):
        return ServerResponse(304)
    return json_response(
        {
            "op": "add_or_update",
            "serviceName": service.name,
            "tagVersion": service.tag_version,
            "isDelta": False,
            "tagsChangeExtent": "ALL",
            "isTagsDeduped": True,
        }
        | downloaded(call.tables.tags(service.stamp.id))
    )


def download_user_store(call: AdminCall) -> ServerResponse:
    """GET users with their groups, or 304."""
    service = _service(call, "UsersAndGroups", USER_STORE_DOWNLOAD)
    version, changed = call.tables.principals.counter(USER_STORE)
    if _has(call, service, "userstore", "lastKnownUserStoreVersion", version):
        return ServerResponse(304)
    users = call.tables.principals.users.all()
    answer: dict[str, Any] = {
        "serviceName": service.name,
        "userStoreVersion": version,
        "userStoreUpdateTime": changed,
        "userAttrMapping": {user.document.name: {} for user in users},
        "groupAttrMapping": {group.document.name: {} for group in call.tables.principals.groups.all()},
    }
    if members := {user.document.name: [name for _, name in user.groups] for user in users if user.groups}:
        answer["userGroupMapping"] = members
    return json_response(answer)


def _has(call: AdminCall, service: StoredService, kind: str, parameter: str, version: int) -> bool:
    """Record the request in the plugin list, and return whether the caller has that version already."""
    known = call.version(parameter)
    note_download(call, service, kind, known, version)
    return known == version


def _service(call: AdminCall, what: str, *settings: str) -> StoredService:
    service = call.of_path(call.tables.services, service_not_found)
    if not service.document.is_enabled:
        raise refuse_because("OPER_NOT_ALLOWED_FOR_STATE", "Unauthorized access.")
    require_download_right(call, service, settings, what)
    return service


def _definition(call: AdminCall, service: StoredService) -> StoredDefinition:
    return found(call.tables.definitions.by_name(service.document.type), service_not_found(service.name))
