"""The engine's answer."""

from __future__ import annotations

import msgspec

NO_POLICY = -1
"""The id, and the version, of no policy."""

DENY_ALL_ELSE = "matched deny-all-else policy"
"""The reason of a denial by a policy that denies everybody it does not allow; Ranger's words."""


class TraceEntry(msgspec.Struct, frozen=True):
    """One line of a trace: a policy that was looked at, and why it did or did not apply."""

    policy_id: int
    policy_name: str
    outcome: str
    reason: str


class Decision(msgspec.Struct, frozen=True, gc=False):
    """What the engine says to one request; only `allowed` lets anybody in.

    `determined` is false where there was nothing to decide by. `policy_id` is the policy that decided, -1 for none;
    `audit_policy_id` the one that asks for the audit record. `zone` is the security zone whose policies decided.
    `conditional` says that a condition or a validity was looked at: asked at another time, or from elsewhere, the same
    policies may say something else.
    `trace` is filled by `PolicyEngine.explain` only.
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
