"""Roles, and their download."""

from __future__ import annotations

from ranger_cdap.ranger_model.document import Document, Version


class RoleMember(Document, omit_defaults=False):
    """A user, group or role in a role."""

    name: str
    is_admin: bool = False


class Role(Document):
    """A role and its members; a member role's members are members of this one."""

    name: str
    id: int | None = None
    users: list[RoleMember] = []
    groups: list[RoleMember] = []
    roles: list[RoleMember] = []


class RangerRoles(Document):
    """The download of roles."""

    service_name: str = ""
    role_version: Version = -1
    ranger_roles: list[Role] = []
