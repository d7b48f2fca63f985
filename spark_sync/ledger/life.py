"""`Life`: the time from an entity's creation to its deletion, its creator, and whether its grant is in Ranger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import SyncError
from spark_sync.ledger.event import Position


class State(StrEnum):
    """How far a life's grant has come.

    `unconfirmed`: perhaps created; grants nothing. `contested`: created by one of several users, or nobody can tell if
    it was created before it was deleted; grants nothing. `known`: exists, and no one is to get anything for it.
    `pending`: the creator is to get the grant. `applied`: they have it. `suspended`: the grant is revoked until it is
    known whether the entity still exists. `blocked`, `failed`: Ranger or we refuse it, see the reason. `closing`: the
    entity is gone, its grant is still to be revoked. `closed`: gone, nothing is pending.
    """

    UNCONFIRMED = "unconfirmed"
    CONTESTED = "contested"
    KNOWN = "known"
    PENDING = "pending"
    APPLIED = "applied"
    SUSPENDED = "suspended"
    BLOCKED = "blocked"
    FAILED = "failed"
    CLOSING = "closing"
    CLOSED = "closed"


# The states in which a run may have something to send to Ranger.
PENDING_STATES = (State.PENDING, State.FAILED, State.CLOSING)
DOUBTED_STATES = (State.CONTESTED, State.SUSPENDED)
OWED = (*PENDING_STATES, *DOUBTED_STATES)

# The state of a life whose entity is deleted: what may be in Ranger must be revoked, nothing else is pending.
# A life that was `pending` or `failed` may have been sent by a run that was killed before it wrote that down.
WHEN_DELETED = {
    State.UNCONFIRMED: State.CLOSED,
    State.CONTESTED: State.CLOSED,
    State.KNOWN: State.CLOSED,
    State.PENDING: State.CLOSING,
    State.APPLIED: State.CLOSING,
    State.SUSPENDED: State.CLOSED,
    State.BLOCKED: State.CLOSING,
    State.FAILED: State.CLOSING,
    State.CLOSING: State.CLOSING,
    State.CLOSED: State.CLOSED,
}


# What a life may become. Only the fold begins and ends lives, and doubts open ones; the push and a person move
# those that are open.
TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.UNCONFIRMED: frozenset({State.PENDING, State.KNOWN, State.CONTESTED, State.CLOSED}),
    State.CONTESTED: frozenset({State.CONTESTED, State.PENDING, State.KNOWN, State.CLOSING, State.CLOSED}),
    State.KNOWN: frozenset({State.PENDING, State.CLOSED, *DOUBTED_STATES}),
    State.PENDING: frozenset(
        {State.PENDING, State.APPLIED, State.BLOCKED, State.FAILED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.APPLIED: frozenset(
        {State.APPLIED, State.PENDING, State.BLOCKED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.SUSPENDED: frozenset({State.PENDING, State.KNOWN, State.CLOSING, State.CLOSED, *DOUBTED_STATES}),
    State.BLOCKED: frozenset(
        {State.BLOCKED, State.PENDING, State.APPLIED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.FAILED: frozenset(
        {State.FAILED, State.PENDING, State.APPLIED, State.BLOCKED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.CLOSING: frozenset({State.CLOSING, State.CLOSED}),
    State.CLOSED: frozenset(),
}

RULE: Final = 2
"""The rule that decides about lives now; 1 took the earliest request for the creator's."""


@dataclass(frozen=True, slots=True)
class Life:
    """One row of the ledger: the key is (entity, number); numbers begin at 1 and are never used again.

    `creator`: who is its owner; `None` for what the baseline found. `source`, `event`: which event said so. `begun`,
    `ended`: where in the order of events; `certain`: when its first request that succeeded was over (epoch
    milliseconds). `accesses`: what the creator is to get; `applied`: what the policy of ours gives them; `written`: its
    content as we sent it (SHA-256); `merged`: what we added to somebody else's policy. `policy_id`, `policy_version`:
    that policy, -1 for none. `conflict`: what an older rule left undecided; it is shown, and changes nothing.

    `candidates`: the users who may have created a contested life. `former`: who had the grant before it was contested.
    `revoke`: something of a contested or suspended life may still be in Ranger. `versions`: those that the inventory
    found, `None` where it did not say. `rule`: the version of the rule that decided.
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
    source: str = ""
    event: str = ""
    applied: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    written: str = ""
    conflict: str = ""
    certain: int = 0
    candidates: tuple[str, ...] = ()
    former: str = ""
    revoke: bool = False
    versions: tuple[str, ...] | None = None
    rule: int = RULE

    def become(self, state: State, **changes: Any) -> Life:
        """The life in another state, with further changes.

        Raises:
            SyncError: a life in this state cannot become that (a bug of ours; nothing is written).
        """
        if state not in TRANSITIONS[self.state]:
            raise SyncError(f"life {self.number} of `{self.entity}` is {self.state} and cannot become {state}")
        return replace(self, state=state, **changes)

    @property
    def is_open(self) -> bool:
        """Whether the entity exists, as far as we know."""
        return self.ended is None
