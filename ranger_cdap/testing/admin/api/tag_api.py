"""Handlers of tags: uploads by a client, and exports."""

from __future__ import annotations

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.model.documents import TagUpload
from ranger_cdap.testing.admin.model.responses import (
    ServerResponse,
    json_response,
    refuse,
    service_not_found,
)
from ranger_cdap.testing.admin.rules.tag_rules import DELETE, OPERATIONS, downloaded, uploaded
from ranger_cdap.testing.admin.store.records import StoredService


def import_service_tags(call: AdminCall) -> ServerResponse:
    """PUT tags of resources; the path names the service."""
    sent = call.read(TagUpload, "RangerServiceTags")
    service = call.of_path(call.tables.services, service_not_found)
    operation = OPERATIONS.get(sent.op)
    if operation is None:
        raise refuse(f"`{sent.op}` is not an operation on tags")
    if operation != DELETE:
        _refuse_broken(call, service, sent)
    call.tables.update_tags(service, uploaded(call.tables.tags(service.stamp.id), sent, operation), call.now)
    return ServerResponse(204)


def export_service_tags(call: AdminCall) -> ServerResponse:
    """GET all tags of a service, in the form in which they are uploaded."""
    service = call.of_path(call.tables.services, service_not_found)
    about = {"op": "set", "serviceName": service.name, "tagVersion": service.tag_version}
    return json_response(about | downloaded(call.tables.tags(service.stamp.id)))


def list_tag_types(call: AdminCall) -> ServerResponse:
    """GET the names of all tag definitions, of every service."""
    kept = [call.tables.tags(service.stamp.id) for service in call.tables.services.all()]
    return json_response(list(dict.fromkeys(row.name for tags in kept for row in tags.definitions)))


def _refuse_broken(call: AdminCall, service: StoredService, sent: TagUpload) -> None:
    # Ranger skips unresolved references; a missing tag may be one that denies.
    numbers = [str(number) for ids in sent.resource_to_tag_ids.values() for number in ids]
    if missing := [number for number in numbers if number not in sent.tags]:
        raise refuse(f"tag `{missing[0]}` is carried by a resource but not in the upload")
    if any(not tag.type for tag in sent.tags.values()):
        raise refuse("a tag has no type")
    places = {str(resource.id) for resource in sent.service_resources if resource.id is not None}
    if missing := [place for place in sent.resource_to_tag_ids if place not in places]:
        raise refuse(f"resource `{missing[0]}` carries tags but is not in the upload")
    known = {carrier.resource.guid for carrier in call.tables.tags(service.stamp.id).carriers}
    for resource in sent.service_resources:
        if not resource.resource_elements and resource.guid not in known:
            raise refuse("a resource has neither values nor the guid of a known one")
