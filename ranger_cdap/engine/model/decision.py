"""Decisions of the engine."""

from __future__ import annotations

import msgspec

NO_POLICY = -1
"""Id and version where there is no policy."""

DENY_ALL_ELSE = "matched deny-all-else policy"
"""Reason of a denial by a deny-all-else policy; Ranger's own text."""


class TraceEntry(msgspec.Struct, frozen=True):
    """Trace entry: a policy, and why it did or did not apply."""

    policy_id: int
    policy_name: str
    outcome: str
    reason: str


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Decision on one request; access is granted only if `allowed` is true.

    `determined` is false if no policy applies. `policy_id` is the policy that decided, -1 for none; `audit_policy_id`
    the one that requires an audit record. `zone` is the security zone whose policies decided, `policy_zone` that of the
    policy itself: a policy about tags may have none. `conditional` is true if a condition or a validity schedule was
    evaluated: the decision may differ at another time or from another address. `trace` is filled by
    `PolicyEngine.explain` only.
    """

    allowed: bool
    determined: bool
    policy_id: int = NO_POLICY
    policy_version: int = NO_POLICY
    policy_priority: int = 0
    audited: bool = False
    audit_policy_id: int = NO_POLICY
    reason: str = ""
    zone: str | None = None
    conditional: bool = False
    trace: tuple[TraceEntry, ...] = ()
    policy_zone: str | None = None
