"""Grants in unmanaged policies (`sync.merge_into_foreign`): added by grant REST in two steps, and removed again.

The ledger first records what is to be added, then it is added: after a kill in between, our additions are still known.
Manual edits between our read and our request cannot be excluded; see docs/explanation/grants.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec.structs import replace

from ranger_cdap.cdap.grant import ACCESS_TYPES, Grant, held
from ranger_cdap.errors import AccessForbidden, RequestRejected
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.plan import CreateGrant, Merge, RevokeMerged
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.unmanaged import duplicate_policy, merge_obstacle, removal_obstacle
from spark_sync.ledger.life import Life, State

_UNKNOWN_USER = re.compile(r"Grantee user .* doesn't exist", re.DOTALL)


def begin(step: CreateGrant, theirs: Policy, ranger: PolicyRest) -> Life | str:
    """Return the pending life with what is to be added to that policy, or the reason why nothing may be added.

    If the policy already gives the user everything, nothing of it is ours and the life is `applied`.
    """
    if why := merge_obstacle(theirs, step.grant) or _duplicate_obstacle(
        theirs, step.policy.service, step.grant, ranger
    ):
        return why
    missing = frozenset(step.grant.accesses) - held(theirs, step.grant.user)
    if not missing:
        reason = f"already granted by policy {theirs.id}"
        return step.life.become(State.APPLIED, reason=reason, applied=(), terms=step.terms)
    return _planned_merge(step.life, missing, theirs)


def merge(step: Merge, ranger: PolicyRest) -> Life:
    """Bring the policy up to date, one step at a time, each recorded in the ledger before the next."""
    life, theirs = step.life, ranger.policy_by_id(step.life.policy_id)
    if theirs is None:  # nothing of ours is left, and the resource is free for a policy of our own
        return _planned_merge(life, ())
    if why := merge_obstacle(theirs, step.grant) or _duplicate_obstacle(theirs, step.service, step.grant, ranger):
        return life.become(State.BLOCKED, reason=f"policy {theirs.id} {why}")
    there, ours, wanted = held(theirs, step.grant.user), frozenset(life.merged), frozenset(step.grant.accesses)
    if life.applied and (taken := ours - there):
        reason = f"edited: {', '.join(_sorted(taken))} for `{life.creator}` was removed from policy {theirs.id}"
        return life.become(State.BLOCKED, reason=reason)
    try:
        if ours - wanted:
            _revoke(step, (ours - wanted) & there, ranger)
            return _planned_merge(life, ours & wanted, theirs)
        if new := wanted - there - ours:
            return _planned_merge(life, ours | new, theirs)
        return _add(step, ours - there, theirs, ranger)
    except AccessForbidden as e:
        if _UNKNOWN_USER.search(e.ranger_message):
            return life.become(State.PENDING, reason=f"unknown user: Ranger has no `{life.creator}`")
        return life.become(State.FAILED, reason=str(e))
    except RequestRejected as e:
        return life.become(State.FAILED, reason=str(e))


def remove(step: RevokeMerged, ranger: PolicyRest) -> tuple[Life, bool]:
    """Remove exactly what we added, as far as it is still there; manually added denials stay.

    Return the resulting life, and whether anything was removed here.
    """
    stuck = step.life.stuck_state
    theirs = ranger.policy_by_id(step.life.policy_id)
    there = held(theirs, step.grant.user) & frozenset(step.grant.accesses) if theirs else ()
    if theirs is None or not there:
        return step.done, False
    manually = f"remove {', '.join(_sorted(there))} for `{step.grant.user}` from it manually"
    if why := removal_obstacle(theirs, step.grant) or _duplicate_obstacle(theirs, step.service, step.grant, ranger):
        return step.life.become(stuck, reason=f"policy {theirs.id} {why}; {manually}"), False
    try:
        _revoke(step, there, ranger)
    except (AccessForbidden, RequestRejected) as e:
        return step.life.become(stuck, reason=str(e)), False
    after = ranger.policy_by_id(step.life.policy_id)
    if after is not None and held(after, step.grant.user) & frozenset(there):
        return step.life.become(stuck, reason=f"policy {theirs.id} was modified concurrently; {manually}"), False
    return step.done, True


def _add(step: Merge, missing: frozenset[str], theirs: Policy, ranger: PolicyRest) -> Life:
    life, after = step.life, theirs
    if missing:
        ranger.grant_access(step.service, _of(step.grant, missing), grantor=step.grantor)
        found = ranger.policy_by_id(life.policy_id)
        if found is None or not missing <= held(found, step.grant.user):
            # It was deleted, moved or disabled, so Ranger created a new policy for the grant; that one is not ours.
            _revoke(step, missing, ranger)
            return _planned_merge(life, frozenset(life.merged) - missing, theirs)
        if found.version != (theirs.version or 0) + 1:
            _revoke(step, missing, ranger)
            return _blocked_by_edit(step, frozenset(life.merged) - missing, theirs, found)
        after = found
    version = -1 if after.version is None else after.version
    return life.become(State.APPLIED, reason="", applied=step.grant.accesses, policy_version=version, terms=step.terms)


def _blocked_by_edit(step: Merge, left: frozenset[str], before: Policy, after: Policy) -> Life:
    """Block the life after a concurrent edit: the grant was removed, but it may have overwritten a new denial."""
    reason = (
        f"policy {after.id} was modified concurrently (version {before.version} became {after.version}) and the grant"
        f" removed again: check its history for a denial of `{step.grant.user}`"
    )
    return _planned_merge(step.life, left, after).become(State.BLOCKED, reason=reason)


def _planned_merge(life: Life, accesses: Collection[str], theirs: Policy | None = None) -> Life:
    """Return the life as the ledger must record it before anything is added; without accesses it starts again."""
    there = theirs if accesses else None
    return life.become(
        State.PENDING,
        reason=f"to be added to policy {there.id}" if there else "",
        merged=_sorted(accesses),
        applied=(),
        policy_id=-1 if there is None or there.id is None else there.id,
        policy_version=-1 if there is None or there.version is None else there.version,
    )


def _revoke(step: Merge | RevokeMerged, accesses: Collection[str], ranger: PolicyRest) -> None:
    if accesses:
        ranger.revoke_access(step.service, _of(step.grant, accesses), grantor=step.grantor)


def _duplicate_obstacle(theirs: Policy, service: str, grant: Grant, ranger: PolicyRest) -> str | None:
    exact = {level: value for level, value in grant.resource.items() if value != "*"}
    other = duplicate_policy(theirs, ranger.policies_matching(service, exact))
    return f"is not the only policy for its resource (see policy {other.id})" if other else None


def _of(grant: Grant, accesses: Collection[str]) -> Grant:
    return replace(grant, accesses=_sorted(accesses))


def _sorted(accesses: Collection[str]) -> tuple[str, ...]:
    return tuple(access for access in ACCESS_TYPES if access in accesses)
