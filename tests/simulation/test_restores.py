"""Law 11, ledgers that went back: whatever copy of the state is restored, no one holds what is not theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from ranger_cdap.wire import event_names
from spark_sync.reconcile import lost_ledger
from tests.simulation.restores import stale_owners

SEEDS = (*range(100), 409, 602, 758, 2_415, 2_814, 2_977, 3_464, 4_595, 4_883, 6_745, 7_597)
MOST_TRIES = 500


def test_no_restored_ledger_makes_stale_owners() -> None:
    found: dict[int, list[str]] = {}
    happened: Counter[str] = Counter()
    for seed in SEEDS:
        world, sentences = stale_owners(seed)
        found |= {seed: sentences} if sentences else {}
        happened += world.happened
    assert found == {}
    assert happened["missing file"]
    assert happened["restore"] > 2 * happened["missing file"]  # most find all that they need


MUTANTS: dict[str, tuple[int, Any, str, Callable[..., Any]]] = {
    "files that are missing are no matter": (500, event_names, "missing_file", lambda *_: 0),
    "what was pending is granted": (16_800, lost_ledger, "forget_undecided", lambda _: None),
    "a grant of a life that cannot be told stays": (2_400, lost_ledger, "_is_of_another", lambda *_: False),
    "what a newer ledger sent stays": (300, lost_ledger, "_to_revoke", lambda life: life),
}
"""Each with the seed from which the search begins."""


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_every_clause_is_needed(name: str) -> None:
    first, *fault = MUTANTS[name]
    with patch.object(*fault):
        assert any(stale_owners(seed)[1] for seed in range(first, first + MOST_TRIES))
