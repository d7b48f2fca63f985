"""The bodies of `/cdap/v1/operation`: a whole operation of CDAP, and the answer with the privileges that decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.wire.cdap_wire import Name, Names
from ranger_cdap.wire.json_body import Strict
from ranger_cdap.wire.pdp_wire import PolicyInfo


class OperationEntity(Strict, frozen=True):
    """An entity by its type in the service definition and its parts below the instance; a part may have a `*`."""

    type: Name
    parts: Names


RelatedEntities = Mapping[Name, Annotated[list[OperationEntity], msgspec.Meta(max_length=1_000)]]
"""Entities that an operation involves, by their role in it."""


class OperationRequest(Strict, frozen=True, kw_only=True, omit_defaults=True):
    """May the user, with these groups, perform the operation on the entity?

    `names`: also say which names of the question are not known.
    """

    user: Name
    operation: Name
    entity: OperationEntity
    groups: Annotated[tuple[Name, ...], msgspec.Meta(max_length=100)] = ()
    related: RelatedEntities = msgspec.field(default_factory=dict)
    impersonated: Name | None = None
    client_ip: Name | None = None
    names: bool = False


class NeededPrivilege(Strict, frozen=True):
    """A privilege that is missing: one of these actions on the entity."""

    user: str
    capacity: str
    actions: list[str]
    entity: OperationEntity


class DecidingPrivilege(NeededPrivilege, frozen=True):
    """A privilege that decided; `action` is the one of its actions that did, `policy` that of the decision.

    `zone` is the security zone of the policy, empty outside zones.
    """

    action: str
    held: bool
    policy: PolicyInfo
    reason: str
    zone: str = ""


class OperationReply(Strict, frozen=True, kw_only=True):
    """The answer, with the question; `enforced` is false if a denial is only reported.

    `asked` is the operation in the request, `operation` the profile's row for it. `pending` says if a grant of the sync
    job is still to come. `unknown`: names that nothing names, with the nearest; null if they were not looked up.
    """

    user: str
    asked: str
    operation: str
    entity: OperationEntity
    allowed: bool
    enforced: bool
    reason: str
    requirements: list[str]
    missing: list[NeededPrivilege]
    decided_by: list[DecidingPrivilege]
    pending: str = ""
    unknown: list[UnknownName] | None = None
