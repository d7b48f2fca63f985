"""How commands show lives."""

from __future__ import annotations

from collections.abc import Iterable

from spark_sync.life import Life


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
