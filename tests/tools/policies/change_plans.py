"""Steps of a plan of changes."""

from __future__ import annotations

from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.tools.policies.change_plan import ChangePlan


def changes(plan: ChangePlan) -> tuple[Step, ...]:
    """Return the steps that change Ranger."""
    return tuple(step for step in plan.steps if step.changes)


def blocked(plan: ChangePlan) -> tuple[Step, ...]:
    """Return the steps that Ranger would refuse."""
    return tuple(step for step in plan.steps if step.change is StepChange.BLOCKED)
