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
    """State of a life's grant.

    `unconfirmed`: perhaps created; grants nothing. `contested`: created by one of several users, or undecidable whether
    it was created before it was deleted; grants nothing. `known`: exists, without a grant. `pending`: the grant is to
    be written. `applied`: it is in Ranger. `suspended`: the grant is revoked until it is known whether the entity still
    exists. `blocked`, `failed`: the sync job or Ranger refuses it, see the reason. `closing`: the entity is deleted,
    rights on it are still to be revoked. `closed`: deleted, nothing is pending, unless Ranger brings it back.
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
PUSH_STATES = (*PENDING_STATES, *DOUBTED_STATES)
# The states in which it is undecidable who created the entity, or whether it exists.
UNDECIDED_STATES = (State.UNCONFIRMED, *DOUBTED_STATES)
# The states in which the creator has a grant, or is to get one.
GRANTING_STATES = (State.PENDING, State.APPLIED, State.BLOCKED, State.FAILED)

# The allowed transitions. Only the fold begins and ends lives, and doubts open ones; the push and manual overrides
# change open ones.
TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.UNCONFIRMED: frozenset({State.PENDING, State.KNOWN, State.CONTESTED, State.CLOSED}),
    State.CONTESTED: frozenset({State.CONTESTED, State.PENDING, State.KNOWN, State.CLOSING}),
    State.KNOWN: frozenset({State.PENDING, State.CLOSING, *DOUBTED_STATES}),
    State.PENDING: frozenset(
        {State.PENDING, State.APPLIED, State.BLOCKED, State.FAILED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.APPLIED: frozenset(
        {State.APPLIED, State.PENDING, State.BLOCKED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.SUSPENDED: frozenset({State.PENDING, State.KNOWN, State.CLOSING, *DOUBTED_STATES}),
    State.BLOCKED: frozenset(
        {State.BLOCKED, State.PENDING, State.APPLIED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.FAILED: frozenset(
        {State.FAILED, State.PENDING, State.APPLIED, State.BLOCKED, State.KNOWN, State.CLOSING, *DOUBTED_STATES}
    ),
    State.CLOSING: frozenset({State.CLOSING, State.CLOSED}),
    State.CLOSED: frozenset({State.CLOSING}),
}

MANUAL: Final = "by hand"
"""The source of a life decided by a manual override; stored in the ledger."""

RECONCILED: Final = "reconcile"
"""The source of an end that `sync reconcile` records."""

RIGHTS_LEFT: Final = "rights of others stay on it"
"""Part of the reason of a closed life on whose entity others have rights, or may have; stored in the ledger."""
RIGHTS_UNREAD: Final = f"{RIGHTS_LEFT}, unless a look at Ranger shows none"

RELEASED: Final = "released: its policy is administered manually"
"""The reason of a life whose policy was released; stored in the ledger. Reconciling does not report it."""

NOT_BY_REQUEST: Final = ("", MANUAL)
"""The sources of lives without a request: the baseline and manual overrides."""


WAITS_FOR_ZONE: Final = "zone "
"""The beginning of the reason of a blocked life whose grant is not in its entity's zone; stored in the ledger."""


@dataclass(frozen=True, slots=True)
class GrantTerms:
    """Settings that a grant was decided by, beside the access types.

    `profile`: its name. `plugins`: those that may change the access types, with their versions.
    """

    profile: str
    delegate_admin: bool = False
    plugins: str = ""

    def __str__(self) -> str:
        named = (
            self.profile or "no profile",
            "delegate_admin" if self.delegate_admin else "",
            f"plugins {self.plugins}" if self.plugins else "",
        )
        return " + ".join(filter(None, named))


MANUAL_TERMS: Final = GrantTerms(MANUAL)
"""The terms of a grant that a manual override decided: settings no longer apply to it; stored in the ledger."""


@dataclass(frozen=True, slots=True)
class Life:
    """A row of the ledger; its key is (entity, number). Numbers begin at 1 and are never reused.

    `creator`: its owner; `None` if the baseline found it. `source`, `event`: the event that says so. `begun`, `ended`:
    positions in the order of events; `certain`: when its first successful request was over, or
    when an inventory found the entity of a grant that was adopted (epoch milliseconds).
    `accesses`: the access types the creator is to get; `applied`: those our policy gives them; `written`: its content
    as sent (SHA-256). `policy_id`, `policy_version`: that policy as it was last seen, -1 for none; its deletion by a
    person counts as a version.

    `candidates`: the users who may have created a contested life. `former`: the holder of the grant before it was
    contested. `revoke`: a contested or suspended life may still have a grant in Ranger. `versions`: those of the
    inventory, `None` if it lists none. `terms`: the settings that decided
    the grant, `None` if they are not recorded, as those of an adopted grant. `taken`: how a person took the grant away,
    so that it is not written again. `copy`: the number of the life's policies that became a person's. `zone`: the
    security zone of its policy, empty outside of zones; `moves`: policies of the life may also be in others.
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
    written: str = ""
    certain: int = 0
    candidates: tuple[str, ...] = ()
    former: str = ""
    revoke: bool = False
    versions: tuple[str, ...] | None = None
    terms: GrantTerms | None = None
    taken: str = ""
    copy: int = 0
    zone: str = ""
    moves: bool = False

    def become(self, state: State, **changes: Any) -> Life:
        """Return the life in another state, with further changes.

        Raises:
            SyncError: the transition is not allowed (a bug; nothing is written).
        """
        if state not in TRANSITIONS[self.state]:
            raise SyncError(f"life {self.number} of `{self.entity}` is {self.state} and cannot become {state}")
        return replace(self, state=state, **changes)

    @property
    def holder(self) -> str:
        """Return the creator or, of a contested life, the former holder of the grant; empty for none."""
        return self.creator or self.former

    @property
    def is_from_backup(self) -> bool:
        """Return whether Ranger went back since: nothing in its policy proves what people did, until it is removed."""
        return self.policy_id >= 0 and self.policy_version < 0

    @property
    def waits_for_zone(self) -> bool:
        """Return whether the grant has no effect where it is, until a person or the zone's administrator decides."""
        return self.state is State.BLOCKED and self.reason.startswith(WAITS_FOR_ZONE)

    @property
    def is_left_to_people(self) -> bool:
        """Return whether a policy of this life, if there is one, is administered manually."""
        return self.terms == MANUAL_TERMS and not self.accesses

    @property
    def is_deleted(self) -> bool:
        """Return whether the entity is deleted for certain: a life ended manually only makes room for another one."""
        return self.ended is not None and self.ended.source not in (MANUAL, RECONCILED)

    @property
    def stuck_state(self) -> State:
        """Return the state if the grant cannot be revoked: unchanged if it must be, else `blocked`."""
        stays = self.is_from_backup or self.state in (State.CLOSING, *DOUBTED_STATES)
        return self.state if stays else State.BLOCKED

    @property
    def is_open(self) -> bool:
        """Return whether the entity still exists, as far as is known."""
        return self.ended is None
