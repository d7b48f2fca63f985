"""The Ranger policy of one life: guid, name and content. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import msgspec

from ranger_cdap.cdap.grant import CREATORS_LABEL, Grant, comparable, grant_guid, items_of, resources_of
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.ledger.life import Life, State

DESCRIPTION = (
    "What the creator of this entity got by creating it. Written by ranger-cdap sync, deleted with the entity."
)

# Ranger cuts no name but refuses one longer than 255; the guid's beginning keeps the rest apart.
NAME_LENGTH = 200
_NOT_IN_NAMES: Final = str.maketrans(":/", " _", "&<>'\"`")
"""Ranger's form asks to avoid some characters in names of policies."""

LISTED: Final = 2
"""Times that a policy of ours lists its entity at first.

Ranger accepts one enabled policy for each list of resources, so that ours coexists with a policy that lists it once.
"""
MOST_LISTED: Final = 10
_OURS_BY_GUID = 5  # the version of our guids; Ranger's own are of version 4


def guid_of(life: Life, instance: str) -> str:
    """Return the guid of a life's policy."""
    return grant_guid(instance, life.entity, life.number, life.copy)


def former_guids(life: Life, instance: str) -> Iterator[str]:
    """Yield the guids of the life's policies that became a person's."""
    for copy in range(life.copy):
        yield grant_guid(instance, life.entity, life.number, copy)


def seen(policy: Policy) -> dict[str, Any]:
    """Return the fields of a life that say which policy was seen last, and which version of it."""
    return {
        "policy_id": -1 if policy.id is None else policy.id,
        "policy_version": -1 if policy.version is None else policy.version,
    }


def deleted_manually(life: Life) -> Life:
    """Return the life once its policy is gone; that counts as a version, so that one that comes back is older."""
    taken = life.taken or f"taken: policy {life.policy_id} was deleted"
    version = life.policy_version + (not life.taken)
    return life.become(State.BLOCKED, reason=taken, taken=taken, policy_version=version)


def may_be_ours(policy: Policy) -> bool:
    """Return whether the guid of a policy may be that of a life."""
    with suppress(ValueError):
        return UUID(policy.guid).version == _OURS_BY_GUID
    return False


def policy_for(life: Life, grant: Grant, *, service: str, delegate_admin: bool) -> Policy:
    """Return the policy of exactly this grant."""
    policy = Policy(
        service=service,
        description=DESCRIPTION,
        resources=resources_of(grant),
        policy_items=items_of(grant, delegate_admin=delegate_admin),
        policy_labels=[CREATORS_LABEL],
        zone_name=life.zone,
    )
    return listed(as_copy(policy, life, life.copy), LISTED)


def as_copy(policy: Policy, life: Life, copy: int) -> Policy:
    """Return the policy of a life as the one after `copy` others that became a person's."""
    guid = guid_of(replace(life, copy=copy), policy.resources["instance"].values[0])
    number = f"{life.number}.{copy}" if copy else f"{life.number}"
    who = f"{life.holder} created {life.entity}".translate(_NOT_IN_NAMES)[:NAME_LENGTH]
    return replaced(policy, guid=guid, name=f"{who} ({number}, {guid[:8]})")


def listed(policy: Policy, times: int) -> Policy:
    """Return the policy with its resource listed that many times, which changes nothing about decisions."""
    return replaced(policy, additional_resources=[policy.resources] * (times - 1))


def content_of(policy: Policy) -> str:
    """Return the SHA-256 of every editable field of a policy; equal means unedited."""
    return hashlib.sha256(msgspec.json.encode(comparable(policy), order="deterministic")).hexdigest()


def overwritten(before: Policy, answer: Policy) -> str:
    """Return the reason if a policy was changed between reading and writing it; empty if it was not.

    Ranger counts a policy's versions up by one; a policy without a version is not written yet.
    """
    read = before.version or 0
    if answer.version == read + 1:
        return ""
    lost = f"version {read + 1}" if answer.version == read + 2 else f"everything since version {read}"
    return (
        f"edited: policy {before.id} was changed manually while version {answer.version} was written, which replaced"
        f" {lost}; Ranger keeps it in the policy's history"
    )
