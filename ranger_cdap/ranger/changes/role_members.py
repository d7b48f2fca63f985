"""Members of a role, and the record of those that were added: what becomes of each when others are wanted. Pure.

Ranger does not keep who added a member, and a change of the role itself would replace all its members. So a label of a
policy records it, `cdap-member:sales_readers:group:sales-devs`. What was not recorded is of others, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Self

from ranger_cdap.ranger_model.role import Role

LONGEST_LABEL: Final = 512
"""Characters of a label that Ranger's database keeps."""

_MEMBER_LABEL: Final = "cdap-member"


@dataclass(frozen=True, slots=True)
class RoleMembers:
    """Users, groups and roles in a role."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    @classmethod
    def of(cls, role: Role) -> Self:
        """Return the members of a role of Ranger."""
        users, groups, roles = (tuple(one.name for one in some) for some in (role.users, role.groups, role.roles))
        return cls(users, groups, roles)

    def __bool__(self) -> bool:
        return bool(self.users or self.groups or self.roles)

    def __sub__(self, other: RoleMembers) -> RoleMembers:
        return RoleMembers(
            tuple(one for one in dict.fromkeys(self.users) if one not in other.users),
            tuple(one for one in dict.fromkeys(self.groups) if one not in other.groups),
            tuple(one for one in dict.fromkeys(self.roles) if one not in other.roles),
        )

    def __and__(self, other: RoleMembers) -> RoleMembers:
        return self - (self - other)

    def __or__(self, other: RoleMembers) -> RoleMembers:
        more = other - self
        return RoleMembers(self.users + more.users, self.groups + more.groups, self.roles + more.roles)

    def only(self, condition: Callable[[str, str], bool]) -> RoleMembers:
        """Return the members of whose kind and name this is true."""
        kinds = (("user", self.users), ("group", self.groups), ("role", self.roles))
        return RoleMembers(*(tuple(name for name in names if condition(kind, name)) for kind, names in kinds))

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield kind and name of each member."""
        yield from (
            (kind, name)
            for kind, names in (("user", self.users), ("group", self.groups), ("role", self.roles))
            for name in names
        )

    def __str__(self) -> str:
        return ", ".join(f"{kind} `{name}`" for kind, name in self.named())


NO_MEMBERS: Final = RoleMembers()


def member_label(role: str, kind: str, name: str) -> str:
    """Return the label of a policy that records a member that was added to a role."""
    role, name = (one.replace("%", "%25").replace(":", "%3A") for one in (role, name))
    return f"{_MEMBER_LABEL}:{role}:{kind}:{name}"


def relabelled(labels: Iterable[str], role: str, added: RoleMembers, *, also_new: bool) -> list[str]:
    """Return the labels with the record of exactly these members of a role; without `also_new` none is written."""
    wanted = {member_label(role, kind, name) for kind, name in added.named()}
    others = member_label(role, "", "")[:-1]
    kept = [one for one in labels if one in wanted or not one.startswith(others)]
    return [*kept, *sorted(wanted.difference(kept))] if also_new else kept


@dataclass(frozen=True, slots=True)
class MemberChanges:
    """Members to add, to remove, added here once the plan is carried out, and of others."""

    missing: RoleMembers
    leaving: RoleMembers
    added: RoleMembers
    others: RoleMembers


def membership(role: str, has: RoleMembers, wanted: RoleMembers, labels: Container[str]) -> MemberChanges:
    """Return what becomes of the members that a role has and is to have, by the labels of all policies."""
    missing = wanted - has
    added = has.only(lambda kind, name: member_label(role, kind, name) in labels)
    return MemberChanges(missing, added - wanted, (added & wanted) | missing, has - wanted - added)
