"""Grants in somebody else's policy (`sync.merge_into_foreign`): by grant REST, in two steps, and taken out again.

First the ledger says what is to be added, then it is added: after a kill in between, what we added is still known. What
a person does between our look and our request, Ranger cannot tell us beforehand; docs/explanation/grants.md names it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from ranger_cdap.cdap.grant import ACCESS_TYPES, Grant, held
from ranger_cdap.engine.model.wire import Policy
from ranger_cdap.errors import AccessForbidden, RequestRejected
from spark_sync.grants.plan import CreateGrant, Merge, RevokeMerged
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.unmanaged import duplicate_policy, merge_obstacle, why_not_take_out
from spark_sync.ledger.life import Life, State

_UNKNOWN_USER = re.compile(r"Grantee user .* doesn't exist", re.DOTALL)


def begin(step: CreateGrant, theirs: Policy, ranger: PolicyRest) -> Life | str:
    """The life with what is to be added to that policy, still `pending`; or why nothing may be added to it.

    Where the policy gives the user everything already, nothing of it is ours and the life is `applied`.
    """
    if why := merge_obstacle(theirs, step.grant) or _has_twin(theirs, step.policy.service, step.grant, ranger):
        return why
    missing = frozenset(step.grant.accesses) - held(theirs, step.grant.user)
    if not missing:
        return step.life.become(State.APPLIED, reason=f"policy {theirs.id} gave it already", applied=())
    return _intending(step.life, missing, theirs)


def merge(step: Merge, ranger: PolicyRest) -> Life:
    """Bring the policy to what is wanted: a step at a time, each known to the ledger before the next."""
    life, theirs = step.life, ranger.policy_by_id(step.life.policy_id)
    if theirs is None:  # nothing of ours is left, and the resource is free for a policy of our own
        return _intending(life, ())
    if why := merge_obstacle(theirs, step.grant) or _has_twin(theirs, step.service, step.grant, ranger):
        return life.become(State.BLOCKED, reason=f"policy {theirs.id} {why}")
    there, ours, wanted = held(theirs, step.grant.user), frozenset(life.merged), frozenset(step.grant.accesses)
    if life.applied and (taken := ours - there):
        reason = f"edited: somebody took {', '.join(_sorted(taken))} for `{life.creator}` out of policy {theirs.id}"
        return life.become(State.BLOCKED, reason=reason)
    try:
        if ours - wanted:
            _revoke(step, (ours - wanted) & there, ranger)
            return _intending(life, ours & wanted, theirs)
        if new := wanted - there - ours:
            return _intending(life, ours | new, theirs)
        return _add(step, ours - there, theirs, ranger)
    except AccessForbidden as e:
        if _UNKNOWN_USER.search(e.ranger_message):
            return life.become(State.PENDING, reason=f"unknown user: Ranger has no `{life.creator}`")
        return life.become(State.FAILED, reason=str(e))
    except RequestRejected as e:
        return life.become(State.FAILED, reason=str(e))


def take_out(step: RevokeMerged, ranger: PolicyRest) -> Life:
    """Take out exactly what we added, as far as it is there; what a person has turned into a denial stays."""
    must_go = step.life.state in (State.CLOSING, State.CONTESTED, State.SUSPENDED)
    stuck = step.life.state if must_go else State.BLOCKED
    theirs = ranger.policy_by_id(step.life.policy_id)
    there = held(theirs, step.grant.user) & frozenset(step.grant.accesses) if theirs else ()
    if theirs is None or not there:
        return step.done
    by_hand = f"take {', '.join(_sorted(there))} for `{step.grant.user}` out of it manually"
    if why := why_not_take_out(theirs, step.grant) or _has_twin(theirs, step.service, step.grant, ranger):
        return step.life.become(stuck, reason=f"policy {theirs.id} {why}; {by_hand}")
    try:
        _revoke(step, there, ranger)
    except (AccessForbidden, RequestRejected) as e:
        return step.life.become(stuck, reason=str(e))
    after = ranger.policy_by_id(step.life.policy_id)
    if after is not None and held(after, step.grant.user) & frozenset(there):
        return step.life.become(stuck, reason=f"policy {theirs.id} was changed in the same moment; {by_hand}")
    return step.done


def _add(step: Merge, missing: frozenset[str], theirs: Policy, ranger: PolicyRest) -> Life:
    life, after = step.life, theirs
    if missing:
        ranger.grant_access(step.service, _of(step.grant, missing), grantor=step.grantor)
        found = ranger.policy_by_id(life.policy_id)
        if found is None or not missing <= held(found, step.grant.user):
            # It was deleted, moved or switched off, so Ranger made a new policy for the grant; that one is not ours.
            _revoke(step, missing, ranger)
            return _intending(life, frozenset(life.merged) - missing, theirs)
        if found.version != (theirs.version or 0) + 1:
            _revoke(step, missing, ranger)
            return _met_somebody(step, frozenset(life.merged) - missing, theirs, found)
        after = found
    version = -1 if after.version is None else after.version
    return life.become(State.APPLIED, reason="", applied=step.grant.accesses, policy_version=version)


def _met_somebody(step: Merge, left: frozenset[str], before: Policy, after: Policy) -> Life:
    """The grant may have taken away a denial that came in the same moment, so it is taken out and a person looks."""
    reason = (
        f"policy {after.id} was changed in the same moment (version {before.version} became {after.version}) and the"
        f" grant taken out again: look into its history whether it was to deny `{step.grant.user}` something"
    )
    return _intending(step.life, left, after).become(State.BLOCKED, reason=reason)


def _intending(life: Life, accesses: Collection[str], theirs: Policy | None = None) -> Life:
    """The life as it must stand in the ledger before anything is added; without accesses it starts again."""
    there = theirs if accesses else None
    return life.become(
        State.PENDING,
        reason=f"is to be added to policy {there.id}" if there else "",
        merged=_sorted(accesses),
        applied=(),
        policy_id=-1 if there is None or there.id is None else there.id,
        policy_version=-1 if there is None or there.version is None else there.version,
    )


def _revoke(step: Merge | RevokeMerged, accesses: Collection[str], ranger: PolicyRest) -> None:
    if accesses:
        ranger.revoke_access(step.service, _of(step.grant, accesses), grantor=step.grantor)


def _has_twin(theirs: Policy, service: str, grant: Grant, ranger: PolicyRest) -> str | None:
    exact = {level: value for level, value in grant.resource.items() if value != "*"}
    other = duplicate_policy(theirs, ranger.policies_matching(service, exact))
    return f"is not the only policy of its resource (policy {other.id} is another)" if other else None


def _of(grant: Grant, accesses: Collection[str]) -> Grant:
    return replace(grant, accesses=_sorted(accesses))


def _sorted(accesses: Collection[str]) -> tuple[str, ...]:
    return tuple(access for access in ACCESS_TYPES if access in accesses)
