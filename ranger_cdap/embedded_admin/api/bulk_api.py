"""Handlers of bulk operations on policies: export, import, and deletion by a search."""

from __future__ import annotations

from datetime import UTC, datetime
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP

import msgspec

from ranger_cdap.embedded_admin.api.admin_call import AdminCall
from ranger_cdap.embedded_admin.api.policy_search import chosen_policies
from ranger_cdap.embedded_admin.api.policy_store import remove_policy
from ranger_cdap.embedded_admin.api.policy_upsert import create, service_of, upsert
from ranger_cdap.embedded_admin.api.rights import require_policy_right
from ranger_cdap.embedded_admin.model.documents import AdminPolicy, read_document
from ranger_cdap.embedded_admin.model.responses import (
    JSON,
    ServerResponse,
    empty,
    found,
    json_response,
    not_found,
    refuse,
)
from ranger_cdap.embedded_admin.rules.policy_rules import signature
from ranger_cdap.ranger_model.document import Document

EXPORT = "text/json"
UPLOAD = "multipart/form-data"
_PART = "file"


class PolicyFile(Document):
    """An exported file, without its metadata."""

    policies: list[AdminPolicy]


def export_policies(call: AdminCall) -> ServerResponse:
    """GET the policies a search finds as a file; 204 if it finds none."""
    policies = [msgspec.Raw(stored.listed) for stored in chosen_policies(call, call.query.get("serviceName"))]
    if not policies:
        return ServerResponse(204, content_type=EXPORT)
    time = datetime.fromtimestamp(call.now / 1000, UTC).isoformat(timespec="seconds")
    about = {"Exported by": call.caller.shown_name, "Export time": time}
    file = {"metaDataInfo": about, "policies": policies}
    return ServerResponse(200, msgspec.json.encode(file), EXPORT)


def import_policies(call: AdminCall) -> ServerResponse:
    """POST a file of policies: all of them are stored, or none."""
    if call.flag("isOverride"):
        raise refuse("the embedded Ranger Admin does not know `isOverride=true`: delete the policies first", 501)
    for policy in _uploaded(call):
        service = service_of(call, policy)
        same = call.tables.policy_by_signature(service.stamp.id, signature(policy), policy.zone_name)
        if call.flag("mergeIfExists") and same is not None:
            # What the real server answers to every repeated import that merges.
            raise refuse("policyID mismatch")
        if call.flag("updateIfExists"):
            upsert(call, policy, merge=False)
        else:
            create(call, service, policy)
    return ServerResponse(204, content_type=JSON)


def _uploaded(call: AdminCall) -> list[AdminPolicy]:
    head = f"Content-Type: {call.content_type}\r\n\r\n".encode()
    message = BytesParser(EmailMessage, policy=HTTP).parsebytes(head + call.body)
    for part in message.iter_parts() if message.is_multipart() else ():
        if part.get_param("name", header="content-disposition") == _PART and (part.get_filename() or "").endswith(
            ".json"
        ):
            content = part.get_payload(decode=True)
            body = content if isinstance(content, bytes) else b""
            return read_document(body, PolicyFile, "org.apache.ranger.view.RangerExportPolicyList").policies
    raise refuse(f"the part `{_PART}` with the name of a .json file is missing")


def delete_policies(call: AdminCall) -> ServerResponse:
    """DELETE what a search in one service finds; the answer is the ids. All of them go, or none."""
    if not call.query.get("serviceName", "").strip():
        raise refuse("Invalid service name")
    service = found(call.tables.service(call.query["serviceName"]), not_found())
    chosen = list(chosen_policies(call, service.name))
    require_policy_right(call, service, *(stored.document for stored in chosen))
    for stored in chosen:
        remove_policy(call, service, stored)
    return json_response([stored.stamp.id for stored in chosen]) if chosen else empty(204)
