"""The Ranger policy of one life: guid, name and content. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant, grant_guid
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from spark_sync.ledger.life import Life

DESCRIPTION = (
    "What the creator of this entity got by creating it. Written by ranger-cdap sync, deleted with the entity."
)

# Ranger cuts no name but refuses one longer than 255; the guid's beginning keeps the rest apart.
NAME_LENGTH = 200


def guid_of(life: Life, instance: str) -> str:
    """Return the guid of a life's policy."""
    return grant_guid(instance, life.entity, life.number)


def policy_for(life: Life, grant: Grant, *, service: str, delegate_admin: bool, group: str = "") -> Policy:
    """Return the policy of exactly this grant; grant and group passed the allow-list, so no list is empty.

    The group gets the access types of the user, but never delegated administration.
    """
    guid = guid_of(life, grant.resource["instance"])
    entity = str(life.entity).replace(":", " ").replace("/", "_")[:NAME_LENGTH]
    accesses = [PolicyItemAccess(type=access) for access in grant.accesses]
    items = [PolicyItem(accesses=accesses, users=[grant.user], delegate_admin=delegate_admin)]
    if group:
        items.append(PolicyItem(accesses=accesses, groups=[group]))
    return Policy(
        guid=guid,
        name=f"creator of {entity} {life.number} {guid[:8]}",
        service=service,
        description=DESCRIPTION,
        resources=resources_of(grant),
        policy_items=items,
        policy_labels=[CREATORS_LABEL],
    )


def resources_of(grant: Grant) -> dict[str, PolicyResource]:
    """Return the resource of a grant in a policy's form: exactly one value per level."""
    return {level: PolicyResource(values=[value]) for level, value in grant.resource.items()}


def content_of(policy: Policy) -> str:
    """Return the SHA-256 of every editable field of a policy; equal means unedited."""
    items = [
        msgspec.structs.replace(item, accesses=sorted(item.accesses, key=lambda access: access.type))
        for item in policy.policy_items
    ]
    # Fields that Ranger adds are left out, and access types are sorted.
    content = msgspec.structs.replace(
        policy, id=None, version=None, service_type=None, zone_name=policy.zone_name, policy_items=items
    )
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
