"""`Life`: the time from an entity's creation to its deletion, who created it, and whether Ranger has been told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ranger_cdap.cdap.entity import EntityId
from spark_sync.event import Position


class State(StrEnum):
    """How far a life's grant has come.

    `unconfirmed`: perhaps created; grants nothing. `known`: exists, and nobody is to get anything for it.
    `pending`: the creator is to get the grant. `applied`: he has it. `blocked`, `failed`: Ranger or we refuse it, see
    the reason. `closing`: the entity is gone, its grant is still to be taken back. `closed`: gone, nothing is owed.
    """

    UNCONFIRMED = "unconfirmed"
    KNOWN = "known"
    PENDING = "pending"
    APPLIED = "applied"
    BLOCKED = "blocked"
    FAILED = "failed"
    CLOSING = "closing"
    CLOSED = "closed"


# The states in which a run has something to send to Ranger.
OWED = (State.PENDING, State.FAILED, State.CLOSING)

# The state of a life whose entity is deleted: what may be in Ranger must be taken back, the rest owes nothing.
# A life that was `pending` or `failed` may have been sent by a run that was killed before it wrote that down.
WHEN_DELETED = {
    State.UNCONFIRMED: State.CLOSED,
    State.KNOWN: State.CLOSED,
    State.PENDING: State.CLOSING,
    State.APPLIED: State.CLOSING,
    State.BLOCKED: State.CLOSING,
    State.FAILED: State.CLOSING,
    State.CLOSING: State.CLOSING,
    State.CLOSED: State.CLOSED,
}


@dataclass(frozen=True, slots=True)
class Life:
    """One row of the ledger: the key is (entity, number); numbers begin at 1 and are never used again.

    `creator`: who the event says created it; `None` for what the baseline found. `begun`, `ended`: where in the order
    of events. `accesses`: what the creator is to get. `policy_id`, `policy_version`: the policy of ours, -1 for none.
    """

    entity: EntityId
    number: int
    creator: str | None
    begun: Position
    state: State
    ended: Position | None = None
    reason: str = ""
    accesses: tuple[str, ...] = ()
    policy_id: int = -1
    policy_version: int = -1

    @property
    def is_open(self) -> bool:
        """Whether the entity exists, as far as we know."""
        return self.ended is None
