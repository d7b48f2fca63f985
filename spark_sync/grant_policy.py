"""The Ranger policy of one life: its guid and name, its content, and whether a policy still has that content. Pure."""

from __future__ import annotations

import json
from uuid import UUID, uuid5

import msgspec

from ranger_cdap.cdap.grant import Grant
from ranger_cdap.engine.wire import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from spark_sync.life import Life

NAMESPACE = UUID("6f1c2a52-6f0e-4c51-9d0b-3f3f7f0a9e11")
LABEL = "ranger-cdap-sync"
DESCRIPTION = (
    "What the creator of this entity got by creating it. Written by ranger-cdap sync, deleted with the entity."
)

# Ranger cuts no name but refuses one longer than 255; the guid's beginning keeps the rest apart.
NAME_LENGTH = 200


def guid_of(life: Life, instance: str) -> str:
    """The guid of a life's policy: the same in every run, another for every other life."""
    key = [instance, life.entity.type, *life.entity.parts, life.number]
    return str(uuid5(NAMESPACE, json.dumps(key)))


def policy_for(life: Life, grant: Grant, *, service: str, delegate_admin: bool) -> Policy:
    """The policy that gives the grant and nothing else; `grant` passed the allow-list, so no value list is empty."""
    guid = guid_of(life, grant.resource["instance"])
    entity = str(life.entity).replace(":", " ").replace("/", "_")[:NAME_LENGTH]
    return Policy(
        guid=guid,
        name=f"creator of {entity} {life.number} {guid[:8]}",
        service=service,
        description=DESCRIPTION,
        resources={level: PolicyResource(values=[value]) for level, value in grant.resource.items()},
        policyItems=[
            PolicyItem(
                accesses=[PolicyItemAccess(type=access) for access in grant.accesses],
                users=[grant.user],
                delegateAdmin=delegate_admin,
            )
        ],
        policyLabels=[LABEL],
    )


def same_content(written: Policy, found: Policy) -> bool:
    """Whether a policy read from Ranger is what we wrote: nobody edited it, in whatever field."""
    return _content(written) == _content(found)


def _content(policy: Policy) -> Policy:
    """The policy without what Ranger adds, in one order of access types."""
    items = [
        msgspec.structs.replace(item, accesses=sorted(item.accesses, key=lambda access: access.type))
        for item in policy.policyItems
    ]
    return msgspec.structs.replace(policy, id=None, version=None, serviceType=None, zoneName=None, policyItems=items)
