"""Grants of access types on one entity to one user, and the allow-list that each grant passes before it is sent."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal
from uuid import UUID, uuid5

import msgspec

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type, from_resource, to_resource
from ranger_cdap.errors import InvalidEntity, UnknownEntityType, UnsafeGrant
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource

ACCESS_TYPES = ("read", "write", "admin", "execute")

GranteeKind = Literal["users", "roles"]
"""The field of a policy item that names the grantee."""

CREATORS_LABEL: Final = "cdap-creator"
"""Label of the policies that the sync job writes for creators. Ranger's list shows 12 characters of a label."""
FORMER_LABEL: Final = "cdap-former"
"""Label of those that the job took the creator's right out of, and left to the people who had edited them."""
LEDGER_LABEL: Final = "cdap-ledger-"
"""Beginning of the label that says which ledger of the job wrote a policy."""

_GUIDS = UUID("6f1c2a52-6f0e-4c51-9d0b-3f3f7f0a9e11")

# Names that Ranger does not read as a single user.
NOT_A_USER = frozenset({"{USER}", "{OWNER}", "public"})

# Ranger splits at commas, matches `*` and `?`, and expands braces and backslashes.
_SPECIAL = frozenset(",{}*?\\")

_INSTANCE = re.compile(r"[a-zA-Z0-9_-]+", re.ASCII)


MOST_COPIES: Final = 20
"""Policies of one life that people may move to other resources before its grant fails."""


def grant_guid(instance: str, entity: EntityId, life: int, copy: int = 0) -> str:
    """Return the guid of the policy for the creator of an entity's life: the same always, and unique to the life.

    `copy`: the number of earlier policies of the life that became a person's.
    """
    return f"{_guids_of(instance, entity)}{life:08x}{copy:04x}"


def _guids_of(instance: str, entity: EntityId) -> str:
    """Return the beginning of the guids of an entity's policies."""
    return str(uuid5(_GUIDS, json.dumps([instance, entity.type, *entity.parts])))[:24]


def is_creators_policy(policy: Policy | Mapping[str, Any]) -> bool:
    """Return whether a policy, from Ranger or from a file, is one of the sync job's for a creator, edited or not.

    It has the label, and the guid or, in a file, the name of an entity that it is for. A user who may delegate it
    can make one: it is left to the job, and shown where it gives more than the job does.
    """
    document = policy if isinstance(policy, Mapping) else msgspec.to_builtins(policy)
    try:
        if CREATORS_LABEL not in (document.get("policyLabels") or ()):
            return False
        sets = [document["resources"], *(document.get("additionalResources") or ())]
        found = [from_resource(_single_values(levels)) for levels in sets]
    except (LookupError, TypeError, AttributeError, ValueError):
        return False
    guid, name = document.get("guid"), str(document.get("name"))
    guids = (_guids_of(*on) for on in found if on is not None)
    return any(str(guid).startswith(one) if guid else name.endswith(f", {one[:8]})") for one in guids)


def _single_values(levels: Mapping[str, Any]) -> dict[str, str]:
    """Return the value of each level; without those that have several or an exclusion."""
    return {
        name: level["values"][0]
        for name, level in levels.items()
        if len(level["values"]) == 1 and not level.get("isExcludes")
    }


class Grant(msgspec.Struct, frozen=True):
    """Content of one policy of the sync job; built by `grant_for` only, so that nothing unchecked reaches Ranger.

    `resource`: one value per level, as `{"instance": "cdap", "namespace": "ns1", "dataset": "purchases"}`; an
    application also has `"program": "*"`, because its programs are never created on their own. `accesses` are in the
    order of `ACCESS_TYPES`.
    """

    resource: Mapping[str, str]
    user: str
    accesses: tuple[str, ...]


