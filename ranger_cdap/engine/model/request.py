"""Access requests: user, resource, access type and context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

ANY_ACCESS = "_any"
"""Any access type, on the resource or below it (ranger-semantics.md §9.1)."""

ADMIN_ACCESS = "_admin"
"""Delegated administration: an item with `delegateAdmin` (§9.3)."""

SUPER_USER_ACCESS = "_super_user"
"""Allowed to super users only (§6.3)."""


_NONE: Mapping[str, Any] = MappingProxyType({})


class MatchingScope(StrEnum):
    """Scope of a match: the requested resource only, or also the resources below it."""

    SELF = "SELF"
    SELF_OR_DESCENDANTS = "SELF_OR_DESCENDANTS"


class ElementScope(StrEnum):
    """Matching scope of one level of the resource (ranger-semantics.md §4, `resourceElementMatchingScopes`)."""

    SELF = "SELF"
    SELF_OR_CHILD = "SELF_OR_CHILD"
    SELF_OR_PREFIX = "SELF_OR_PREFIX"


def first_scoped_level(path: Sequence[str], scopes: Mapping[str, ElementScope] | None) -> int | None:
    """Return the first level of a path that is not compared as a whole; None if all are."""
    if not scopes:
        return None
    levels = (n for n, name in enumerate(path) if scopes.get(name, ElementScope.SELF) is not ElementScope.SELF)
    return next(levels, None)


class RequestTag(msgspec.Struct, frozen=True, kw_only=True):
    """Tag of the resource, given by the caller, as in Ranger's request context `TAGS`."""

    type: str
    attributes: Mapping[str, str] = {}
    match_type: str = "SELF"


class AccessRequest(msgspec.Struct, frozen=True, gc=False):
    """Access request.

    `resource` maps resource names to a value, or to several of which one must match. With `roles=None` the role
    definitions determine the user's roles; a set, even an empty one, is taken as given. `access_time` is in epoch
    milliseconds, 0 if unknown: then no condition on time allows anything. `all_access_types` requests several access
    types of which one suffices, `all_access_type_groups` one of each group. `context` holds the values for context
    conditions, and macros as `token:NAME`. `tags` are those of the resource where the tag service has
    no tag enricher; beside one they have no effect, in mode `safe` they can only deny. `groups_known` is false if
    the group lookup failed: then a deny item or allow exception that names a group or role is treated as naming the
    user (architecture.md, decision 14). `refused` is the reason why the request is denied as it is; empty without one.
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
    refused: str = ""
