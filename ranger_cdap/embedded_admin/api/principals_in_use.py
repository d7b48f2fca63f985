"""Where a user, group or role is named by others, for those who want to delete or rename it."""

from __future__ import annotations

from collections.abc import Sequence

from ranger_cdap.embedded_admin.api.call import Call
from ranger_cdap.embedded_admin.model.answers import refuse
from ranger_cdap.embedded_admin.store.records import StoredService


def roles_with(call: Call, kind: str, name: str) -> list[str]:
    """The roles that have somebody of that kind as a direct member."""
    return [
        role.document.name
        for role in call.tables.principals.roles()
        if name in (member.name for member in getattr(role.document, kind))
    ]


def replace_in_policies(call: Call, kind: str, name: str, others: Sequence[str]) -> list[StoredService]:
    """Put others, or nobody, in the place of a name in all policies; the service of each policy that had it."""
    changed = []
    for service in call.tables.services():
        for stored in call.tables.policies(service.stamp.id):
            policy = stored.document
            items = [item for item in policy.items() if name in getattr(item, kind)]
            for item in items:
                names = getattr(item, kind)
                setattr(item, kind, [new for old in names for new in (others if old == name else (old,))])
            if items:
                call.tables.update_policy(service, stored, policy, stored.signature, call.caller.shown_name, call.now)
                changed.append(service)
    return changed


def let_go(call: Call, kind: str, name: str) -> None:
    """Take a user or group that is being deleted out of all policies, and let their plugins know.

    Raises:
        Refusal: 400; a role has it as a member.
    """
    if roles := roles_with(call, kind, name):
        what = kind.removesuffix("s").capitalize()
        raise refuse(f"Can Not Delete {what}: '{name}' as its present in Roles : {', '.join(roles)}")
    for service in replace_in_policies(call, kind, name, ()):
        call.tables.raise_policy_version(service.stamp.id, call.now)
