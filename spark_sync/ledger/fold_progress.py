"""`FoldProgress`: how far the events of a ledger are folded."""

from __future__ import annotations

import msgspec

from spark_sync.ledger.ledger import Scope


class FoldProgress(msgspec.Struct, frozen=True):
    """Progress of the fold: the last folded round, and how far its rounds are decided.

    Losing it costs only time, because folding is idempotent.
    """

    folded: int = 0
    scope: Scope = Scope()
