"""The question put to the engine: who wants what, on which resource, when and from where."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

ANY_ACCESS = "_any"
"""Any access at all, here or below (ranger-semantics.md §9.1)."""

ADMIN_ACCESS = "_admin"
"""The right to grant: an item with `delegateAdmin` (§9.3)."""

SUPER_USER_ACCESS = "_super_user"
"""Asks whether the user is a super user (§6.3)."""


_NONE: Mapping[str, Any] = MappingProxyType({})


class MatchingScope(StrEnum):
    """Whether policies below the requested resource count as well."""

    SELF = "SELF"
    SELF_OR_DESCENDANTS = "SELF_OR_DESCENDANTS"


class ElementScope(StrEnum):
    """How one level of the resource may match (4, `resourceElementMatchingScopes`)."""

    SELF = "SELF"
    SELF_OR_CHILD = "SELF_OR_CHILD"
    SELF_OR_PREFIX = "SELF_OR_PREFIX"


class RequestTag(msgspec.Struct, frozen=True, kw_only=True):
    """A tag the caller says the resource carries, as in Ranger's request context `TAGS`."""

    type: str
    attributes: Mapping[str, str] = {}
    match_type: str = "SELF"


class AccessRequest(msgspec.Struct, frozen=True, gc=False):
    """One question.

    `resource` maps resource names to a value, or to several of which one must match. `roles=None` means that the
    role definitions say which roles the user has; a set, also an empty one, is taken as it is. `access_time` is epoch
    milliseconds, 0 where it is not known: then nothing that depends on time allows anything. `all_access_types` asks
    several access types at once (one allowed suffices), `all_access_type_groups` one of each group. `context` holds
    what context conditions look at, and macros as `token:NAME`. `tags` are added to those of the tag download.
    `groups_known` is false where a look-up of groups failed: then a deny item or allow exception that names a group or
    role counts as naming the user (architecture.md, decision 14).
    """

    resource: Mapping[str, str | tuple[str, ...]]
    access_type: str
    user: str | None = None
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] | None = None
    owner: str | None = None
    access_time: int = 0
    matching_scope: MatchingScope = MatchingScope.SELF
    client_ip: str | None = None
    remote_ip: str | None = None
    forwarded: tuple[str, ...] = ()
    action: str | None = None
    cluster_name: str | None = None
    cluster_type: str | None = None
    element_scopes: Mapping[str, ElementScope] = _NONE
    ignore_descendant_deny: bool = True
    all_access_types: tuple[str, ...] = ()
    all_access_type_groups: tuple[frozenset[str], ...] = ()
    context: Mapping[str, str] = _NONE
    tags: tuple[RequestTag, ...] = ()
    groups_known: bool = True
