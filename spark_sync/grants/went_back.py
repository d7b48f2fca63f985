"""`went_back`: whether Ranger is in an older state than the ledger, as after a restore, and the lives to heal. Pure.

Law: versions of a policy only grow, and the guid of a deleted one is not used again. A lower version, a guid that is
there again, and the newest of our policies gone together are a restore, never a person's edit. Then the ledger decides:
a right that had ended or was taken is revoked again, and a grant that is lost or older is written again.

A single policy that is gone is a person's deletion, unless an older one has the id that the ledger knows: people can
post a policy with our guid, but not choose its id. One that is gone although a newer one is still there is deleted by a
person, too. An edit after the restore that brings a version up to the ledger's looks like any other edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, former_guids, seen
from spark_sync.grants.own_right import gives
from spark_sync.grants.plan import WITHOUT_GRANT
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import DOUBTED_STATES, RELEASED, Life, State

_SEVERAL: Final = 2
_WRITTEN: Final = (State.APPLIED, State.PENDING, State.FAILED)


def went_back(
    found: Sequence[tuple[Life, Policy | None]], policies: Mapping[str, Policy], instance: str
) -> list[LedgerChange] | None:
    """Return the lives that are to be healed; `None` if nothing shows that Ranger went back.

    Args:
        found: all lives with a grant or a doubt, and those others of which a policy is there, each with its newest
            policy in Ranger.
        policies: all by their guids.
    """
    newest = max((there.id or -1 for life, there in found if there and there.id == life.policy_id), default=-1)
    lost = [life.state for life, there in found if there is None and life.policy_id > newest and not life.taken]
    certain = lost.count(State.APPLIED) >= _SEVERAL or any(there and _is_the_same(life, there) for life, there in found)
    shown = (_is_older(life, there) or _is_there_again(life, there, policies, instance) for life, there in found)
    if not certain and not any(shown):
        return None
    healed = []
    for life, there in found:
        if certain and there is None and life.policy_id > newest and life.state in _WRITTEN and not life.taken:
            after = life.become(State.PENDING, reason="", **WITHOUT_GRANT)
        elif there or life.copy:
            after = _healed(life, there, _left(life, policies, instance), instance)
        else:
            continue
        if after != life:
            healed.append(LedgerChange(life, after, there))
    return healed


def sentence(healed: Iterable[LedgerChange]) -> str:
    """Return that Ranger went back, and how many lives are healed."""
    written = [_is_written(each.before) for each in healed if each.before]
    return (
        f"Ranger went back to an older state, as after a restore: {sum(written)} lost or older grants to write again,"
        f" {len(written) - sum(written)} ended or taken ones to revoke again"
    )


def _is_written(life: Life) -> bool:
    """Return whether the creator is to have the right."""
    return not life.taken and life.state in (*_WRITTEN, State.BLOCKED)


def _is_older(life: Life, there: Policy | None) -> bool:
    if there is None or life.policy_id < 0 or life.policy_version < 0:
        return False
    return there.id != life.policy_id or (there.version or 0) < life.policy_version  # another id: it was deleted


def _is_the_same(life: Life, there: Policy) -> bool:
    """Return whether a policy is an older one by its id, which Ranger alone chooses."""
    is_back = life.state is State.CLOSED and _is_revoked(life)
    return there.id == life.policy_id and (is_back or _is_older(life, there))


def _is_there_again(life: Life, there: Policy | None, policies: Mapping[str, Policy], instance: str) -> bool:
    """Return whether a policy of a life is there that the job deleted, or with what the job took out of it."""
    if not _is_revoked(life):
        return False
    return there is not None or _is_of_before(life, _left(life, policies, instance))


def _left(life: Life, policies: Mapping[str, Policy], instance: str) -> list[Policy | None]:
    """Return the policies of a life that became a person's, the newest last; `None` for one that is gone."""
    return [policies.get(guid) for guid in former_guids(life, instance)]


def _is_of_before(life: Life, left: Sequence[Policy | None]) -> bool:
    """Return whether the newest of them is older than when the job took the right out of it."""
    newest = left[-1] if left else None
    return newest is not None and life.policy_id < 0 and (newest.version or 0) < life.policy_version


def _is_revoked(life: Life) -> bool:
    """Return whether the job has revoked the grant of a life, so that no policy of its newest guid is in Ranger."""
    if not life.holder or life.is_left_to_people or life.reason == RELEASED:
        return False
    doubted = life.state in DOUBTED_STATES and not life.revoke
    return life.state is State.CLOSED or (life.policy_id < 0 and (doubted or bool(life.taken)))


def _healed(life: Life, there: Policy | None, left: Sequence[Policy | None], instance: str) -> Life:
    """Return the life with its right to be revoked first, from whatever policy holds it by the restore."""
    older = there if _is_older(life, there) else None
    if _is_written(life):
        if older is None and life.policy_id < 0:  # there is none, or one that a killed run wrote
            older = there
        if older is None:
            return life
        if content_of(older) == life.written and older.zone_name == life.zone:
            return replace(life, **seen(older))
        return life.become(State.PENDING, reason="", policy_id=older.id, policy_version=-1)
    back = there if _is_revoked(life) or life.state is State.KNOWN else older
    back = back or (left[-1] if _is_of_before(life, left) else None)
    back = back or next((each for each in left if each and gives(each, life, instance)), None)
    if back is None or life.is_left_to_people or life.reason == RELEASED or not life.holder:
        return life
    unproven: dict[str, Any] = {"policy_id": back.id, "policy_version": -1}
    if life.state in (State.CLOSED, State.CLOSING):
        return life.become(State.CLOSING, reason="", **unproven)
    if life.state in DOUBTED_STATES:
        return replace(life, revoke=True, **unproven)
    return life.become(State.PENDING, reason="", **unproven)
