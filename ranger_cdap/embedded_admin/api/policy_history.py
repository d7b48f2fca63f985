"""Handlers of the versions of policies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ranger_cdap.embedded_admin.api.admin_call import AdminCall
from ranger_cdap.embedded_admin.api.rights import require_policy_reader
from ranger_cdap.embedded_admin.model.responses import ServerResponse, found, json_response, refuse_because
from ranger_cdap.embedded_admin.store.former_policies import FormerPolicy

_FOREVER = 1 << 62


def list_policy_versions(call: AdminCall) -> ServerResponse:
    """GET the numbers of a policy's versions, oldest first and separated by commas; none of an unknown policy."""
    return json_response({"value": ",".join(str(one.policy.stamp.version) for one in _versions(call, call.path_id()))})


def get_policy_version(call: AdminCall) -> ServerResponse:
    """GET a policy as it was in a version, also a deleted one."""
    number = call.number(call.path["version"])
    unknown = refuse_because("DATA_NOT_FOUND", "No Policy found for given version.")
    versions = _versions(call, call.path_id())
    return _answer(call, found(next((one for one in versions if one.policy.stamp.version == number), None), unknown))


def _versions(call: AdminCall, policy_id: int) -> Iterator[FormerPolicy]:
    """Yield the versions of a policy that are known, oldest first; the present one has no end."""
    present = call.tables.policy_by_id(policy_id)
    service = call.tables.service(present.document.service) if present else None
    last = [FormerPolicy(service.stamp.id, _FOREVER, present)] if present and service else []
    return chain(call.tables.former_policies.of(policy_id), last)


def _answer(call: AdminCall, version: FormerPolicy) -> ServerResponse:
    service = call.tables.service_by_id(version.service_id)
    assert service is not None  # the versions of a deleted service are deleted with it
    require_policy_reader(call, service, version.policy.document)
    return json_response(version.policy.to_json())
