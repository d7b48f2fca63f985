"""Writer of policies of several entities: one read and at most one write for all changes to a policy.

A revocation never fails because the smaller policy is refused: then the whole policy is deleted, and the grants that
stay are written again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ranger_cdap.cdap.shared_policy import SharedPolicy, shared_policy
from ranger_cdap.errors import NotFound, RangerTooOld, RequestRejected
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import overwritten
from spark_sync.grants.outcome import StepOutcome
from spark_sync.grants.plan import Join
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.refusals import RESOURCE_TAKEN, is_taken, other_policy, unknown_principal
from spark_sync.grants.shared_write import (
    TOO_OLD,
    PolicyInRanger,
    SharedWrite,
    after_edit,
    applied,
    displaced,
    elsewhere,
    found,
    left,
    wanted,
)
from spark_sync.ledger.life import State

_REPEATS: Final = 5
"""Attempts to write a list of entities that another policy has as well."""


def write_shared(write: SharedWrite, ranger: PolicyRest) -> list[StepOutcome]:
    """Carry out all changes to one policy; idempotent.

    Raises:
        RangerTooOld: Ranger ignores `additionalResources`; what was created is deleted again.
        RangerAdminError: as `spark_sync.grants.writer.carry_out`.
    """
    there = found(write, ranger.policy_by_guid(write.service, write.place.guid))
    if there.edited:
        return after_edit(write, there)
    joins, content = write.joins, wanted(write, there)
    entities = content.entities if content else frozenset()
    if entities == there.entities:
        return [*(applied(join, there.policy) for join in joins), *left(write, there)]
    if there.policy is None or there.policy.id is None:
        return _create(write, there, joins, content, ranger)
    if content is None:
        _delete(there.policy.id, ranger)
        return list(left(write, there))
    return _update(write, there, joins, content, ranger)


def _create(
    write: SharedWrite, there: PolicyInRanger, joins: Sequence[Join], content: SharedPolicy | None, ranger: PolicyRest
) -> list[StepOutcome]:
    if content is None:
        return list(left(write, there))
    try:
        answer = _accepted(content, write, ranger.create_policy)
    except RequestRejected as e:
        policy = shared_policy(content, write.service)
        return [*(_refused(join, policy, e) for join in joins), *left(write, there)]
    except RangerTooOld:
        cut = ranger.policy_by_guid(write.service, write.place.guid)
        if cut is not None and cut.id is not None:
            _delete(cut.id, ranger)
        raise RangerTooOld(TOO_OLD) from None
    return [*(applied(join, answer) for join in joins), *left(write, there)]


def _update(
    write: SharedWrite, there: PolicyInRanger, joins: Sequence[Join], content: SharedPolicy, ranger: PolicyRest
) -> list[StepOutcome]:
    if there.policy is None or there.policy.id is None:
        raise ValueError("only a policy that was read is updated")
    ids = {"id": there.policy.id, "version": there.policy.version}
    try:
        answer = _accepted(content, write, lambda policy: ranger.update_policy(replaced(policy, **ids)))
    except RequestRejected as e:
        if any(step.life.entity in there.entities for step in write.leaves):
            return _give_up(write, there, joins, there.policy.id, ranger)
        policy = shared_policy(content, write.service)
        return [*(_refused(join, policy, e) for join in joins), *left(write, there)]
    except RangerTooOld:
        return _give_up(write, there, joins, there.policy.id, ranger)
    reason = overwritten(there.policy, answer)
    outcomes = [applied(join, answer) for join in joins]
    if reason:
        outcomes = [StepOutcome(join, life.become(State.BLOCKED, reason=reason)) for join, life, _ in outcomes]
    return [*outcomes, *left(write, there, reason)]


def _accepted(content: SharedPolicy, write: SharedWrite, send: Callable[[Policy], Policy]) -> Policy:
    """Send the policy, with its first entity repeated as often as Ranger needs to tell it from others of the same list.

    Return Ranger's answer. Such another one may be of ours, with other terms, while grants move between them.

    Raises:
        RangerTooOld: Ranger keeps one entity of several.
        RequestRejected: Ranger refuses it.
    """
    for repeats in range(_REPEATS):
        policy = shared_policy(content, write.service, repeats=repeats)
        try:
            answer = send(policy)
        except RequestRejected as e:
            if set(e.reason_codes) != {RESOURCE_TAKEN} or repeats == _REPEATS - 1:
                raise
        else:
            if len(answer.additional_resources) != len(policy.additional_resources):
                raise RangerTooOld(TOO_OLD)
            return answer
    raise AssertionError("the last attempt returns or raises")


def _give_up(
    write: SharedWrite, there: PolicyInRanger, joins: Sequence[Join], policy_id: int, ranger: PolicyRest
) -> list[StepOutcome]:
    """Delete a policy that Ranger does not let shrink, so that no grant outlives its entity; what stays is pending."""
    _delete(policy_id, ranger)
    again = (elsewhere(join) for join in joins)
    return [*again, *left(write, there), *displaced(write.others, write.place)]


def _refused(join: Join, policy: Policy, refusal: RequestRejected) -> StepOutcome:
    if who := unknown_principal(refusal, policy, join.grant.user):
        return StepOutcome(join, join.life.become(State.PENDING, reason=who))
    if is_taken(refusal):
        advice = f"add {', '.join(join.grant.accesses)} for `{join.grant.user}` to it"
        reason = f"{other_policy(refusal)} already exists; {advice}"
        return StepOutcome(join, join.life.become(State.BLOCKED, reason=reason))
    return StepOutcome(join, join.life.become(State.FAILED, reason=str(refusal)))


def _delete(policy_id: int, ranger: PolicyRest) -> None:
    try:
        ranger.delete_policy(policy_id)
    except NotFound:  # deleted concurrently, as wanted
        return
