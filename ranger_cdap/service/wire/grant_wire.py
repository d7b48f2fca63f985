"""The bodies of `/cdap/v1/grant`, `revoke` and `grants`."""

from __future__ import annotations

from ranger_cdap.service.wire.cdap_wire import Names, Strict, WireEntity, WirePrincipal


class GrantRequest(Strict):
    """Somebody, in CDAP, gives or takes permissions; `caller` is missing where CDAP does not pass him on."""

    entity: WireEntity
    caller: WirePrincipal | None = None
    principal: WirePrincipal | None = None
    permissions: Names | None = None


class GrantReply(Strict):
    """Whether it is done, and why not; `changed` says that Ranger has been told something new."""

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
    """What a principal was given by name, and in force is."""

    done: bool
    reason: str
    grants: list[GrantedEntity]
