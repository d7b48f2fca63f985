"""Combination of several decisions into one, as in Ranger's Policy Decision Point. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from ranger_cdap.engine import Decision
from ranger_cdap.wire.pdp_wire import PdpDecision

_T = TypeVar("_T")

_STRENGTH: Final = (PdpDecision.ALLOW, PdpDecision.NOT_DETERMINED, PdpDecision.DENY)
"""Decisions by increasing strength; of several, the strongest counts."""


def pdp_decision_of(decision: Decision) -> PdpDecision:
    """Return the name of the engine's decision."""
    if decision.allowed:
        return PdpDecision.ALLOW
    return PdpDecision.DENY if decision.determined else PdpDecision.NOT_DETERMINED


def deciding(decisions: Iterable[tuple[PdpDecision, _T]]) -> tuple[PdpDecision, _T]:
    """Return the decision that counts if all are required: the first of the strongest."""
    return max(decisions, key=lambda pair: _STRENGTH.index(pair[0]))


def overall(decisions: Sequence[PdpDecision]) -> PdpDecision:
    """Return the decision on independent accesses: the one they share, or `PARTIAL`."""
    return decisions[0] if len(set(decisions)) == 1 else PdpDecision.PARTIAL
