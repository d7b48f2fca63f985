"""`refold`: what new events change of an entity's lives."""

from __future__ import annotations

from spark_sync.ledger.fold import fold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.ledger import Change, History


def refold(history: History, settings: FoldSettings) -> Change | None:
    """The lives to write and the numbers to drop; `None` where all stays as it is."""
    before = {life.number: life for life in history.lives}
    after = {life.number: life for life in fold(history.entity, history.events, history.lives, settings)}
    changed = tuple(life for number, life in after.items() if before.get(number) != life)
    dropped = tuple(number for number in before if number not in after)
    return Change(history.entity, changed, dropped) if changed or dropped else None
