"""Steps of a dry run as commands print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spark_sync.cli.lives_text import as_json
from spark_sync.grants.plan import CreateGrant, NoOp, RevokePolicy, Step

HEAD = ["would", "entity", "user", "access", "policy"]


def rows(steps: Iterable[Step]) -> Iterator[list[str]]:
    """Yield one row per step, for a table."""
    return (
        [_action(step), str(step.life.entity), step.life.creator or "", _access_text(step), _policy(step)]
        for step in steps
    )


def to_json(step: Step) -> dict[str, object]:
    """Return a step as JSON: the current life, and what would be done for it."""
    planned = {"would": _action(step), "accesses": list(_accesses(step)), "policy": _policy(step)}
    return {**as_json(step.life), **planned, "delegate": _delegates(step)}


def _action(step: Step) -> str:
    match step:
        case CreateGrant():
            return "change" if step.life.policy_id >= 0 else "grant"
        case RevokePolicy():
            return "revoke"
        case NoOp():
            return f"not send: {step.done.reason}"


def _accesses(step: Step) -> tuple[str, ...]:
    match step:
        case CreateGrant():
            return step.grant.accesses
        case RevokePolicy():
            return step.life.applied or step.life.accesses
        case NoOp():
            return ()


def _access_text(step: Step) -> str:
    """Return the access types and, of a grant that changes, whether its creator may delegate them from then on."""
    accesses = ", ".join(_accesses(step))
    if _action(step) != "change":
        return accesses
    return f"{accesses}; {'may' if _delegates(step) else 'may not'} delegate"


def _delegates(step: Step) -> bool:
    return isinstance(step, CreateGrant) and any(item.delegate_admin for item in step.policy.policy_items)


def _policy(step: Step) -> str:
    """Return the policy's id or, for a new one, its name."""
    if step.life.policy_id >= 0:
        return str(step.life.policy_id)
    return step.policy.name if isinstance(step, CreateGrant) else ""
