"""A restored ledger that numbers or decides lives otherwise than the newer one whose grants are in Ranger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import LedgerLost
from ranger_cdap.ranger_model.document import replaced
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile import lost_ledger
from tests.simulation.pipeline import Killer, MemoryRanger, send
from tests.simulation.restores import Ledger

DATASET = EntityId("dataset", ("n1", "kv"))
PENDING = Life(DATASET, 1, "alice", Position(1, False, "s", "e"), State.PENDING, source="s", event="e",
               accesses=("read", "write"))  # fmt: skip
UNDECIDED: dict[str, Any] = {"creator": None, "accesses": (), "candidates": ("alice", "bob")}
ENDED = Position(9, True, "s", "d")
CASES: dict[str, tuple[Life, str]] = {
    "contested": (replace(PENDING, state=State.CONTESTED, **UNDECIDED), ""),
    "contested, and over": (replace(PENDING, state=State.CLOSED, ended=ENDED, **UNDECIDED), ""),
    "of the next creator": (replace(PENDING, creator="carol"), "carol"),
    "of the same creator": (PENDING, "alice"),
    "over": (replace(PENDING, state=State.CLOSED, ended=ENDED), ""),
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_newer_ledger_sent_for_another_life_ends(name: str) -> None:
    ranger, newer = MemoryRanger(Killer()), Ledger(Killer())
    newer.rows[DATASET, 1] = PENDING
    send(newer, ranger)  # type: ignore[arg-type]
    assert ranger.holder(DATASET) == "alice"
    life, holder = CASES[name]
    restored = Ledger(Killer())
    restored.rows[DATASET, 1] = life
    lost_ledger.compare(restored, list(ranger.policies.values()), "cdap")  # type: ignore[arg-type]
    send(restored, ranger)  # type: ignore[arg-type]
    assert ranger.holder(DATASET) == holder


def test_a_grant_of_an_entity_that_an_inventory_alone_found_is_of_a_newer_ledger() -> None:
    ranger, newer, restored = MemoryRanger(Killer()), Ledger(Killer()), Ledger(Killer())
    newer.rows[DATASET, 1] = PENDING
    send(newer, ranger)  # type: ignore[arg-type]
    restored.enter_baseline(5, [DATASET], {})
    with pytest.raises(LedgerLost, match=r"life 1 of `dataset:n1\.kv`"):
        lost_ledger.compare(restored, list(ranger.policies.values()), "cdap")  # type: ignore[arg-type]


def test_what_people_made_of_a_policy_is_left_to_them() -> None:
    """Nobody tells whose the right is of someone who never was a candidate."""
    ranger, newer = MemoryRanger(Killer()), Ledger(Killer())
    newer.rows[DATASET, 1] = PENDING
    send(newer, ranger)  # type: ignore[arg-type]
    ((number, policy),) = ranger.policies.items()
    ranger.policies[number] = replaced(policy, policy_items=[replaced(policy.policy_items[0], users=["dave"])])
    restored = Ledger(Killer())
    restored.rows[DATASET, 1] = CASES["contested"][0]
    lost_ledger.compare(restored, list(ranger.policies.values()), "cdap")  # type: ignore[arg-type]
    send(restored, ranger)  # type: ignore[arg-type]
    assert ranger.holder(DATASET) == "dave"
