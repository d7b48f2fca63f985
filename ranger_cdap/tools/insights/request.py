"""The request behind an audit event, to be decided again; or the reason for which it cannot be. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ranger_cdap.engine import (
    ADMIN_ACCESS,
    ANY_ACCESS,
    SUPER_USER_ACCESS,
    AccessRequest,
    PolicyEngine,
)
from ranger_cdap.engine.view import DENY_ALL_ELSE
from ranger_cdap.ranger_model.audit_event import POLICIES_DECIDED, AuditEvent

OUTSIDE: Final = "not decided by policies (`enforcer`)"
NO_TYPE: Final = "the resource type is not in the service definition"
NO_ACCESS: Final = "the access type is not in the service definition"
FEWER_LEVELS: Final = "the resource has fewer levels than its type"
A_PATTERN: Final = "the resource is a pattern of several entities"
OTHER_PRIVILEGE: Final = "denied for another privilege of the same operation"
OTHER_REASON: Final = "denied for a reason outside of the policies"

_OURS: Final = "cdap"
_ALWAYS: Final = frozenset({ANY_ACCESS, ADMIN_ACCESS, SUPER_USER_ACCESS})
_ANY: Final = frozenset({"any", "visible"})
"""Access types of CDAP's operations that stand for Ranger's `_any`, which includes what is below."""


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builder of requests for one service definition.

    A resource is split at the slashes that its type has levels for; the last level keeps the others, as in principals.
    """

    paths: Mapping[str, tuple[str, ...]]
    access_types: frozenset[str]

    @classmethod
    def of(cls, engine: PolicyEngine) -> RequestBuilder:
        """Return the builder for the service definition of an engine."""
        model = engine.view.model
        return cls(model.paths, model.known_access_types | _ALWAYS)

    def levels(self, kind: str, resource: str) -> tuple[tuple[str, ...], tuple[str, ...]] | str:
        """Return the names of the levels of a resource and their values; or the reason for which it has none."""
        path = self.paths.get(kind)
        if path is None:
            return NO_TYPE
        values = tuple(resource.split("/", len(path) - 1))
        return (path, values) if len(values) == len(path) else FEWER_LEVELS

    def request(self, event: AuditEvent, groups: frozenset[str]) -> AccessRequest | str:
        """Return the request of an event by a user in these groups, or the reason for which there is none."""
        if event.enforcer not in POLICIES_DECIDED:
            return OUTSIDE
        levels = self.levels(event.type, event.resource)
        if isinstance(levels, str):
            return levels
        path, values = levels
        is_known = event.access in self.access_types
        if not is_known and event.access not in _ANY:
            return NO_ACCESS
        if event.agent == _OURS and (why := _not_ours(event, values)):
            return why
        return AccessRequest(
            dict(zip(path, values, strict=True)),
            event.access if is_known else ANY_ACCESS,
            event.user or None,
            groups,
            access_time=event.time,
            client_ip=event.client_ip or None,
            # Ranger's plugins record the action of the request; ours decide without one.
            action=event.operation if event.agent != _OURS and event.operation else None,
        )


def _not_ours(event: AuditEvent, values: tuple[str, ...]) -> str:
    """Return the reason for which a record of this project is not the decision on its own request; empty if it is.

    An operation of CDAP may need several privileges; each has a record with the result of all of them.
    """
    if "*" in event.resource or "?" in event.resource:
        return A_PATTERN
    if event.allowed or event.reason in ("", DENY_ALL_ELSE):
        return ""
    if " needs " not in event.reason:
        return OTHER_REASON
    ending = f" on {event.type}:{'.'.join(values[1:])}"
    missing = event.reason.split("; ")
    is_own = any(
        one.startswith((f"{event.user} needs ", f"{event.user} (")) and one.removesuffix(" or in it").endswith(ending)
        for one in missing
    )
    return "" if is_own else OTHER_PRIVILEGE
