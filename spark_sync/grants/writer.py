"""Writer of policies: creates ours by POST, deletes them with their entity, and touches no others.

The optional exception is `spark_sync.grants.merger`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ranger_cdap.errors import NotFound, RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants import merger
from spark_sync.grants.grant_policy import content_of
from spark_sync.grants.plan import CreateGrant, Merge, NoOp, RevokeMerged, RevokePolicy, Step
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.ledger.life import Life, State

NAME_TAKEN, RESOURCE_TAKEN = 3006, 3010
_UNKNOWN = re.compile(r"(User|Group) name: .* does not exist in ranger admin", re.DOTALL)
_POLICY_ID = re.compile(r"policy-id=\[([0-9.,\s]+)\]")
_POLICY_NAME = re.compile(r"policy-name=\[(.*?)\], service=", re.DOTALL)


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
        case Merge():
            return StepOutcome(step, merger.merge(step, ranger))
        case RevokePolicy():
            return StepOutcome(step, *_revoke(step, ranger))
        case RevokeMerged():
            return StepOutcome(step, *merger.remove(step, ranger))
        case NoOp():
            return StepOutcome(step, step.done)


def _create(step: CreateGrant, ranger: PolicyRest) -> Life:
    try:
        if step.life.policy_id >= 0:
            return _bring_up_to_date(step, _ours(step, ranger), ranger)
        return _applied(step, ranger.create_policy(step.policy))
    except RequestRejected as e:
        if step.life.policy_id < 0 and {NAME_TAKEN, RESOURCE_TAKEN} & set(e.reason_codes):
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
    other, name = _other_policy(step, refusal, ranger)
    why = ""
    if step.may_merge and other is not None and RESOURCE_TAKEN in refusal.reason_codes:
        begun = merger.begin(step, other, ranger)
        if isinstance(begun, Life):
            return begun
        why = f" and nothing is added to it because it {begun}"
    advice = f"add {', '.join(step.grant.accesses)} for `{step.grant.user}` to it"
    return step.life.become(State.BLOCKED, reason=f"{name} already exists{why}; {advice}")


def _other_policy(step: CreateGrant, refusal: RequestRejected, ranger: PolicyRest) -> tuple[Policy | None, str]:
    """Return the policy that Ranger's refusal names, if it can be found, and its name for messages."""
    if name := _POLICY_NAME.search(refusal.ranger_message):
        other = ranger.policy_by_name(step.policy.service, name[1])
        return other, f"policy {other.id} (`{name[1]}`)" if other else f"policy `{name[1]}`"
    if number := _POLICY_ID.search(refusal.ranger_message):
        return None, f"policy {re.sub('[^0-9]', '', number[1])}"
    return None, "a policy for this resource"


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
    read = ours.version or 0
    answer = ranger.update_policy(replaced(step.policy, id=ours.id, version=ours.version))
    written = _applied(step, answer)
    if answer.version == read + 1:
        return written
    lost = f"version {read + 1}" if answer.version == read + 2 else f"everything since version {read}"
    reason = (
        f"edited: policy {ours.id} was changed manually while version {answer.version} was written, which replaced"
        f" {lost}; Ranger keeps it in the policy's history"
    )
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
    if unknown := _UNKNOWN.search(refusal.ranger_message):
        groups = {group for item in step.policy.policy_items for group in item.groups}
        who = step.life.creator if unknown[1] == "User" else ", ".join(sorted(groups))
        reason = f"unknown {unknown[1].lower()}: Ranger has no `{who}`"
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
