"""`RivalCheck`: whether new grants may go into a policy of several entities, looked up before the ledger records so.

A policy on exactly the entity stops the grant: one of another author, beside which Ranger would accept a policy of
several entities, or our own, which a run that was killed may have written in the other layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.outcome import StepOutcome
from spark_sync.grants.plan import CreateGrant
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.unmanaged import is_rival

TAKEN: Final = "another policy has exactly this resource"
"""The reason of the resulting life if there is such a policy; only a policy of its own shows what to do then."""
_FEW: Final = 20
"""New grants whose resources are looked up one by one; of more, the policies of their namespace are listed."""


@dataclass(frozen=True, slots=True)
class RivalCheck:
    """New grants of equal terms; the resulting lives are unchanged if they may be shared."""

    steps: tuple[CreateGrant, ...]

    def carry_out(self, ranger: PolicyRest) -> list[StepOutcome]:
        """Look the policies up.

        Raises:
            RangerAdminError: Ranger Admin cannot be read.
        """
        together = _of_namespace(self.steps[0], ranger) if len(self.steps) > _FEW else None
        return [_checked(step, _exactly(step, ranger) if together is None else together) for step in self.steps]


def _checked(step: CreateGrant, policies: Sequence[Policy]) -> StepOutcome:
    taken = any(is_rival(policy, step.grant) for policy in policies)
    return StepOutcome(step, replace(step.life, reason=TAKEN) if taken else step.life)


def _exactly(step: CreateGrant, ranger: PolicyRest) -> list[Policy]:
    exact = {level: value for level, value in step.grant.resource.items() if value != "*"}
    return ranger.policies_matching(step.policy.service, exact)


def _of_namespace(step: CreateGrant, ranger: PolicyRest) -> list[Policy]:
    above = ("instance",) if step.life.entity.type == "namespace" else ("instance", "namespace")
    within = {level: value for level, value in step.grant.resource.items() if level in above}
    return ranger.policies_matching(step.policy.service, within)
