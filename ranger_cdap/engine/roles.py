"""Which roles somebody has (policy-engine.md, 12.1)."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.engine import wire


class RoleTable:
    """Role definitions, resolved: the members of a contained role belong to the containing one, at any depth."""

    def __init__(self, definitions: wire.RangerRoles | None) -> None:
        self._of_user: dict[str, set[str]] = {}
        self._of_group: dict[str, set[str]] = {}
        containing: dict[str, set[str]] = {}
        for role in definitions.rangerRoles if definitions else ():
            for user in role.users:
                self._of_user.setdefault(user.name, set()).add(role.name)
            for group in role.groups:
                self._of_group.setdefault(group.name, set()).add(role.name)
            for member in role.roles:
                containing.setdefault(member.name, set()).add(role.name)
        for roles in (*self._of_user.values(), *self._of_group.values()):
            _close(roles, containing)
        self._public = self._of_group.get("public", set())

    def of(self, user: str | None, groups: Iterable[str]) -> frozenset[str]:
        """The roles of a user with these groups; everybody has those of the group `public`."""
        roles = set(self._public)
        if user is not None:
            roles |= self._of_user.get(user, set())
        for group in groups:
            roles |= self._of_group.get(group, set())
        return frozenset(roles)


def _close(roles: set[str], containing: dict[str, set[str]]) -> None:
    todo = list(roles)
    while todo:
        for role in containing.get(todo.pop(), set()):
            if role not in roles:
                roles.add(role)
                todo.append(role)
