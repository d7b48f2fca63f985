"""What a person may decide about an entity: to try again, who its creator is, and that it has none. Pure.

Whoever had the grant loses it before somebody else gets it: his life ends, and another one begins, as if the entity had
been created again at the time it was.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.errors import InvalidInput
from spark_sync.event import Position
from spark_sync.ledger import Change
from spark_sync.life import WHEN_DELETED, Life, State

BY_HAND: Final = "by hand"
"""The source of a life that a person decided about."""

_RETRIED = (State.BLOCKED, State.FAILED)
_NOT_SENT = (State.KNOWN, State.UNCONFIRMED)


def retry(life: Life) -> Life | None:
    """The life as it is tried anew; nothing where nothing is stuck.

    What we wrote is still ours to replace, and what we added to somebody else's policy ours to take out.
    """
    if life.state not in _RETRIED:
        return None
    if life.state is State.FAILED or life.merged:
        return life.become(State.PENDING, reason="")
    return life.become(State.PENDING, reason="", policy_id=-1, policy_version=-1, applied=())


def assign(
    entity: EntityId, lives: Collection[Life], user: str, accesses: tuple[str, ...], *, non_creators: Collection[str]
) -> Change:
    """The user is the creator of the entity.

    Args:
        lives: the ledger's of this entity.
        accesses: what the profile gives a creator.

    Raises:
        UnsafeGrant: the name does not stand for one user who may create.
        InvalidInput: the ledger does not know that the entity exists, or nothing would change.
    """
    check_grantee(user, non_creators=non_creators)
    life = _open(entity, lives)
    if not accesses:
        raise InvalidInput(f"the profile gives the creator of `{entity}` nothing, so there is nothing to assign")
    if life.creator == user and life.state in (State.APPLIED, State.PENDING):
        raise InvalidInput(f"`{user}` is the creator of `{entity}` already; his grant is {life.state}")
    if life.creator == user and (again := retry(life)):
        return Change(entity, (again,))
    given = {"creator": user, "accesses": accesses, "source": BY_HAND, "event": "", "conflict": "", "reason": ""}
    if not _may_grant(life):
        return Change(entity, (life.become(State.PENDING, **given),), _unconfirmed(lives, life.number))
    after = Life(entity, life.number + 1, None, life.begun, State.KNOWN)
    return Change(entity, (_over(life), after.become(State.PENDING, **given)), _unconfirmed(lives, after.number))


def forget(entity: EntityId, lives: Collection[Life]) -> Change:
    """The entity has no creator, and nobody becomes one until it is deleted and created again.

    Raises:
        InvalidInput: the ledger does not know that the entity exists, or that it has a creator.
    """
    life = _open(entity, lives)
    if life.state is State.KNOWN and life.creator is None:
        raise InvalidInput(f"`{entity}` has no creator already")
    reason = f"`{life.creator}` was its creator until that was forgotten {BY_HAND}"
    if life.state is State.KNOWN:
        known = Life(entity, life.number, None, life.begun, State.KNOWN, reason=reason)
        return Change(entity, (known,), _unconfirmed(lives, life.number))
    if not _may_grant(life):
        known = life.become(State.KNOWN, creator=None, accesses=(), source=BY_HAND, event="", reason=reason)
        return Change(entity, (known,), _unconfirmed(lives, life.number))
    after = Life(entity, life.number + 1, None, life.begun, State.KNOWN, source=BY_HAND, reason=reason)
    return Change(entity, (_over(life), after), _unconfirmed(lives, after.number))


def _open(entity: EntityId, lives: Collection[Life]) -> Life:
    """The entity's life as far as it is known; an unconfirmed one only where there is no other."""
    found = sorted((life for life in lives if life.is_open), key=lambda life: life.state is State.UNCONFIRMED)
    if not found:
        known = "was deleted, says the ledger" if lives else "is not in the ledger"
        raise InvalidInput(f"`{entity}` {known}; if it exists, take an inventory and enter it with `sync baseline`")
    return found[0]


def _may_grant(life: Life) -> bool:
    """Whether something of it may be in Ranger; a run may have been killed before it wrote that down."""
    sent = life.state not in (*_NOT_SENT, State.BLOCKED)
    return sent or life.policy_id >= 0 or bool(life.merged or life.applied or life.written)


def _over(life: Life) -> Life:
    """The life, ended when it began: a deletion that is told later still ends the one that comes after it."""
    return life.become(WHEN_DELETED[life.state], ended=Position(life.begun.time, True, BY_HAND, ""), reason="")


def _unconfirmed(lives: Collection[Life], kept: int) -> tuple[int, ...]:
    return tuple(life.number for life in lives if life.state is State.UNCONFIRMED and life.number != kept)
