"""Roles in Ranger Admin, read for a plan."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.tools.roles.role_plan import FoundRoles, roles_with_rights


def read_roles(admin: RangerAdmin, service: str, names: Iterable[str], *, with_rights: bool = False) -> FoundRoles:
    """Read the roles of these names, and the policies of a service; `with_rights` the roles that were given any there.

    Raises:
        InvalidInput: Ranger Admin cannot look up one of the names.
        RangerAdminError: a request to Ranger Admin failed.
    """
    policies = admin.policy_documents(service)
    found = {name: admin.roles.find(service, name) for name in dict.fromkeys(names)}
    for name in roles_with_rights(policies) if with_rights else ():
        with suppress(InvalidInput):  # a name that was given to no role from here
            found[name] = found.get(name) or admin.roles.find(service, name)
    return FoundRoles({name: role for name, role in found.items() if role}, policies, admin.security_zones(service))
