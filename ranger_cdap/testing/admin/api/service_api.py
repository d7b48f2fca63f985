"""Handlers of services."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator

import msgspec

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.policy_store import add_default_policies, add_policy
from ranger_cdap.testing.admin.model.documents import AdminServiceDef, LookupContext, Service
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    found,
    json_response,
    not_found_by_id,
    refuse,
    refuse_invalid,
)
from ranger_cdap.testing.admin.model.validation import ValidationFailure, failure
from ranger_cdap.testing.admin.rules.default_policies import expires_on_policy
from ranger_cdap.testing.admin.rules.tag_definition import TAG
from ranger_cdap.testing.admin.store.records import HIDDEN, StoredService
from servicedef import AUDIT_FILTERS

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,256}")
_DISPLAY_NAME = re.compile(r"[a-zA-Z0-9_-][a-zA-Z0-9\s_-]{0,255}")
_SECRET_CONFIGS = ("password",)
_FOR_ADMINISTRATORS = frozenset(
    {
        *("configs", "description", "createdBy", "updatedBy", "createTime", "updateTime", "version"),
        *("policyVersion", "policyUpdateTime", "tagVersion", "tagUpdateTime"),
    }
)
_FILTERS: dict[str, Callable[[StoredService], str]] = {
    "serviceName": lambda service: service.name,
    "serviceType": lambda service: service.document.type,
    "name": lambda service: service.name,
    "type": lambda service: service.document.type,
    "isEnabled": lambda service: str(service.document.is_enabled).lower(),
}


def list_services(call: AdminCall) -> ServerResponse:
    """GET all, or those whose name, type or switch equals the parameter."""
    chosen = [
        service.to_json()
        for service in call.tables.services.all()
        if all(call.query.get(name) in (None, read(service)) for name, read in _FILTERS.items())
    ]
    return json_response(call.page().of(chosen))


def get_service(call: AdminCall) -> ServerResponse:
    """GET one by id or name."""
    return json_response(call.of_path(call.tables.services).to_json())


def get_service_for_plugins(call: AdminCall) -> ServerResponse:
    """GET one by id or name, for everyone; only administrators see its settings, author, times and versions."""
    service = call.of_path(call.tables.services).to_json()
    if not call.caller.is_admin:
        service = {name: value for name, value in service.items() if name not in _FOR_ADMINISTRATORS}
    return json_response(service)


def create_service(call: AdminCall) -> ServerResponse:
    """POST a new one. The first makes the service `tag`; its own default policies follow in the same call.

    The answer is the service before any of that, at policy version 1, as the real server answers.
    """
    sent = call.read(Service, "RangerService")
    refuse_broken(call, sent, None)
    definition = found(call.tables.definitions.by_name(sent.type), refuse_invalid([failure(1010, sent.type)]))
    new = msgspec.structs.replace(
        sent,
        display_name=sent.display_name or sent.name,
        guid=sent.guid or str(uuid.uuid4()),
        configs=_saved_configs(sent.configs, definition.document),
        tag_service=sent.tag_service if sent.tag_service != sent.name else None,
    )
    stored = call.tables.insert_service(new, call.caller.shown_name, call.now)
    add_default_policies(call, stored, definition.document)
    if sent.type != TAG and not sent.tag_service and (tags := _tag_service(call)):
        linked = msgspec.structs.replace(new, tag_service=tags.name)
        call.tables.update_service(stored.stamp.id, linked, call.caller.shown_name, call.now)
        call.tables.raise_policy_version(stored.stamp.id, call.now)
    return json_response(stored.to_json())


def _tag_service(call: AdminCall) -> StoredService | None:
    stored = next((service for service in call.tables.services.all() if service.document.type == TAG), None)
    if stored is None and call.tables.services.by_name(TAG) is None:
        definition = found(call.tables.definitions.by_name(TAG), refuse_invalid([failure(1010, TAG)])).document
        configs = _saved_configs({}, definition)
        new = Service(name=TAG, display_name=TAG, type=TAG, guid=str(uuid.uuid4()), configs=configs)
        stored = call.tables.insert_service(new, call.caller.shown_name, call.now)
        add_policy(call, stored, expires_on_policy(stored.name, definition))
    return stored


def update_service(call: AdminCall) -> ServerResponse:
    """PUT by id or name. An empty `tagService` removes the link to a tag service, without the member it stays."""
    old = call.of_path(call.tables.services)
    sent = call.read(Service, "RangerService")
    refuse_broken(call, sent, old)
    definition = found(
        call.tables.definitions.by_name(old.document.type), refuse_invalid([failure(1010, old.document.type)])
    )
    if sent.name != old.name and any(zone.document.rows(old.name) for zone in call.tables.zones.all()):
        raise refuse(f"service `{old.name}` is in a security zone: take it out before it is renamed", code=1)
    new = msgspec.structs.replace(
        sent,
        display_name=sent.display_name or sent.name,
        guid=old.stamp.guid,
        type=old.document.type,
        configs=_saved_configs(sent.configs, definition.document),
        tag_service=old.document.tag_service if sent.tag_service is None else sent.tag_service or None,
    )
    call.tables.update_service(old.stamp.id, new, call.caller.shown_name, call.now)
    if (new.is_enabled, new.tag_service) != (old.document.is_enabled, old.document.tag_service):
        call.tables.raise_policy_version(old.stamp.id, call.now)
    return json_response(found(call.tables.services.by_id(old.stamp.id), not_found_by_id(old.stamp.id)).to_json())


def delete_service(call: AdminCall) -> ServerResponse:
    """DELETE by id or name, with all policies."""
    service = call.of_path(call.tables.services)
    for zone in call.tables.zones.all():
        zone.document.services.pop(service.name, None)
        call.tables.zones.update(zone.stamp.id, zone.document, call.caller.shown_name, call.now)
    call.tables.services.delete(service.stamp.id, call.now)
    return ServerResponse(204)


def look_up(call: AdminCall) -> ServerResponse:
    """POST the input for a level: nothing is offered, as by a Ranger Admin without the class of the definition."""
    call.read(LookupContext, "ResourceLookupContext")
    return ServerResponse(204) if call.tables.services.by_name(call.path["name"]) is None else json_response([])


def refuse_broken(call: AdminCall, sent: Service, old: StoredService | None) -> None:
    """Validate a service before it is stored.

    Raises:
        Refusal: 400 with every violated rule.
    """
    problems = list(_check(call, sent, old))
    if problems:
        raise refuse_invalid(problems)


def _check(call: AdminCall, sent: Service, old: StoredService | None) -> Iterator[ValidationFailure]:
    own_id = old.stamp.id if old else None
    others = [service for service in call.tables.services.all() if service.stamp.id != own_id]
    if not sent.name:
        yield failure(1006)
    elif not _NAME.fullmatch(sent.name):
        yield failure(3031, sent.name)
    yield from (
        (failure(1008, sent.name, other.stamp.id) if old else failure(1007, sent.name))
        for other in others
        if other.name == sent.name
    )
    shown = sent.display_name or sent.name
    if not _DISPLAY_NAME.fullmatch(shown):
        yield failure(3050, shown or "null")
    yield from (failure(3051, shown, other.name) for other in others if shown and other.document.display_name == shown)
    definition = call.tables.definitions.by_name(sent.type)
    if not sent.type:
        yield failure(1009)
    elif definition is None:
        yield failure(1010, sent.type)
    else:
        yield from _check_configs(sent, definition.document)
    linked = call.tables.services.by_name(sent.tag_service) if sent.tag_service else None
    if sent.tag_service and (linked is None or linked.document.type != TAG):
        yield failure(1010, sent.tag_service, field="tag-service-name")


def _check_configs(sent: Service, definition: AdminServiceDef) -> Iterator[ValidationFailure]:
    missing = [
        str(config.get("name"))
        for config in definition.configs
        if config.get("mandatory") and not sent.configs.get(str(config.get("name")))
    ]
    if missing:
        yield failure(1011, ", ".join(missing))


def _saved_configs(configs: dict[str, str], definition: AdminServiceDef) -> dict[str, str]:
    """Return the settings as they are stored: without empty ones, with the default audit filters if none were sent."""
    defaults = {str(row.get("name")): str(row.get("defaultValue", "")) for row in definition.configs}
    with_filters = {**configs, AUDIT_FILTERS: configs.get(AUDIT_FILTERS, defaults.get(AUDIT_FILTERS, ""))}
    # Nothing here signs in to the service, so its password is not stored.
    return {name: HIDDEN if name in _SECRET_CONFIGS else text for name, text in with_filters.items() if text}
