"""The bodies of `/cdap/v1/grant`, `revoke` and `grants`."""

from __future__ import annotations

from ranger_cdap.wire.cdap_wire import Names, WireEntity, WirePrincipal
from ranger_cdap.wire.json_body import Strict


class GrantRequest(Strict, frozen=True):
    """A grant or revocation by a user of CDAP; `caller` is missing if CDAP does not pass one on."""

    entity: WireEntity
    caller: WirePrincipal | None = None
    principal: WirePrincipal | None = None
    permissions: Names | None = None


class GrantReply(Strict, frozen=True):
    """The result, and the reason of a failure; `changed`: a policy in Ranger changed."""

    done: bool
    changed: bool
    reason: str


class GrantsRequest(Strict, frozen=True):
    """A request of a user of CDAP for a principal's grants."""

    principal: WirePrincipal
    caller: WirePrincipal | None = None


class GrantedEntity(Strict, frozen=True):
    """Permissions on one entity."""

    entity: WireEntity
    permissions: list[str]


class GrantsReply(Strict, frozen=True):
    """The effective grants of a principal, by name."""

    done: bool
    reason: str
    grants: list[GrantedEntity]
