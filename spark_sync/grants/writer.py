"""Writer of policies: creates ours by POST, deletes them with their entity, and touches no others."""

from __future__ import annotations

from typing import NamedTuple

from ranger_cdap.errors import NotFound, RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, overwritten
from spark_sync.grants.plan import CreateGrant, NoOp, RevokePolicy, Step
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.refusals import is_taken, other_name, other_policy, unknown_principal
from spark_sync.ledger.life import Life, State


class StepOutcome(NamedTuple):
    """A step and the resulting life; `revoked`: the step removed a grant from Ranger, which had not gone before."""

    step: Step
    life: Life
    revoked: bool = False


def carry_out(step: Step, ranger: PolicyRest) -> StepOutcome:
    """Carry out one step; idempotent.

    Raises:
        RangerAdminError: Ranger Admin is unavailable, met a concurrent modification, or rejects the account; the
            outcome of the step is unknown.
    """
    match step:
        case CreateGrant():
            return StepOutcome(step, _create(step, ranger))
        case RevokePolicy():
            return StepOutcome(step, *_revoke(step, ranger))
        case NoOp():
            return StepOutcome(step, step.done)


def _create(step: CreateGrant, ranger: PolicyRest) -> Life:
    try:
        if step.life.policy_id >= 0:
            return _bring_up_to_date(step, _ours(step, ranger), ranger)
        return _applied(step, ranger.create_policy(step.policy))
    except RequestRejected as e:
        if step.life.policy_id < 0 and is_taken(e):
            return _existing_policy(step, e, ranger)
        return _refused(step, e)


def _existing_policy(step: CreateGrant, refusal: RequestRejected, ranger: PolicyRest) -> Life:
    """Handle an existing policy of that name or resource: ours from a killed run, ours but edited, or unmanaged."""
    ours = _ours(step, ranger)
    if ours is not None:
        try:
            return _bring_up_to_date(step, ours, ranger)
        except RequestRejected as e:
            return _refused(step, e)
    advice = f"add {', '.join(step.grant.accesses)} for `{step.grant.user}` to it"
    return step.life.become(State.BLOCKED, reason=f"{_other_policy(step, refusal, ranger)} already exists; {advice}")


def _other_policy(step: CreateGrant, refusal: RequestRejected, ranger: PolicyRest) -> str:
    """Return the policy that Ranger's refusal names, as messages name it."""
    name = other_name(refusal)
    other = None if name is None else ranger.policy_by_name(step.policy.service, name)
    return f"policy {other.id} (`{name}`)" if other else other_policy(refusal)


def _bring_up_to_date(step: CreateGrant, ours: Policy | None, ranger: PolicyRest) -> Life:
    """Update our policy, unless it was edited manually."""
    life = step.life
    if ours is None or ours.id is None:
        return life.become(State.BLOCKED, reason=f"edited: policy {life.policy_id} was deleted manually")
    if content_of(ours) == content_of(step.policy):
        return _applied(step, ours)
    if content_of(ours) not in step.former:
        reason = f"edited: policy {ours.id} was changed manually"
        return life.become(State.BLOCKED, reason=reason, policy_id=ours.id)
    answer = ranger.update_policy(replaced(step.policy, id=ours.id, version=ours.version))
    written = _applied(step, answer)
    reason = overwritten(ours, answer)
    if not reason:
        return written
    return life.become(
        State.BLOCKED,
        reason=reason,
        policy_id=written.policy_id,
        policy_version=written.policy_version,
        applied=written.applied,
        written=written.written,
        terms=written.terms,
    )


def _ours(step: CreateGrant, ranger: PolicyRest) -> Policy | None:
    return ranger.policy_by_guid(step.policy.service, step.policy.guid)


def _refused(step: CreateGrant, refusal: RequestRejected) -> Life:
    if reason := unknown_principal(refusal, step.policy, step.life.creator or ""):
        return step.life.become(State.PENDING, reason=reason)
    return step.life.become(State.FAILED, reason=str(refusal))


def _applied(step: CreateGrant, policy: Policy) -> Life:
    return step.life.become(
        State.APPLIED,
        reason="",
        applied=step.grant.accesses,
        written=content_of(step.policy),
        terms=step.terms,
        policy_id=-1 if policy.id is None else policy.id,
        policy_version=-1 if policy.version is None else policy.version,
    )


def _revoke(step: RevokePolicy, ranger: PolicyRest) -> tuple[Life, bool]:
    """Return the resulting life, and whether the policy was deleted here."""
    found = ranger.policy_by_guid(step.service, step.guid)
    if found is None or found.id is None:
        return step.done, False
    if content_of(found) not in step.contents:
        reason = f"edited: policy {found.id} was changed manually; delete it if it is not wanted"
        return step.life.become(step.life.stuck_state, reason=reason), False
    try:
        ranger.delete_policy(found.id)
    except NotFound:  # deleted concurrently, as wanted
        return step.done, False
    except RequestRejected as e:
        return step.life.become(step.life.stuck_state, reason=str(e)), False
    return step.done, True
