"""Writer of policies: creates ours by POST, takes them back with their entity, and leaves what people made in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from ranger_cdap.cdap.grant import CREATORS_LABEL, FORMER_LABEL, MOST_COPIES
from ranger_cdap.errors import AccessForbidden, ConflictingChange, NotFound, RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import (
    LISTED,
    MOST_LISTED,
    as_copy,
    content_of,
    deleted_manually,
    listed,
    overwritten,
    seen,
)
from spark_sync.grants.own_right import covers, given, touches
from spark_sync.grants.plan import WITHOUT_GRANT, CreateGrant, NoOp, RevokePolicy, Step
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.refusals import NAME_TAKEN, is_taken, unknown_principal
from spark_sync.ledger.life import WAITS_FOR_ZONE, Life, State

_FORBIDDEN: Final = (
    "the account of `sync.username` may not write into it; name the account in `service.admin.users` of Ranger's"
    " service, as `ranger-cdap setup` does, or as an administrator of the zone"
)


class StepOutcome(NamedTuple):
    """A step and the resulting life.

    `revoked`: the step removed a grant from Ranger, which had not gone before. `again`: the life is to be recorded, and
    the step carried out for it again.
    """

    step: Step
    life: Life
    revoked: bool = False
    again: bool = False


def carry_out(step: Step, ranger: PolicyRest) -> StepOutcome:
    """Carry out one step; idempotent.

    Raises:
        RangerAdminError: Ranger Admin is unavailable, met a concurrent modification, or rejects the account; the
            outcome of the step is unknown.
    """
    match step:
        case CreateGrant() if step.elsewhere and (seen := _seen_before(step.elsewhere, ranger)).taken:
            # A killed run may have begun the move: its policy must not give what a person took.
            left, revoked = _revoke(replace(step.elsewhere, zones=(step.life.zone,)), ranger)
            return StepOutcome(
                step, left if left.state is State.BLOCKED else seen.become(State.BLOCKED, reason=seen.taken), revoked
            )
        case CreateGrant():
            life = _create(step, ranger)
            if life.state is State.APPLIED and step.elsewhere is not None:
                life = _moved(life, step.elsewhere, ranger)
            return StepOutcome(step, life, again=life.copy > step.life.copy)
        case RevokePolicy() if step.done.is_open and (seen := _seen_before(step, ranger)).taken != step.life.taken:
            return StepOutcome(step, seen, again=True)
        case RevokePolicy():
            life, revoked = _revoke(step, ranger)
            again = life.state is State.PENDING and not life.is_from_backup
            return StepOutcome(step, life, revoked, again=again)
        case NoOp():
            return StepOutcome(step, step.done)


def _create(step: CreateGrant, ranger: PolicyRest) -> Life:
    """Create the policy, or bring up to date what people have left of it.

    If they moved it away it is theirs, and the life is `pending` with its next policy, which is recorded first: a run
    that is killed would else not know that policy.
    """
    life = step.life
    policy = as_copy(step.policy, life, life.copy)
    refusal: RequestRejected | ConflictingChange | None = None
    try:
        if life.policy_id < 0:
            try:
                return _applied(step, ranger.create_policy(policy))
            except (RequestRejected, ConflictingChange) as e:  # perhaps since there is one with our guid
                refusal = e
        ours = ranger.policy_by_guid(policy.service, policy.guid, life.zone)
        if ours is None:
            if refusal is None:
                return deleted_manually(life)
            if isinstance(refusal, ConflictingChange) or not is_taken(refusal):
                raise refusal
            return _applied(step, _beside_others(ranger.create_policy, policy, LISTED))
        # A killed run may have taken the right out of one, which is a person's since.
        if covers(ours, step.grant.resource) and FORMER_LABEL not in ours.policy_labels:
            return _bring_up_to_date(step, ours, policy, ranger)
    except RequestRejected as e:
        return _refused(step, e)
    except AccessForbidden:
        if not life.zone:
            raise
        return life.become(State.BLOCKED, reason=f"{WAITS_FOR_ZONE}{life.zone}: {_FORBIDDEN}")
    if life.copy + 1 == MOST_COPIES:
        return life.become(State.FAILED, reason=f"people moved {MOST_COPIES} of its policies to other resources")
    return life.become(State.PENDING, reason="", copy=life.copy + 1, **WITHOUT_GRANT)


def _moved(life: Life, elsewhere: RevokePolicy, ranger: PolicyRest) -> Life:
    """Return a life with its grant once nothing of it is in other zones, or blocked if something cannot be removed."""
    left, _ = _revoke(elsewhere, ranger)
    return life.become(State.BLOCKED, reason=left.reason) if left.state is State.BLOCKED else replace(life, moves=False)


def _beside_others(send: Callable[[Policy], Policy], policy: Policy, times: int) -> Policy:
    """Send the policy, listing its entity once more, or under another name, as long as a person's has the same.

    Raises:
        RequestRejected: for another reason, or with its entity listed `MOST_LISTED` times.
    """
    name = policy.name
    while True:
        try:
            return send(listed(policy, times))
        except RequestRejected as e:
            if not is_taken(e) or times >= MOST_LISTED:
                raise
            if NAME_TAKEN in e.reason_codes:
                policy = replaced(policy, name=f"{name} {times}")
        times += 1


def _bring_up_to_date(step: CreateGrant, ours: Policy, policy: Policy, ranger: PolicyRest) -> Life:
    """Update our policy; in one that people edited only what is ours, unless they took it away."""
    life, content, wanted = step.life, content_of(ours), content_of(policy)
    if content == wanted:
        return _applied(step, ours)
    if edited := content not in step.former:
        if reason := step.right.taken_from(ours):
            return life.become(State.BLOCKED, reason=reason, taken=reason, **seen(ours))
        policy = replaced(ours, policy_items=[*step.right.out_of(ours).policy_items, *policy.policy_items])
        if given(policy) == given(ours):
            return _applied(step, ours, written=wanted)
        answer = ranger.update_policy(policy)
    else:
        policy = replaced(policy, id=ours.id, version=ours.version)
        answer = _beside_others(ranger.update_policy, policy, max(LISTED, len(ours.additional_resources) + 1))
    applied, reason = _applied(step, answer, written=wanted if edited else ""), overwritten(ours, answer)
    return replace(applied, state=State.BLOCKED, reason=reason) if reason else applied


def _refused(step: CreateGrant, refusal: RequestRejected) -> Life:
    if reason := unknown_principal(refusal, step.policy, step.life.creator or ""):
        return step.life.become(State.PENDING, reason=reason)
    return step.life.become(State.FAILED, reason=str(refusal))


def _applied(step: CreateGrant, policy: Policy, *, written: str = "") -> Life:
    """Return the life with its grant; `written`: what our part of the policy is, if people have edited it since."""
    return step.life.become(
        State.APPLIED,
        reason="",
        applied=step.grant.accesses,
        written=written or content_of(policy),
        terms=step.terms,
        **seen(policy),
    )


def _seen_before(step: RevokePolicy, ranger: PolicyRest) -> Life:
    """Return an open life that is about to be revoked, or moved, with how a person has taken its right, if so.

    It is recorded first: once the right is taken out of the policy, nothing in Ranger shows it.
    """
    life = step.life
    if life.is_from_backup:
        return life
    written = as_copy(step.policy, life, life.copy)
    for zone in step.zones:
        ours = ranger.policy_by_guid(written.service, written.guid, zone)
        if ours is None or FORMER_LABEL in ours.policy_labels or not covers(ours, _resource(step)):
            continue
        taken = "" if content_of(ours) in step.contents else step.right.taken_from(ours)
        if taken or zone == life.zone:
            return replace(life, taken=taken, zone=zone, **seen(ours))
    return life


def _revoke(step: RevokePolicy, ranger: PolicyRest) -> tuple[Life, bool]:
    """Return the resulting life, and whether anything was revoked here.

    A policy that is left is a person's from then on, and so labelled: should the life get its grant again, it is
    another policy. Its version is recorded, so that an older one shows that Ranger went back.
    """
    life, done, revoked = step.life, step.done, False
    for copy, written, ours in _policies_of(step, ranger):
        try:
            rest = answer = _rest(step, ours, written)
            if rest is None:
                ranger.delete_policy(ours.id or -1)
            elif rest is not ours:
                answer = ranger.update_policy(rest)
                if lost := overwritten(ours, answer):
                    return life.become(life.stuck_state, reason=lost), True
        except NotFound:  # deleted concurrently, as wanted
            rest = answer = ours
        except RequestRejected as e:
            return life.become(life.stuck_state, reason=str(e)), revoked
        revoked = revoked or rest is not ours
        if answer is not None and copy + 1 >= life.copy:
            done = replace(done, copy=max(copy + 1, life.copy), **seen(answer) | {"policy_id": -1})
        if rest is not None and rest is not ours and not rest.is_enabled:
            done = replace(done, reason=f"policy {ours.id} (`{ours.name}`) has no items left and is disabled")
    return done, revoked


def _policies_of(step: RevokePolicy, ranger: PolicyRest) -> Iterator[tuple[int, Policy, Policy]]:
    """Yield the policies of a life that are in Ranger: the number, as it was written, as it is."""
    for zone in step.zones:
        for copy in range(MOST_COPIES):
            written = as_copy(step.policy, step.life, copy)
            ours = ranger.policy_by_guid(written.service, written.guid, zone)
            if ours is not None and ours.id is not None:
                yield copy, written, ours
            if copy >= step.life.copy and (ours is None or touches(ours, _resource(step))):
                break


def _rest(step: RevokePolicy, ours: Policy, written: Policy) -> Policy | None:
    """Return what is left of a policy of ours: the same if nothing of it is ours, `None` if nothing is left."""
    if content_of(ours) in step.contents:
        return None
    if not touches(ours, _resource(step)) or not step.right.is_in(ours):
        return ours
    rest = step.right.out_of(ours)
    if content_of(rest) == content_of(written):
        return None
    labels = [label for label in ours.policy_labels if label != CREATORS_LABEL]
    rest = replaced(rest, policy_labels=[*labels, FORMER_LABEL])
    if rest.items():
        return rest
    # Ranger refuses a policy without items that is not audited.
    return replaced(rest, is_enabled=False, is_audit_enabled=True)


def _resource(step: RevokePolicy) -> dict[str, str]:
    return {level: one.values[0] for level, one in step.policy.resources.items()}
