"""The bodies of `/cdap/v1/grant`, `revoke` and `grants`."""

from __future__ import annotations

from ranger_cdap.service.wire.cdap_wire import Names, Strict, WireEntity, WirePrincipal


class GrantRequest(Strict):
    """A user of CDAP grants or revokes permissions; `caller` is missing where CDAP does not pass one on."""

    entity: WireEntity
    caller: WirePrincipal | None = None
    principal: WirePrincipal | None = None
    permissions: Names | None = None


class GrantReply(Strict):
    """Whether it is done, and why not; `changed` says that a policy in Ranger changed."""

    done: bool
    changed: bool
    reason: str


class GrantsRequest(Strict):
    """Somebody, in CDAP, asks what a principal was given."""

    principal: WirePrincipal
    caller: WirePrincipal | None = None


class GrantedEntity(Strict):
    """Permissions on one entity."""

    entity: WireEntity
    permissions: list[str]


class GrantsReply(Strict):
    """The effective grants of a principal, by name."""

    done: bool
    reason: str
    grants: list[GrantedEntity]
