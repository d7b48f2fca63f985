"""Roles of users and groups (ranger-semantics.md §12.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

from ranger_cdap.engine.model.problem import PolicyIssue, ProblemCode
from ranger_cdap.keyed import grouped_once
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.role import RangerRoles

_MAX_NAMES = 8


class RoleTable:
    """Resolved role definitions: the members of a contained role are members of the containing one, at any depth.

    Roles that contain each other have the same members; `issues` reports such a cycle.
    """

    def __init__(self, definitions: RangerRoles | None) -> None:
        defined = definitions.ranger_roles if definitions else ()
        self.names = frozenset(role.name for role in defined) | {m.name for role in defined for m in role.roles}
        self._of_user = grouped_once((user.name, role.name) for role in defined for user in role.users)
        self._of_group = grouped_once((group.name, role.name) for role in defined for group in role.groups)
        containing = grouped_once((member.name, role.name) for role in defined for member in role.roles)
        for roles in (*self._of_user.values(), *self._of_group.values()):
            _close(roles, containing)
        self._containing = containing
        self.issues = tuple(_cycles(containing))
        self._public = self._of_group.get("public", set())

    def has_members_of(self, other: RoleTable) -> bool:
        """Return True if every user and group has the same roles by both definitions."""
        return (self.names, self._of_user, self._of_group) == (other.names, other._of_user, other._of_group)

    def containing(self, role: str) -> frozenset[str]:
        """Return the roles that a member of a role has by it: that one, and those that contain it at any depth."""
        found = {role}
        _close(found, self._containing)
        return frozenset(found)

    def groups_of(self, roles: Collection[str]) -> frozenset[str]:
        """Return the groups that role definitions name as members of one of the roles."""
        wanted = set(roles)
        return frozenset(group for group, held in self._of_group.items() if not wanted.isdisjoint(held))

    def users_of(self, roles: Collection[str]) -> frozenset[str]:
        """Return the users that role definitions name as members of one of the roles."""
        wanted = set(roles)
        return frozenset(user for user, held in self._of_user.items() if not wanted.isdisjoint(held))

    def of(self, user: str | None, groups: Iterable[str]) -> frozenset[str]:
        """Return the roles of a user with these groups; all users have those of the group `public`."""
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


def _cycles(containing: dict[str, set[str]]) -> Iterator[PolicyIssue]:
    try:
        TopologicalSorter(containing).prepare()
    except CycleError as e:
        names = " in ".join(f"`{shown(name)}`" for name in e.args[1][:_MAX_NAMES])
        more = " …" if len(e.args[1]) > _MAX_NAMES else ""
        message = f"these roles contain each other, so they have the same members: {names}{more}"
        yield PolicyIssue(ProblemCode.ROLE_CYCLE, f"rangerRoles[{shown(e.args[1][0])}]", message)
