"""How Ranger's Policy Decision Point makes one decision of several. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from ranger_cdap.engine import Decision
from ranger_cdap.service.wire.pdp_wire import PdpDecision

_T = TypeVar("_T")

_STRENGTH: Final = (PdpDecision.ALLOW, PdpDecision.NOT_DETERMINED, PdpDecision.DENY)
"""Of several, the later of these counts."""


def verdict_of(decision: Decision) -> PdpDecision:
    """The name of the engine's decision."""
    if decision.allowed:
        return PdpDecision.ALLOW
    return PdpDecision.DENY if decision.determined else PdpDecision.NOT_DETERMINED


def deciding(verdicts: Iterable[tuple[PdpDecision, _T]]) -> tuple[PdpDecision, _T]:
    """Of several verdicts all of which are needed, the one that counts: the first of the strongest."""
    return max(verdicts, key=lambda pair: _STRENGTH.index(pair[0]))


def overall(verdicts: Sequence[PdpDecision]) -> PdpDecision:
    """The verdict on accesses that stand for themselves: the one they share, or `PARTIAL`."""
    return verdicts[0] if len(set(verdicts)) == 1 else PdpDecision.PARTIAL
