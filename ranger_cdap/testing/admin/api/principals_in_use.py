"""References to a user, group or role, checked before it is deleted or renamed."""

from __future__ import annotations

from collections.abc import Sequence

from ranger_cdap.testing.admin.api.admin_call import AdminCall
from ranger_cdap.testing.admin.model.responses import refuse
from ranger_cdap.testing.admin.store.records import StoredService


def roles_with(call: AdminCall, kind: str, name: str) -> list[str]:
    """Return the roles with that user, group or role as a direct member."""
    return [
        role.document.name
        for role in call.tables.principals.roles.all()
        if name in (member.name for member in getattr(role.document, kind))
    ]


def replace_in_policies(call: AdminCall, kind: str, name: str, others: Sequence[str]) -> list[StoredService]:
    """Replace a name by others, or by none, in all policies; return the service of each changed policy."""
    changed = []
    for service in call.tables.services.all():
        for stored in call.tables.policies(service.stamp.id):
            policy = stored.document
            items = [item for item in policy.items() if name in getattr(item, kind)]
            for item in items:
                setattr(item, kind, [new for old in getattr(item, kind) for new in (others if old == name else (old,))])
            if items:
                call.tables.update_policy(service, stored, policy, stored.signature, call.caller.shown_name, call.now)
                changed.append(service)
    return changed


def remove_from_policies(call: AdminCall, kind: str, name: str) -> None:
    """Remove a user or group from all policies, and raise the policy versions of their services.

    Raises:
        Refusal: 400; it is a member of a role.
    """
    if roles := roles_with(call, kind, name):
        what = kind.removesuffix("s").capitalize()
        raise refuse(f"Can Not Delete {what}: '{name}' as its present in Roles : {', '.join(roles)}")
    for service in replace_in_policies(call, kind, name, ()):
        call.tables.raise_policy_version(service.stamp.id, call.now)