def grant_for(
    entity: EntityId,
    user: str,
    instance: str,
    actions: Sequence[str],
    *,
    non_creators: Collection[str],
    with_programs: bool = True,
) -> Grant:
    """Return the grant of `actions` (Ranger's access types) on `entity` to `user`.

    Law: it allows nothing to any other user or on any other entity, except, `with_programs`, the programs of an
    application.

    Raises:
        UnsafeGrant: a part of the entity, the user, the instance or an access type is not on the allow-list.
    """
    check_grantee(user, non_creators=non_creators)
    if not _INSTANCE.fullmatch(instance):
        raise UnsafeGrant(f"`{instance}` is not an instance name that a grant may hold")
    if not actions or not set(actions) <= set(ACCESS_TYPES):
        raise UnsafeGrant(f"a grant on `{entity}` gives some of {', '.join(ACCESS_TYPES)}, not `{', '.join(actions)}`")
    try:
        checked = entity_id(entity.type, entity.parts)
    except (InvalidEntity, UnknownEntityType) as e:
        raise UnsafeGrant(f"`{entity}` cannot be granted: {e}") from None
    if entity_type(checked.type).parent is None:
        raise UnsafeGrant("the whole instance is never granted to a creator")
    resource = granted_resource(checked, instance) if with_programs else to_resource(checked, instance)
    return Grant(resource, user, tuple(access for access in ACCESS_TYPES if access in actions))


def granted_resource(entity: EntityId, instance: str) -> dict[str, str]:
    """Return the resource of a grant on an entity: that of an application includes its programs."""
    programs = {"program": "*"} if entity.type == "application" else {}
    return to_resource(entity, instance) | programs


def resources_of(grant: Grant) -> dict[str, PolicyResource]:
    """Return the resource of a grant in a policy's form: exactly one value per level."""
    return {level: PolicyResource(values=[value]) for level, value in grant.resource.items()}


def items_of(grant: Grant, *, delegate_admin: bool) -> list[PolicyItem]:
    """Return the item that allows exactly this grant, which passed the allow-list, so no list is empty."""
    accesses = [PolicyItemAccess(type=access) for access in grant.accesses]
    return [PolicyItem(accesses=accesses, users=[grant.user], delegate_admin=delegate_admin)]


def comparable(policy: Policy) -> Policy:
    """Return the policy without what Ranger adds, and with sorted access types, which it may reorder.

    A policy that lists its resource several times counts as one that lists it twice. Its zone cannot be edited, and
    which ledger wrote it is not its content.
    """
    items = [
        msgspec.structs.replace(item, accesses=sorted(item.accesses, key=lambda access: access.type))
        for item in policy.policy_items
    ]
    listed = policy.additional_resources
    return msgspec.structs.replace(
        policy,
        id=None,
        version=None,
        service_type=None,
        created_by=None,
        updated_by=None,
        update_time=None,
        zone_name="",
        options={},
        policy_items=items,
        policy_labels=[label for label in policy.policy_labels if not label.startswith(LEDGER_LABEL)],
        additional_resources=listed[:1] if all(each == policy.resources for each in listed) else listed,
    )


def check_grantee(user: str, *, non_creators: Collection[str]) -> None:
    """Reject a name that does not identify exactly one user.

    Raises:
        UnsafeGrant: it is empty, has surrounding blanks, control or special characters, or is not a single user.
    """
    if not user or user != user.strip():
        raise UnsafeGrant(f"`{user}` is not a user name: it is empty or has surrounding blanks")
    if user in NOT_A_USER or user.casefold() == "public":
        raise UnsafeGrant(f"`{user}` does not identify a single user, so nothing is granted to it")
    if user in non_creators:
        raise UnsafeGrant(f"`{user}` is configured as a user who never creates")
    bad = [c for c in user if c in _SPECIAL or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    if bad:
        raise UnsafeGrant(f"the user name {user!a} has {bad[0]!a}, which Ranger may interpret")


def held(policy: Policy, name: str, kind: GranteeKind = "users") -> frozenset[str]:
    """Return the access types that a policy allows a user or role by name and without conditions."""
    return frozenset(
        access.type
        for item in policy.policy_items
        if name in getattr(item, kind) and not item.conditions
        for access in item.accesses
        if access.is_allowed
    )
