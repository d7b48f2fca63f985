"""The bodies of `/cdap/v1/role/…` and `/cdap/v1/roles`."""

from __future__ import annotations

from enum import StrEnum

from ranger_cdap.wire.cdap_wire import Name, WirePrincipal
from ranger_cdap.wire.json_body import Strict


class RoleFailure(StrEnum):
    """The kind of a failure, by which CDAP chooses its status; none if it is done."""

    NONE = "none"
    REFUSED = "refused"
    EXISTS = "exists"
    NOT_FOUND = "not_found"


class RoleRequest(Strict, frozen=True):
    """A change of a role by a user of CDAP; `principal` is the member to add or remove."""

    role: Name
    caller: WirePrincipal | None = None
    principal: WirePrincipal | None = None


class RoleReply(Strict, frozen=True):
    """The result, and the reason of a failure; `changed`: a role in Ranger changed."""

    done: bool
    changed: bool
    failure: RoleFailure
    reason: str


class RolesRequest(Strict, frozen=True):
    """A request of a user of CDAP for the roles of a user or group; without `principal` for all."""

    caller: WirePrincipal
    principal: WirePrincipal | None = None


class RolesReply(Strict, frozen=True):
    """The names of roles."""

    done: bool
    reason: str
    roles: list[str]
