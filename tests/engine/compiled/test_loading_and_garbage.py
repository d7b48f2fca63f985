"""Loading looks for no garbage; afterwards that goes on as before, whatever happened."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator

import pytest

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import RANGER, SAFE, asks, engine, item, on, policy

GOOD = policy(1, on(hall="a"), [item("alice", "read")])
REFUSED = {**GOOD, "resources": {"hall": {"values": ["${{1}}"]}}}


@pytest.fixture(params=[True, False], ids=["on", "off"])
def collects(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_after_loading(collects: bool) -> None:
    engine(GOOD, options=SAFE)
    assert gc.isenabled() is collects


def test_after_a_set_that_is_refused(collects: bool) -> None:
    with pytest.raises(PolicySetError):
        engine(REFUSED, options=RANGER)
    assert gc.isenabled() is collects


def test_no_garbage_is_looked_for_while_a_large_policy_changes() -> None:
    items = [item(f"user{n}", "read") for n in range(2_000)]  # several thousand objects: many collections otherwise
    changed = policy(1, on(hall="a"), items)
    delta = {"changeType": 1, "policiesVersion": 2, "policy": {"serviceType": "shop", "policyType": 0, **changed}}
    document = {"serviceName": "shop1", "policyVersion": 2, "policyDeltas": [delta]}
    decoded = decode_service_policies(json.dumps(document).encode())
    judge = engine(GOOD, options=SAFE)
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        generations.append(info["generation"])

    gc.callbacks.append(note)
    try:
        after = judge.with_deltas(decoded)
    finally:
        gc.callbacks.remove(note)
    assert not generations
    assert after.evaluate(asks({"hall": "a"}, "user7")).allowed
