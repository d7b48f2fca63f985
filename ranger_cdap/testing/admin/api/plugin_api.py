"""Handlers of the plugin list, and the entries downloads add to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.envelope import envelope
from ranger_cdap.testing.admin.model.responses import ServerResponse, json_response
from ranger_cdap.testing.admin.store.plugin_list import ADDRESS, ADMIN_CAPABILITIES, ListedPlugin, read_plugin_id
from ranger_cdap.testing.admin.store.records import StoredService


def note_download(call: AdminCall, service: StoredService, kind: str, known: int, version: int) -> None:
    """Record the version a plugin had and the one it downloads; `kind` is the prefix of Ranger's field names.

    A download from the beginning, by a program that has nothing yet, leaves what the plugin reported as active.
    """
    info = {
        "pluginCapabilities": call.query.get("pluginCapabilities", "0"),
        "adminCapabilities": ADMIN_CAPABILITIES,
        f"{kind}DownloadTime": str(call.now),
        f"{kind}DownloadedVersion": str(version),
    }
    active = {
        f"{kind}ActiveVersion": str(known),
        f"{kind}ActivationTime": call.query.get("lastActivationTime", "0"),
    }
    plugin = read_plugin_id(call.query.get("pluginId", ""), service.name)
    reported = info | active if known > 0 else info
    call.tables.plugins.note(service.name, plugin, reported, call.now, first=active)


def list_plugins(call: AdminCall) -> ServerResponse:
    """GET all plugins, or those that match the search."""
    return json_response([_answer(call, row) for row in call.page().of(_chosen(call))])


def list_plugins_in_envelope(call: AdminCall) -> ServerResponse:
    """GET the same with the total count."""
    return json_response(
        envelope(call, "pluginInfoList", _chosen(call), partial(_answer, call), sorted_by="serviceName")
    )


_FILTERS: dict[str, Callable[[ListedPlugin], str]] = {
    "serviceName": lambda row: row.service,
    "pluginHostName": lambda row: row.plugin.host,
    "pluginAppType": lambda row: row.plugin.app_type,
    "pluginIpAddress": lambda row: ADDRESS,
}


def _chosen(call: AdminCall) -> list[ListedPlugin]:
    return [
        row
        for row in call.tables.plugins.all()
        if all(call.query.get(name) in (None, "", read(row)) for name, read in _FILTERS.items())
    ]


def _answer(call: AdminCall, row: ListedPlugin) -> dict[str, Any]:
    service = call.tables.services.by_name(row.service)
    definition = call.tables.definitions.by_name(service.document.type) if service else None
    fields: dict[str, Any] = {
        "id": row.id,
        "createTime": row.create_time,
        "updateTime": row.update_time,
        "serviceName": row.service,
        "hostName": row.plugin.host,
        "appType": row.plugin.app_type,
        "ipAddress": ADDRESS,
        "info": row.info,
    }
    if service is None or definition is None:
        return fields
    return fields | {
        "serviceDisplayName": service.document.display_name,
        "serviceType": service.document.type,
        "serviceTypeDisplayName": definition.document.display_name,
        "info": {
            **row.info,
            "latestPolicyVersion": str(service.policy_version),
            "lastPolicyUpdateTime": str(service.policy_update_time),
            "latestTagVersion": str(service.tag_version),
            "lastTagUpdateTime": str(service.tag_update_time),
        },
    }
