"""`RoleBook`: Ranger's roles with their members and descriptions, as the plugin downloads them. Pure.

Law: a role counts as made in CDAP only if its description begins with the mark of this Ranger service.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self

import msgspec

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger.client.ranger_roles import RoleRecord
from ranger_cdap.ranger_model.json_repair import without_any_null
from ranger_cdap.ranger_model.json_text import UNREADABLE, convert, decode


class _DescribedRoles(msgspec.Struct, rename="camel"):
    """The part of a role download that is read here."""

    ranger_roles: list[RoleRecord] = []


def description_of_made(service: str) -> str:
    """Return the description of a role made in CDAP; who writes it into another role lets CDAP change that role."""
    return f"{_mark(service)} CDAP's commands change its members; use it in this service only."


def is_made(role: RoleRecord, service: str) -> bool:
    """Return true if the role was made in a CDAP of that Ranger service, so that it may be changed from there."""
    return role.description.startswith(_mark(service))


def _mark(service: str) -> str:
    return f"Managed from CDAP, Ranger service `{service}`."


@dataclass(frozen=True, slots=True)
class RoleBook:
    """Roles by name."""

    roles: Mapping[str, RoleRecord]

    @classmethod
    def of(cls, download: bytes) -> Self:
        """Read a download.

        Raises:
            PolicySetError: it is unreadable.
        """
        try:
            read = convert(without_any_null(decode(download)), _DescribedRoles)
        except UNREADABLE:
            raise PolicySetError("the downloaded roles cannot be read: not Ranger's form of roles") from None
        return cls({role.name: role for role in read.ranger_roles})

    def of_user(self, user: str, groups: Collection[str]) -> frozenset[str]:
        """Return the roles a user has, by name, by a group, or because a role they have is a member of it."""
        direct = {
            role.name
            for role in self.roles.values()
            if user in _names(role, "users") or not _names(role, "groups").isdisjoint(groups)
        }
        return self._with_containing(direct)

    def of_group(self, group: str) -> frozenset[str]:
        """Return the roles the members of a group have because of it."""
        return self._with_containing({role.name for role in self.roles.values() if group in _names(role, "groups")})

    def containing(self, name: str) -> tuple[str, ...]:
        """Return the roles that a role is a member of, in order."""
        return tuple(sorted(role.name for role in self.roles.values() if name in _names(role, "roles")))

    def _with_containing(self, names: Collection[str]) -> frozenset[str]:
        found, new = set(names), set(names)
        while new:
            new = {outer for name in new for outer in self.containing(name)} - found
            found |= new
        return frozenset(found)


def _names(role: RoleRecord, kind: str) -> frozenset[str]:
    return frozenset(member.name for member in getattr(role, kind))
