"""How a dry run is shown: what would be sent to Ranger."""

from __future__ import annotations

from collections.abc import Iterable

from spark_sync.cli.lives import as_json
from spark_sync.grants.plan import CreateGrant, Merge, NoOp, RevokeMerged, RevokePolicy, Step

HEAD = ["would", "entity", "user", "access", "policy"]


def rows(steps: Iterable[Step]) -> list[list[str]]:
    """A row a step, for a table."""
    return [
        [_doing(step), str(step.life.entity), step.life.creator or "", ", ".join(_accesses(step)), _policy(step)]
        for step in steps
    ]


def to_json(step: Step) -> dict[str, object]:
    """A step for programs: the life as it is now, and what would be done for it."""
    return {**as_json(step.life), "would": _doing(step), "accesses": list(_accesses(step)), "policy": _policy(step)}


def _doing(step: Step) -> str:
    match step:
        case CreateGrant():
            return "change" if step.life.policy_id >= 0 else "grant"
        case Merge():
            return "grant in another's policy"
        case RevokePolicy():
            return "revoke"
        case RevokeMerged():
            return "revoke from another's policy"
        case NoOp():
            return f"not send: {step.done.reason}"


def _accesses(step: Step) -> tuple[str, ...]:
    match step:
        case CreateGrant() | Merge() | RevokeMerged():
            return step.grant.accesses
        case RevokePolicy():
            return step.life.applied or step.life.accesses
        case NoOp():
            return ()


def _policy(step: Step) -> str:
    """The policy's id where the ledger has one; a new one is shown by its name."""
    if step.life.policy_id >= 0:
        return str(step.life.policy_id)
    return step.policy.name if isinstance(step, CreateGrant) else ""
