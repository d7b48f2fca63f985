"""Handlers of policies."""

from __future__ import annotations

import msgspec

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.policy_store import (
    add_policy,
    checked,
    refuse_long_name,
    remove_policy,
    replace_policy,
    zone_problems,
)
from ranger_cdap.testing.admin.api.rights import (
    require_policy_reader,
    require_policy_right,
)
from ranger_cdap.testing.admin.model.documents import AdminPolicy
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    found,
    json_response,
    not_found,
    not_found_by_id,
    refuse,
    refuse_invalid,
)
from ranger_cdap.testing.admin.model.validation import failure
from ranger_cdap.testing.admin.rules.policy_rules import check_alone
from ranger_cdap.testing.admin.store.records import StoredPolicy, StoredService


def create_policy(call: AdminCall) -> ServerResponse:
    """POST a new one; a guid that is sent is kept, an id or version is not.

    `mergeIfExists`, `updateIfExists` and `deleteIfExists`, by which Ranger changes another policy, are refused.
    """
    policy = call.read(AdminPolicy, "RangerPolicy")
    if any(map(call.flag, ("mergeIfExists", "updateIfExists", "deleteIfExists"))):
        raise refuse("this server does not change an existing policy in place of a new one")
    service = _service_of(call, policy)
    require_policy_right(call, service, policy)
    return json_response(add_policy(call, service, checked(call, service, policy, None)).to_json())


def _service_of(call: AdminCall, policy: AdminPolicy) -> StoredService:
    refuse_long_name(policy)
    unknown = failure(3007, policy.service) if policy.service.strip() else failure(3002, "service name")
    problems = [unknown, *check_alone(policy), *zone_problems(call, policy, None)]
    return found(call.tables.services.by_name(policy.service), refuse_invalid(problems))


def update_policy(call: AdminCall) -> ServerResponse:
    """PUT by id, or by service and name. The body can have an old version, as on the real server: the last one wins."""
    policy = call.read(AdminPolicy, "RangerPolicy")
    if "id" in call.path and policy.id not in (None, call.path_id()):
        raise refuse("policyID mismatch")
    service, old = _of_path(call)
    require_policy_right(call, service, old.document, policy)
    if policy.service not in ("", service.name):
        raise refuse_invalid([failure(3027, old.stamp.id, service.name, policy.service)])
    if policy.policy_type != old.document.policy_type:
        raise refuse_invalid([failure(3028, old.stamp.id, old.document.policy_type, policy.policy_type)])
    named = msgspec.structs.replace(policy, service=service.name)
    return json_response(replace_policy(call, service, old, checked(call, service, named, old)).to_json())


def get_policy(call: AdminCall) -> ServerResponse:
    """GET one by id, or by service and name."""
    service, stored = _of_path(call)
    require_policy_reader(call, service, stored.document)
    return json_response(stored.to_json())


def get_policy_by_guid(call: AdminCall) -> ServerResponse:
    """GET one by guid in a zone, or outside; of the service named by `serviceName`, or of any."""
    wanted, zone = call.query.get("serviceName"), call.query.get("ZoneName", "")
    for service in call.tables.services.all():
        if wanted in (None, service.name):
            stored = call.tables.policy_by("guid", call.path["guid"], service.stamp.id, zone)
            if stored is not None:
                require_policy_reader(call, service, stored.document)
                return json_response(stored.to_json())
    raise not_found()


def delete_policy(call: AdminCall) -> ServerResponse:
    """DELETE by id."""
    return _delete(call, *_of_path(call))


def delete_policy_by_name(call: AdminCall) -> ServerResponse:
    """DELETE by the parameters `servicename` and `policyname`; without either it is 400."""
    if "servicename" not in call.query or "policyname" not in call.query:
        raise refuse("Invalid service name or policy name")
    return _delete(call, *_by_name(call, call.query["servicename"], call.query["policyname"]))


def _delete(call: AdminCall, service: StoredService, stored: StoredPolicy) -> ServerResponse:
    require_policy_right(call, service, stored.document)
    remove_policy(call, service, stored)
    return ServerResponse(204)


def _of_path(call: AdminCall) -> tuple[StoredService, StoredPolicy]:
    if "id" not in call.path:
        return _by_name(call, call.path["name"], call.path["policy"])
    policy_id = call.path_id()
    stored = call.tables.policy_by_id(policy_id)
    service = call.tables.services.by_name(stored.document.service) if stored else None
    if stored is None or service is None:
        raise not_found_by_id(policy_id, of="org.apache.ranger.plugin.model.RangerPolicy :")
    return service, stored


def _by_name(call: AdminCall, service_name: str, name: str) -> tuple[StoredService, StoredPolicy]:
    service = call.tables.services.by_name(service_name)
    zone = call.query.get("zoneName", "")
    stored = call.tables.policy_by("name", name, service.stamp.id, zone) if service else None
    if service is None or stored is None:
        raise not_found()
    return service, stored
