"""The writer: creates our policies by POST, deletes them when their entity is gone, touches nobody else's."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import Protocol

from ranger_cdap.engine.wire import Policy
from ranger_cdap.errors import NotFound, RequestRejected
from spark_sync.grant_policy import same_content
from spark_sync.life import Life, State
from spark_sync.plan import Give, Settle, Step, TakeBack

NAME_TAKEN, RESOURCE_TAKEN = 3006, 3010
_UNKNOWN_USER = re.compile(r"User name: .* does not exist in ranger admin", re.DOTALL)
_POLICY_ID = re.compile(r"policy-id=\[([0-9.,\s]+)\]")
_POLICY_NAME = re.compile(r"policy-name=\[(.*?)\], service=", re.DOTALL)


class PolicyRest(Protocol):
    """The part of `RangerAdmin` that the writer uses."""

    def create_policy(self, policy: Policy) -> Policy:
        """Create a policy."""

    def policy_by_guid(self, service: str, guid: str) -> Policy | None:
        """The policy with that guid."""

    def policy_by_name(self, service: str, name: str) -> Policy | None:
        """The policy with that name."""

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy."""


def carry_out(step: Step, ranger: PolicyRest) -> Life:
    """Do one step and return the life as it is to stand in the ledger; doing it again is harmless.

    Raises:
        RangerAdminError: Ranger Admin is away or refuses the account; nothing is known about the step.
    """
    match step:
        case Give():
            return _give(step, ranger)
        case TakeBack():
            return _take_back(step, ranger)
        case Settle():
            return step.life


def _give(step: Give, ranger: PolicyRest) -> Life:
    try:
        created = ranger.create_policy(step.policy)
    except RequestRejected as e:
        if {NAME_TAKEN, RESOURCE_TAKEN} & set(e.reason_codes):
            return _found_there(step, e, ranger)
        if _UNKNOWN_USER.search(e.ranger_message):
            return replace(step.life, state=State.PENDING, reason=f"unknown user: Ranger has no `{step.life.creator}`")
        return replace(step.life, state=State.FAILED, reason=str(e))
    return _applied(step.life, created)


def _found_there(step: Give, refusal: RequestRejected, ranger: PolicyRest) -> Life:
    """Ranger has a policy of that name or resource: ours from a run that was killed, ours but edited, or another's."""
    found = ranger.policy_by_guid(step.policy.service, step.policy.guid or "")
    if found is not None and same_content(step.policy, found):
        return _applied(step.life, found)
    if found is not None:
        return replace(
            step.life,
            state=State.BLOCKED,
            policy_id=found.id or -1,
            reason=f"edited: policy {found.id} was changed by hand",
        )
    advice = f"add {', '.join(step.life.accesses)} for `{step.life.creator}` to it"
    reason = f"{_other_policy(step, refusal, ranger)} is there already; {advice}"
    return replace(step.life, state=State.BLOCKED, reason=reason)


def _other_policy(step: Give, refusal: RequestRejected, ranger: PolicyRest) -> str:
    if number := _POLICY_ID.search(refusal.ranger_message):
        return f"policy {re.sub('[^0-9]', '', number[1])}"
    if name := _POLICY_NAME.search(refusal.ranger_message):
        other = ranger.policy_by_name(step.policy.service, name[1])
        return f"policy {other.id} (`{name[1]}`)" if other else f"policy `{name[1]}`"
    return "a policy for this resource"


def _applied(life: Life, policy: Policy) -> Life:
    return replace(
        life,
        state=State.APPLIED,
        reason="",
        policy_id=-1 if policy.id is None else policy.id,
        policy_version=-1 if policy.version is None else policy.version,
    )


def _take_back(step: TakeBack, ranger: PolicyRest) -> Life:
    found = ranger.policy_by_guid(step.policy.service, step.policy.guid or "")
    if found is None or found.id is None:
        return replace(step.life, state=State.CLOSED, reason="")
    if not same_content(step.policy, found):
        reason = f"edited: policy {found.id} was changed by hand; its entity is gone, so delete it if it is not wanted"
        return replace(step.life, reason=reason)
    with contextlib.suppress(NotFound):  # somebody else deleted it in this moment, which is what we wanted
        ranger.delete_policy(found.id)
    return replace(step.life, state=State.CLOSED, reason="")
