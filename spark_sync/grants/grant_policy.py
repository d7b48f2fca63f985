"""The Ranger policy of one life: its guid and name, its content, and whether a policy still has that content. Pure."""

from __future__ import annotations

import hashlib
import json
from uuid import UUID, uuid5

import msgspec

from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant
from ranger_cdap.engine.model.wire import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from spark_sync.ledger.life import Life

NAMESPACE = UUID("6f1c2a52-6f0e-4c51-9d0b-3f3f7f0a9e11")
DESCRIPTION = (
    "What the creator of this entity got by creating it. Written by ranger-cdap sync, deleted with the entity."
)

# Ranger cuts no name but refuses one longer than 255; the guid's beginning keeps the rest apart.
NAME_LENGTH = 200


def guid_of(life: Life, instance: str) -> str:
    """The guid of a life's policy: the same in every run, another for every other life."""
    key = [instance, life.entity.type, *life.entity.parts, life.number]
    return str(uuid5(NAMESPACE, json.dumps(key)))


def policy_for(life: Life, grant: Grant, *, service: str, delegate_admin: bool, group: str = "") -> Policy:
    """The policy that gives the grant and nothing else; grant and group passed the allow-list, so no list is empty.

    The group gets what the user gets, but never the right to pass it on.
    """
    guid = guid_of(life, grant.resource["instance"])
    entity = str(life.entity).replace(":", " ").replace("/", "_")[:NAME_LENGTH]
    accesses = [PolicyItemAccess(type=access) for access in grant.accesses]
    items = [PolicyItem(accesses=accesses, users=[grant.user], delegateAdmin=delegate_admin)]
    if group:
        items.append(PolicyItem(accesses=accesses, groups=[group]))
    return Policy(
        guid=guid,
        name=f"creator of {entity} {life.number} {guid[:8]}",
        service=service,
        description=DESCRIPTION,
        resources=resources_of(grant),
        policyItems=items,
        policyLabels=[CREATORS_LABEL],
    )


def resources_of(grant: Grant) -> dict[str, PolicyResource]:
    """The resource of a grant as policies have it: exactly one value a level."""
    return {level: PolicyResource(values=[value]) for level, value in grant.resource.items()}


def content_of(policy: Policy) -> str:
    """SHA-256 of everything that people can edit in a policy; equal means that no field was edited."""
    items = [
        msgspec.structs.replace(item, accesses=sorted(item.accesses, key=lambda access: access.type))
        for item in policy.policyItems
    ]
    # What Ranger adds is left out, and access types are in one order.
    content = msgspec.structs.replace(
        policy, id=None, version=None, serviceType=None, zoneName=policy.zoneName or None, policyItems=items
    )
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
