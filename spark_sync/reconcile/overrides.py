"""Manual overrides: retry a grant, assign a creator, forget one. Pure.

The former creator loses the grant before another user gets it: their life ends and another one begins, as if the entity
had been created again at its original time. An override of a contested or suspended life settles its doubt, so the life
begins at the end of the decided events: older doubts no longer count.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.errors import InvalidInput
from spark_sync.ledger.event import Position
from spark_sync.ledger.ledger import LedgerChange, differences
from spark_sync.ledger.life import DOUBTED_STATES, MANUAL, GrantTerms, Life, State

_RETRIED = (State.BLOCKED, State.FAILED)
_NOT_SENT = (State.KNOWN, State.UNCONFIRMED)


def retry(life: Life) -> Life | None:
    """Return the life made pending again, so that our policy may be replaced; `None` if not blocked or failed."""
    if life.state not in _RETRIED:
        return None
    if life.state is State.FAILED:
        return life.become(State.PENDING, reason="")
    copy = life.copy + bool(life.taken)  # the policy from which a person took it stays theirs
    return life.become(State.PENDING, reason="", policy_id=-1, policy_version=-1, applied=(), taken="", copy=copy)


def assign(
    entity: EntityId,
    lives: Collection[Life],
    user: str,
    accesses: tuple[str, ...],
    *,
    non_creators: Collection[str],
    decided: int,
    anyone: bool = False,
    terms: GrantTerms | None = None,
) -> list[LedgerChange]:
    """Make the user the creator of the entity.

    Args:
        lives: the ledger's of this entity.
        accesses: the access types of a creator by the profile.
        decided: the time up to which events are decided, in epoch milliseconds.
        anyone: the user need not be a candidate of a contested life, or the creator of a suspended one.
        terms: the settings that decide the grant.

    Raises:
        UnsafeGrant: the name does not identify a single user who may create.
        InvalidInput: the ledger does not know that the entity exists, the user is not a candidate, or nothing changes.
    """
    check_grantee(user, non_creators=non_creators)
    life = current(entity, lives)
    if not accesses:
        raise InvalidInput(f"the profile grants the creator of `{entity}` no access, so there is nothing to assign")
    if life.creator == user and life.state in (State.APPLIED, State.PENDING):
        raise InvalidInput(f"`{user}` is the creator of `{entity}` already; their grant is {life.state}")
    if is_doubted(life):
        if not anyone and user not in candidates(life):
            named = ", ".join(f"`{name}`" for name in candidates(life)) or "none are known"
            raise InvalidInput(
                f"`{user}` is not a candidate for `{entity}`, which is {life.state} (candidates: {named}); use --anyone"
                " to assign it anyway"
            )
    elif life.creator == user and (again := retry(life)):
        return [LedgerChange(life, again)]
    given = {"creator": user, "accesses": accesses, **_overridden_fields(life, decided), "terms": terms}
    if not _may_grant(life) or (is_doubted(life) and user == life.holder):
        return _changes(lives, life.become(State.PENDING, **given))
    return _changes(lives, _over(life), _next(life).become(State.PENDING, **given))


def forget(entity: EntityId, lives: Collection[Life], *, decided: int) -> list[LedgerChange]:
    """Remove the creator; no user becomes one until the entity is deleted and created again.

    Args:
        decided: as in `assign`.

    Raises:
        InvalidInput: the ledger does not know that the entity exists, or that it has a creator.
    """
    life = current(entity, lives)
    if life.state is State.KNOWN and life.creator is None:
        raise InvalidInput(f"`{entity}` already has no creator")
    given = _overridden_fields(life, decided) | {"reason": _forgotten(life)}
    if life.state is State.KNOWN:
        return _changes(lives, replace(_next(life), number=life.number, reason=_forgotten(life)))
    if not _may_grant(life):
        return _changes(lives, life.become(State.KNOWN, creator=None, accesses=(), **given))
    return _changes(lives, _over(life), replace(_next(life), **given))


def is_doubted(life: Life) -> bool:
    """Return whether its creator, or the existence of its entity, is undecidable."""
    return life.state in DOUBTED_STATES


def candidates(life: Life) -> tuple[str, ...]:
    """Return the users who may be the creator of a contested or suspended life."""
    return tuple(sorted({*life.candidates, *filter(None, (life.creator, life.former))}))


def current(entity: EntityId, lives: Collection[Life]) -> Life:
    """Return the entity's open life; an unconfirmed one only if there is no other.

    Raises:
        InvalidInput: there is none.
    """
    found = sorted((life for life in lives if life.is_open), key=lambda life: life.state is State.UNCONFIRMED)
    if not found:
        known = "was deleted according to the ledger" if lives else "is not in the ledger"
        raise InvalidInput(f"`{entity}` {known}; if it exists, take an inventory and enter it with `sync baseline`")
    return found[0]


def _overridden_fields(life: Life, decided: int) -> dict[str, Any]:
    """Return the fields common to all manually overridden lives."""
    given: dict[str, Any] = {"source": MANUAL, "event": "", "reason": "", "terms": None}
    if is_doubted(life):
        since = max(decided, life.begun.time)
        given |= {"candidates": (), "former": "", "revoke": False, "certain": since}
        given["begun"] = Position(since, after_creations=False, source=MANUAL, id="")
    return given


def _forgotten(life: Life) -> str:
    users = [f"`{name}`" for name in (candidates(life) if is_doubted(life) else (life.creator,)) if name]
    if is_doubted(life):
        return f"it was {life.state} (candidates: {', '.join(users) or 'none known'}) until it was forgotten manually"
    return f"{', '.join(users) or 'an unknown user'} was its creator until it was forgotten manually"


def _may_grant(life: Life) -> bool:
    """Return whether Ranger may have a grant of it; a killed run may not have recorded that."""
    sent = life.revoke if is_doubted(life) else life.state not in (*_NOT_SENT, State.BLOCKED)
    return sent or life.policy_id >= 0 or bool(life.applied or life.written)


def _over(life: Life) -> Life:
    """Return the life, ended when it began, so that a late deletion still ends the life after it."""
    return life.become(State.CLOSING, ended=Position(life.begun.time, True, MANUAL, ""), reason="", revoke=False)


def _next(life: Life) -> Life:
    """Return the life after it, of the same entity that still exists, without a creator."""
    return Life(life.entity, life.number + 1, None, life.begun, State.KNOWN, versions=life.versions)


def _changes(lives: Collection[Life], *decided: Life) -> list[LedgerChange]:
    """Return the changes to these lives; without unconfirmed ones."""
    return differences(lives, [*(life for life in lives if life.state is not State.UNCONFIRMED), *decided])
