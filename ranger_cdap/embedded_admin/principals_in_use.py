"""Where a user or group is named, for those who want to delete it; `kind` is `users` or `groups`."""

from __future__ import annotations

from ranger_cdap.embedded_admin.call import Call


def roles_with(call: Call, kind: str, name: str) -> list[str]:
    """The roles that have somebody as a direct member."""
    return [
        role.document.name
        for role in call.tables.principals.roles()
        if name in (member.name for member in getattr(role.document, kind))
    ]


def forget_in_policies(call: Call, kind: str, name: str) -> None:
    """Take somebody out of all policies, and let their plugins know."""
    for service in call.tables.services():
        for stored in call.tables.policies(service.stamp.id):
            policy = stored.document
            touched = [item for item in policy.items() if name in getattr(item, kind)]
            for item in touched:
                setattr(item, kind, [other for other in getattr(item, kind) if other != name])
            if touched:
                shown = call.caller.shown_name
                call.tables.update_policy(service, stored, policy, stored.signature, shown, call.now)
                call.tables.raise_policy_version(service.stamp.id, call.now)
