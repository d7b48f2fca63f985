"""Storage of policies: validation, principals, versions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator

import msgspec

from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.refusals import LONGEST_DESCRIPTION
from ranger_cdap.ranger.changes.saved_policy import as_saved
from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.api.rights import may_administer
from ranger_cdap.testing.admin.model.documents import KINDS, AdminPolicy, AdminRole, AdminServiceDef, Group, User
from ranger_cdap.testing.admin.model.responses import found, refuse, refuse_because, refuse_invalid
from ranger_cdap.testing.admin.model.validation import ValidationFailure, failure
from ranger_cdap.testing.admin.rules.default_policies import default_policies, default_users
from ranger_cdap.testing.admin.rules.policy_rules import (
    MAX_NAME_LENGTH,
    Neighbour,
    Neighbours,
    check_policy,
    kept_signature,
)
from ranger_cdap.testing.admin.store.change_log import CREATED, DELETED, UPDATED, LoggedChange
from ranger_cdap.testing.admin.store.records import EXTERNAL, StoredPolicy, StoredService


def checked(call: AdminCall, service: StoredService, policy: AdminPolicy, old: StoredPolicy | None) -> AdminPolicy:
    """Validate a policy and return it as it is saved.

    Raises:
        Refusal: 400; it violates a rule of Ranger's validator, or names an unknown user, group or role.
    """
    refuse_long_name(policy)
    unknown_type = refuse_invalid([failure(3007, policy.service)])
    definition = found(call.tables.definitions.by_name(service.document.type), unknown_type)
    names = [access.name for access in definition.document.access_types]
    try:
        policy = msgspec.convert(as_saved(msgspec.to_builtins(policy), names)[0], AdminPolicy)
    except InvalidInput as e:
        raise refuse(str(e)) from None
    own_id = old.stamp.id if old else None
    neighbours = Neighbours(
        by_name=lambda name: _other(call.tables.policy_by("name", name, service.stamp.id, policy.zone_name), own_id),
        by_signature=lambda sign: _other(
            call.tables.policy_by("signature", sign, service.stamp.id, policy.zone_name), own_id
        ),
    )
    problems = list(
        check_policy(
            policy,
            definition.document,
            neighbours,
            may_exclude=may_administer(call, service, policy.zone_name),
            zone_problems=zone_problems(call, policy, old),
            name_field="id/name" if old else "policy name",
        )
    )
    if problems:
        raise refuse_invalid(problems)
    if len(policy.description) > LONGEST_DESCRIPTION:
        raise refuse("ERROR: value too long for type character varying(1024)", code=1)
    if old is None and policy.guid and call.tables.policy_by("guid", policy.guid, service.stamp.id, policy.zone_name):
        raise refuse('ERROR: duplicate key value violates unique constraint "x_policy_uk_guid_service_zone"', code=1)
    _require_known_principals(call, policy)
    _refuse_unknown_conditions(policy, definition.document, service)
    return policy


def refuse_long_name(policy: AdminPolicy) -> None:
    """Raise `Refusal` 400 for a name that Ranger has no room for, whatever else it would refuse."""
    if len(policy.name) > MAX_NAME_LENGTH:
        raise refuse_because(
            "INPUT_DATA_OUT_OF_BOUND",
            f"Policy name should not be longer than {MAX_NAME_LENGTH} characters",
            field="policy name",
        )


def zone_problems(call: AdminCall, policy: AdminPolicy, old: StoredPolicy | None) -> Iterator[ValidationFailure]:
    """Yield the rules that the zone of a policy violates."""
    name = policy.zone_name
    zone = call.tables.zones.by_name(name)
    if zone is None and name:
        yield failure(3033, f"{old.stamp.id:,}" if old else "null")  # Ranger formats the policy's id, not the name
    if zone is not None and policy.service not in zone.document.services:
        yield failure(3048, policy.service, name)
    if old is not None and old.document.zone_name != name:
        yield failure(3032, old.document.zone_name, name)


def _other(other: StoredPolicy | None, own_id: int | None) -> Neighbour | None:
    return None if other is None or other.stamp.id == own_id else Neighbour(other.stamp.id, other.document.name)


def _refuse_unknown_conditions(policy: AdminPolicy, definition: AdminServiceDef, service: StoredService) -> None:
    known = {row.name for row in definition.policy_conditions}
    for condition in [*policy.conditions, *(condition for item in policy.items() for condition in item.conditions)]:
        if condition.type not in known:
            where = f"policy='{policy.name}' service='{service.stamp.id}'"
            raise refuse(f"{condition.type or 'null'}: is not a valid condition-type. {where}", code=1)


def _require_known_principals(call: AdminCall, policy: AdminPolicy) -> None:
    named = {kind: [name for item in policy.items() for name in getattr(item, kind)] for kind in KINDS}
    if call.flag("createPrincipalsIfAbsent") and call.caller.is_admin:
        create_principals(call, **named)
    for kind, names in named.items():
        for name in call.tables.principals.missing(kind, names):
            what = kind.removesuffix("s").capitalize()
            raise refuse(f"Operation denied. {what} name: {name} specified in policy does not exist in ranger admin.")


def require_principals(call: AdminCall, named: Iterable[tuple[str, str, Iterable[str]]]) -> None:
    """Require all names of another document than a policy; a row is a word for the kind, the kind and its names.

    Raises:
        Refusal: 400 with the first unknown name.
    """
    for what, kind, names in named:
        if missing := call.tables.principals.missing(kind, names):
            raise refuse_because("INVALID_INPUT_DATA", f"{what} with name: {missing[0]} does not exist ")


def create_principals(
    call: AdminCall, *, users: Iterable[str] = (), groups: Iterable[str] = (), roles: Iterable[str] = ()
) -> None:
    """Create missing users, groups and roles, without a password, as Ranger does for names in other documents."""
    principals, author = call.tables.principals, call.caller.shown_name
    for name in principals.missing("users", users):
        principals.insert_user(
            User(name=name, user_role_list=["ROLE_USER"], user_source=EXTERNAL), None, author, call.now
        )
    for name in principals.missing("groups", groups):
        principals.insert_group(Group(name=name, group_source=EXTERNAL), author, call.now)
    for name in principals.missing("roles", roles):
        principals.roles.insert(AdminRole(name=name), author, call.now)


def add_policy(call: AdminCall, service: StoredService, policy: AdminPolicy) -> StoredPolicy:
    """Store a policy without validation; a missing guid or name is generated."""
    guid = policy.guid or str(uuid.uuid4())
    named = msgspec.structs.replace(
        policy, guid=guid, service=service.name, name=policy.name or f"{service.name}-{guid}"
    )
    stored = call.tables.insert_policy(service, named, kept_signature(named), call.caller.shown_name, call.now)
    _record_change(call, service, stored, CREATED)
    return stored


def add_default_policies(call: AdminCall, service: StoredService, definition: AdminServiceDef, zone: str = "") -> None:
    """Store the default policies of a new service, or of its part of a zone, and the users they name."""
    users = default_users(service.document.configs)
    create_principals(call, users=users)
    for policy in default_policies(service.name, definition, users):
        add_policy(call, service, msgspec.structs.replace(policy, zone_name=zone))


def replace_policy(call: AdminCall, service: StoredService, old: StoredPolicy, policy: AdminPolicy) -> StoredPolicy:
    """Replace a policy; the guid never changes, an empty name keeps the old one."""
    named = msgspec.structs.replace(
        policy, guid=old.stamp.guid, service=service.name, name=policy.name or old.document.name
    )
    stored = call.tables.update_policy(service, old, named, kept_signature(named), call.caller.shown_name, call.now)
    _record_change(call, service, stored, UPDATED)
    return stored


def remove_policy(call: AdminCall, service: StoredService, policy: StoredPolicy) -> None:
    """Delete a policy."""
    call.tables.delete_policy(policy.stamp.id)
    _record_change(call, service, policy, DELETED)


def _record_change(call: AdminCall, service: StoredService, stored: StoredPolicy, kind: int) -> None:
    policy = stored.document
    change = LoggedChange(kind, stored.stamp.id, policy.policy_type, service.document.type)
    # Changes inside a zone are not logged, so plugins get all policies then.
    call.tables.raise_policy_version(service.stamp.id, call.now, None if policy.zone_name else change)
