"""The bodies of `/cdap/v1`, exchanged by the extension of the CDAP master and the service."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ranger_cdap.wire.event_wire import Hex, Milliseconds
from ranger_cdap.wire.json_body import Strict

Name = Annotated[str, msgspec.Meta(max_length=1_000)]
Names = Annotated[list[Name], msgspec.Meta(max_length=100)]


class WirePrincipal(Strict, frozen=True, gc=False):
    """A principal of CDAP; only the type `USER` may do anything."""

    name: Name
    type: Name = "USER"
    kerberos: Name | None = None


class WireEntity(Strict, frozen=True, gc=False):
    """An entity: CDAP's type and idParts, versions as CDAP sends them."""

    type: Name
    parts: Names


class WireStamp(Strict, frozen=True, gc=False):
    """The identity of a check: an id, the calling process, and its clock just before."""

    id: Hex
    process: Hex
    at: Milliseconds


class EnforceRequest(Strict, frozen=True, gc=False):
    """A call of CDAP's authorizer; with `child_type` about children of that type in the entity."""

    principal: WirePrincipal
    entity: WireEntity
    permissions: Names
    child_type: Name | None = None
    hint: Annotated[str, msgspec.Meta(max_length=4_000)] | None = None
    from_container: bool = False
    client_ip: Name | None = None
    check: WireStamp | None = None


class EnforceReply(Strict, frozen=True, gc=False):
    """The decision on a check; `reason` is for the user.

    The answer may be cached while `generation` stays the same, if it is `cacheable`, and then for seconds only.
    """

    allowed: bool
    enforced: bool
    reason: str
    missing: list[str]
    cacheable: bool
    generation: str


class VisibleRequest(Strict, frozen=True):
    """Entities to test for visibility."""

    principal: WirePrincipal
    entities: list[WireEntity]


class VisibleReply(Strict, frozen=True):
    """The visibility of each entity, in the order of the request."""

    visible: list[bool]
    cacheable: bool
    generation: str


class HelloReply(Strict, frozen=True):
    """This service and its settings for decisions."""

    version: str
    instance: str
    profile: str
    enforcement: str
    state: str
    grants: str
    differences: list[str]
    generation: str


class RefreshRequest(Strict, frozen=True):
    """A request for newer policies, if those in effect are older than `at_least`; null: whatever they are."""

    at_least: Annotated[int, msgspec.Meta(ge=1, le=10**18)] | None


class PoliciesReply(Strict, frozen=True):
    """The policies in effect: Ranger's service, its `policyVersion` (-1: none), and how fresh they are."""

    service: str
    version: int
    state: str
