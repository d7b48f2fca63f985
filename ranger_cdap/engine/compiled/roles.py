"""Which roles somebody has (ranger-semantics.md §12.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

from ranger_cdap.engine.model import wire
from ranger_cdap.engine.model.problem import Doubt, ProblemCode, shown

_MOST_NAMES = 8


class RoleTable:
    """Role definitions, resolved: the members of a contained role belong to the containing one, at any depth.

    Roles that contain each other have the same members; `doubts` names some of them, if there are any.
    """

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
        self.doubts = tuple(_cycles(containing))
        self._public = self._of_group.get("public", set())

    def users_of(self, roles: Collection[str]) -> frozenset[str]:
        """The users whom role definitions name as members of one of the roles."""
        wanted = set(roles)
        return frozenset(user for user, held in self._of_user.items() if not wanted.isdisjoint(held))

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


def _cycles(containing: dict[str, set[str]]) -> Iterator[Doubt]:
    try:
        TopologicalSorter(containing).prepare()
    except CycleError as e:
        names = " in ".join(f"`{shown(name)}`" for name in e.args[1][:_MOST_NAMES])
        more = " …" if len(e.args[1]) > _MOST_NAMES else ""
        message = f"these roles contain each other, so they have the same members: {names}{more}"
        yield Doubt(ProblemCode.ROLE_CYCLE, f"rangerRoles[{shown(e.args[1][0])}]", message)
