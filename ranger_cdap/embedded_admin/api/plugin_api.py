"""The handlers of the list of plugins, and what a download adds to it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ranger_cdap.embedded_admin.api.call import Call
from ranger_cdap.embedded_admin.api.envelope import envelope
from ranger_cdap.embedded_admin.model.answers import Answer, json_answer
from ranger_cdap.embedded_admin.store.plugin_list import ADDRESS, ADMIN_CAPABILITIES, ListedPlugin, read_plugin_id
from ranger_cdap.embedded_admin.store.records import StoredService


def note_download(call: Call, service: StoredService, kind: str, known: int, version: int) -> None:
    """Write down that a plugin had one version and now has another; `kind` is the first part of Ranger's names."""
    told = {
        "pluginCapabilities": call.query.get("pluginCapabilities", "0"),
        "adminCapabilities": ADMIN_CAPABILITIES,
        f"{kind}DownloadTime": str(call.now),
        f"{kind}DownloadedVersion": str(version),
        f"{kind}ActiveVersion": str(known),
        f"{kind}ActivationTime": call.query.get("lastActivationTime", "0"),
    }
    plugin = read_plugin_id(call.query.get("pluginId", ""), service.name)
    call.tables.plugins.note(service.name, plugin, told, call.now)


def list_plugins(call: Call) -> Answer:
    """GET all plugins, or those that fit the search."""
    return json_answer([_answer(call, row) for row in call.page().of(_chosen(call))])


def list_plugins_in_envelope(call: Call) -> Answer:
    """GET the same with the total count."""
    return json_answer(envelope(call, "pluginInfoList", _chosen(call), partial(_answer, call), sorted_by="serviceName"))


_FILTERS: dict[str, Callable[[ListedPlugin], str]] = {
    "serviceName": lambda row: row.service,
    "pluginHostName": lambda row: row.plugin.host,
    "pluginAppType": lambda row: row.plugin.app_type,
    "pluginIpAddress": lambda row: ADDRESS,
}


def _chosen(call: Call) -> list[ListedPlugin]:
    return [
        row
        for row in call.tables.plugins.all()
        if all(call.query.get(name) in (None, "", read(row)) for name, read in _FILTERS.items())
    ]


def _answer(call: Call, row: ListedPlugin) -> dict[str, Any]:
    service = call.tables.service(row.service)
    definition = call.tables.definition(service.document.type) if service else None
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
    latest = {
        "latestPolicyVersion": str(service.policy_version),
        "lastPolicyUpdateTime": str(service.policy_update_time),
        "latestTagVersion": str(service.tag_version),
        "lastTagUpdateTime": str(service.tag_update_time),
    }
    return fields | {
        "serviceDisplayName": service.document.display_name,
        "serviceType": service.document.type,
        "serviceTypeDisplayName": definition.document.display_name,
        "info": row.info | latest,
    }
