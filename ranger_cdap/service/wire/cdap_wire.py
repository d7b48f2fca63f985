"""The bodies of `/cdap/v1`, as the extension of the CDAP master and the service write them."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ranger_cdap.service.wire.event_wire import Hex, Milliseconds

Name = Annotated[str, msgspec.Meta(max_length=1_000)]
Names = Annotated[list[Name], msgspec.Meta(max_length=100)]


class Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A body in which every field is known: what a caller may not bring is refused, not ignored."""


class WirePrincipal(Strict):
    """Somebody CDAP speaks of; only the type `USER` may do anything."""

    name: Name
    type: Name = "USER"
    kerberos: Name | None = None


class WireEntity(Strict):
    """An entity: CDAP's type and idParts, versions as CDAP gives them."""

    type: Name
    parts: Names


class WireStamp(Strict):
    """The identity of a check: an id, the process that asks, and its clock just before."""

    id: Hex
    process: Hex
    at: Milliseconds


class EnforceRequest(Strict):
    """A call of CDAP's authorizer; with `child_type` about children of that type in the entity."""

    principal: WirePrincipal
    entity: WireEntity
    permissions: Names
    child_type: Name | None = None
    hint: Annotated[str, msgspec.Meta(max_length=4_000)] | None = None
    from_container: bool = False
    client_ip: Name | None = None
    check: WireStamp | None = None


class EnforceReply(Strict):
    """Whether CDAP may go on; `reason` is for the person who asked.

    The answer may be kept while `generation` stays as it is, if it is `cacheable`, and then for seconds only.
    """

    allowed: bool
    enforced: bool
    reason: str
    missing: list[str]
    cacheable: bool
    generation: str


class VisibleRequest(Strict):
    """Which of these somebody sees."""

    principal: WirePrincipal
    entities: list[WireEntity]


class VisibleReply(Strict):
    """For each entity asked about, in that order, whether it is seen."""

    visible: list[bool]
    cacheable: bool
    generation: str


class HelloReply(Strict):
    """This service and its settings for decisions."""

    version: str
    instance: str
    profile: str
    enforcement: str
    state: str
    grants: str
    differences: list[str]
    generation: str
