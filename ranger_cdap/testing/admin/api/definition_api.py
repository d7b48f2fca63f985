"""Handlers of service definitions."""

from __future__ import annotations

import uuid

import msgspec

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.model.documents import AdminServiceDef
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    json_response,
    refuse,
    refuse_because,
    refuse_invalid,
)
from ranger_cdap.testing.admin.rules.definitions import check_definition, complete
from ranger_cdap.testing.admin.rules.java_regex import compile_java
from ranger_cdap.testing.admin.rules.tag_definition import TAG, tag_definition
from ranger_cdap.testing.admin.store.records import StoredDefinition
from ranger_cdap.testing.admin.store.tables import Tables


def list_definitions(call: AdminCall) -> ServerResponse:
    """GET all, or the one of the parameter `serviceType`; a `name` does not filter, as on the real server."""
    kind = call.query.get("serviceType") or None
    chosen = [row.to_json() for row in call.tables.definitions.all() if kind in (None, row.document.name)]
    return json_response(call.page().of(chosen))


def get_definition(call: AdminCall) -> ServerResponse:
    """GET one by id or name."""
    return json_response(call.of_path(call.tables.definitions).to_json())


def create_definition(call: AdminCall) -> ServerResponse:
    """POST a new one; its access types appear in the `tag` definition too."""
    sent = call.read(AdminServiceDef, "RangerServiceDef")
    _require_sound(call, sent, None)
    document = msgspec.structs.replace(complete(sent), guid=sent.guid or str(uuid.uuid4()))
    stored = call.tables.insert_definition(document, call.caller.shown_name, call.now)
    refresh_tag_definition(call.tables, call.now)
    return json_response(stored.to_json())


def update_definition(call: AdminCall) -> ServerResponse:
    """PUT by id or name; the body may omit id and guid."""
    sent = call.read(AdminServiceDef, "RangerServiceDef")
    if call.path.get("name", sent.name) != sent.name:
        raise refuse("serviceDef name mismatch")
    old = call.of_path(call.tables.definitions)
    _require_sound(call, sent, old)
    _refuse_removal_of_used(call, old, sent)
    document = msgspec.structs.replace(complete(sent), guid=old.stamp.guid)
    call.tables.update_definition(old, document, call.caller.shown_name, call.now)
    refresh_tag_definition(call.tables, call.now)
    return json_response(call.of_path(call.tables.definitions).to_json())


def _require_sound(call: AdminCall, sent: AdminServiceDef, old: StoredDefinition | None) -> None:
    """Raise `Refusal` 400 for a violated rule, or a pattern of which it is not certain what Java makes of it."""
    others = [
        other.document for other in call.tables.definitions.all() if old is None or other.stamp.id != old.stamp.id
    ]
    if problems := list(check_definition(sent, others)):
        raise refuse_invalid(problems)
    for level in sent.resources:
        if level.validation_reg_ex and compile_java(level.validation_reg_ex) is None:
            raise refuse(
                f"`{level.validation_reg_ex}` of level `{level.name}` is outside of the supported part of Java's"
            )


def _refuse_removal_of_used(call: AdminCall, old: StoredDefinition, new: AdminServiceDef) -> None:
    resources = {resource.name for resource in old.document.resources} - {r.name for r in new.resources}
    accesses = {access.name for access in old.document.access_types} - {a.name for a in new.access_types}
    if not resources and not accesses:
        return
    for service in call.tables.services.all():
        if service.document.type != old.document.name:
            continue
        for stored in call.tables.policies(service.stamp.id):
            policy = stored.document
            used = {name for item in policy.items() for name in item.access_types()}
            if gone := sorted(used & accesses):
                raise _refuse_used("access-type", gone[0])
            named = {name for names in (policy.resources, *policy.additional_resources) for name in names}
            if gone := sorted(named & resources):
                raise _refuse_used("resource", gone[0])


def _refuse_used(what: str, name: str) -> Exception:
    return refuse_because(
        "DATA_NOT_UPDATABLE",
        f"Policy/Policies are referring to this {what}: {name}. "
        "Please remove such references from policy before updating service-def.",
    )


def delete_definition(call: AdminCall) -> ServerResponse:
    """DELETE by id or name."""
    stored = call.of_path(call.tables.definitions)
    name = stored.document.name
    if name == TAG or any(service.document.type == name for service in call.tables.services.all()):
        raise refuse_because(
            "OPER_NOT_ALLOWED_FOR_ENTITY",
            f"Services exists under given service definition, can't delete Service-Def: {name}",
        )
    call.tables.definitions.delete(stored.stamp.id, call.now)
    refresh_tag_definition(call.tables, call.now)
    return ServerResponse(204)


def refresh_tag_definition(tables: Tables, now: int) -> None:
    """Recompute the `tag` definition from all others; it has no author."""
    document = tag_definition({stored.stamp.id: stored.document for stored in tables.definitions.all()})
    old = tables.definitions.by_name(TAG)
    if old is None:
        tables.insert_definition(document, None, now)
    elif old.document != document:
        tables.update_definition(old, document, None, now)
