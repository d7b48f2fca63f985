"""Steps of a dry run as commands print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spark_sync.cli.lives_text import as_json
from spark_sync.grants.plan import CreateGrant, NoOp, RevokePolicy, Step

HEAD = ["would", "entity", "user", "access", "policy"]


def rows(steps: Iterable[Step]) -> Iterator[list[str]]:
    """Yield one row per step, for a table: of a grant that changes, also whether its creator may delegate then."""
    for step in steps:
        action, accesses = _told(step)
        delegates = f"; {'may' if _delegates(step) else 'may not'} delegate" if action == "change" else ""
        access = f"{', '.join(accesses)}{delegates}"
        yield [action, str(step.life.entity), step.life.creator or "", access, _policy(step)]


def to_json(step: Step) -> dict[str, object]:
    """Return a step as JSON: the current life, and what would be done for it."""
    action, accesses = _told(step)
    planned = {"would": action, "accesses": list(accesses), "policy": _policy(step)}
    return {**as_json(step.life), **planned, "delegate": _delegates(step)}


def _told(step: Step) -> tuple[str, tuple[str, ...]]:
    """Return what would be done, and the access types."""
    match step:
        case CreateGrant():
            return "change" if step.life.policy_id >= 0 else "grant", step.grant.accesses
        case RevokePolicy():
            return "revoke", step.life.applied or step.life.accesses
        case NoOp():
            return f"not send: {step.done.reason}", ()


def _delegates(step: Step) -> bool:
    return isinstance(step, CreateGrant) and any(item.delegate_admin for item in step.policy.policy_items)


def _policy(step: Step) -> str:
    """Return the policy's id or, for a new one, its name."""
    if step.life.policy_id >= 0:
        return str(step.life.policy_id)
    return step.policy.name if isinstance(step, CreateGrant) else ""
