"""How commands show lives."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.cli.invocation import Invocation
from spark_sync.life import Life, State


def rows(lives: Iterable[Life]) -> list[list[str]]:
    """State, entity, creator and reason, for a table."""
    return [[life.state.value, str(life.entity), life.creator or "", life.reason] for life in lives]


def as_json(life: Life) -> dict[str, object]:
    """A life for programs; the entity as type and parts too, because its text is for people."""
    return {
        "entity": str(life.entity),
        "type": life.entity.type,
        "parts": list(life.entity.parts),
        "life": life.number,
        "state": life.state.value,
        "creator": life.creator,
        "accesses": list(life.accesses),
        "policy_id": life.policy_id if life.policy_id >= 0 else None,
        "reason": life.reason,
    }


def say_changes(invocation: Invocation, lives: Iterable[Life]) -> None:
    """What a person's word made of lives, and what the next run will do for it."""
    owed = False
    for life in lives:
        owed = owed or life.state is not State.KNOWN
        match life.state:
            case State.CLOSING:
                invocation.console.print(f"{life.entity}: the grant of `{life.creator}` is to be taken back")
            case State.PENDING:
                invocation.console.print(f"{life.entity}: `{life.creator}` is its creator; his grant is pending")
            case _:
                invocation.console.print(f"{life.entity}: it has no creator")
    if owed:
        invocation.console.print("the next `ranger-cdap sync run` sends it")
