"""Cached principal sets by user: user, groups, roles; groups are compared, so a change of them is seen at once."""

from __future__ import annotations

from ranger_cdap.engine.compiled.items import principals
from ranger_cdap.engine.compiled.roles import RoleTable
from ranger_cdap.engine.model.request import AccessRequest

_MOST_REMEMBERED = 10_000


class PrincipalSets:
    """Cached principal sets of one engine, for its role definitions; bounded, however many users are asked about.

    `remembered`: by user, their groups and the set; for requests that name neither roles nor an owner.
    """

    __slots__ = ("_roles", "remembered")

    def __init__(self, roles: RoleTable) -> None:
        self._roles = roles
        self.remembered: dict[str | None, tuple[frozenset[str], frozenset[str]]] = {}

    def of(self, request: AccessRequest) -> frozenset[str]:
        """The set of whoever asks."""
        user, groups = request.user, request.groups
        if user is None or request.roles is not None or request.owner is not None:
            roles = self._roles.of(user, groups) if request.roles is None else request.roles
            return principals(user, groups, roles, request.owner)
        known = self.remembered.get(user)
        if known is not None and known[0] == groups:
            return known[1]
        who = principals(user, groups, self._roles.of(user, groups), None)
        if len(self.remembered) >= _MOST_REMEMBERED:
            self.remembered.clear()
        self.remembered[user] = (groups, who)
        return who
