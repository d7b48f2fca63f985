"""Changes of a decided life in the fold: contested, suspended, restored, ended. Pure."""

from __future__ import annotations

from dataclasses import replace

from spark_sync.ledger.event import Position
from spark_sync.ledger.life import GRANTING_STATES, MANUAL_TERMS, Life, State
from spark_sync.ledger.request import UNKNOWN, EntityRequest


def contested(life: Life, users: frozenset[str], doubt: str) -> Life:
    """Return the life without a creator: one of these users created it, and it is undecidable which."""
    candidates = tuple(sorted(users - {UNKNOWN}))
    former = life.former or life.creator or ""
    reason = "overlapping requests of different users" if len(users) > 1 else "its creation"
    reason = f"{reason} {doubt}" if doubt else reason
    return replace(
        life,
        creator=None,
        state=State.CONTESTED,
        reason=f"creator undecidable: {reason}",
        candidates=candidates,
        former=former,
        revoke=life.revoke or life.state in GRANTING_STATES,
    )


def suspended(life: Life, doubt: EntityRequest) -> Life:
    """Return the life without its grant, until it is known whether the request deleted the entity."""
    if life.state is State.CONTESTED:
        return life
    who = ", ".join(f"`{user}`" for user in sorted(doubt.users - {UNKNOWN})) or "an unknown user"
    reason = f"a request of {who} may have deleted it; suspended until CDAP confirms whether it exists"
    return replace(life, state=State.SUSPENDED, reason=reason, revoke=life.revoke or life.state in GRANTING_STATES)


def restored(life: Life) -> Life:
    """Return the life as it was before it was contested or suspended; an adopted grant that was revoked stays so.

    A grant that settings no longer give is revoked all the same: the life is `pending` until then. What was left to
    people stays theirs.
    """
    if life.state not in (State.CONTESTED, State.SUSPENDED) or (life.state is State.CONTESTED and not life.former):
        return life
    creator, reason = life.creator or life.former or None, ""
    state = State.PENDING if creator and (life.accesses or life.revoke) and not life.is_left_to_people else State.KNOWN
    if state is State.PENDING and life.terms == MANUAL_TERMS:
        # The settings would grant more than the adopted policy did.
        state = State.APPLIED if life.revoke else State.BLOCKED
        reason = "" if life.revoke else "its adopted policy was revoked in the meantime; `sync retry` writes a new one"
    elif life.revoke and not life.taken and not life.is_from_backup:  # else a look shows whether it was given back
        # A run that was killed may have deleted the policy, so that its absence is no manual change.
        life = replace(life, policy_id=-1, policy_version=-1, applied=())
    return replace(life, creator=creator, state=state, reason=reason, candidates=(), former="", revoke=False)


def ended(life: Life, position: Position, *, recorded: bool) -> Life:
    """Return the life of a deleted entity; `recorded`: the ledger has it, so Ranger may have its grant."""
    # A life that was never in the ledger was never sent to Ranger, so there is nothing to revoke.
    state = State.CLOSING if recorded else State.CLOSED
    return replace(life, ended=position, state=state, reason="", revoke=False)
