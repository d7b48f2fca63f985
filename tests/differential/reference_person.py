"""Who asks: the roles he has, the macros that stand for him, and whether an item names him.

Part of the reference engine; numbers in brackets are sections of `ranger-semantics.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]


class Person:
    """Who asks, with the roles he has [§7.1, §12.1] and the macros that stand for him [§5.2]."""

    def __init__(self, request: Json, roles: Json) -> None:
        self.user, self.owner = request.get("user"), request.get("resourceOwner")
        self.groups = {"public", *(request.get("groups") or ())}
        self.roles = set(request.get("roles") or self.roles_of(roles.get("rangerRoles") or ()))
        known = {k[6:]: v for k, v in (request.get("context") or {}).items() if k.startswith("token:")}
        known |= {"USER": self.user} | ({"OWNER": self.owner} if self.owner else {})
        self.tokens = {name: value for name, value in known.items() if value is not None}

    def roles_of(self, roles: Sequence[Json]) -> set[str]:
        found: set[str] = set()
        while more := {role["name"] for role in roles if self.is_member(role, found)} - found:
            found |= more  # until nothing is added: nested roles, also in circles
        return found

    def is_member(self, role: Json, known: set[str]) -> bool:
        users, groups, roles = ({m["name"] for m in role.get(kind) or ()} for kind in ("users", "groups", "roles"))
        return self.user in users or bool(groups & self.groups) or bool(roles & known)

    def is_named_in(self, item: Json) -> bool:
        users, groups, roles = (set(item.get(kind) or ()) for kind in ("users", "groups", "roles"))
        if groups & self.groups or roles & self.roles:
            return True
        return self.user is not None and bool(users & {self.user, "{USER}", *self.owners_macro()})

    def owners_macro(self) -> set[str]:
        return {"{OWNER}"} if self.user == self.owner else set()
