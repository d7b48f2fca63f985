"""`StepOutcome`: what became of a step."""

from __future__ import annotations

from typing import NamedTuple

from spark_sync.grants.plan import Step
from spark_sync.ledger.life import Life


class StepOutcome(NamedTuple):
    """A step and the resulting life; `revoked`: the step removed a grant from Ranger, which had not gone before."""

    step: Step
    life: Life
    revoked: bool = False
