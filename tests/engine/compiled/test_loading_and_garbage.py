"""Loading looks for no garbage; afterwards that goes on as before, whatever happened."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.download import ServicePolicies
from tests.engine.fixtures import RANGER, SAFE, asks, engine, item, on, policy

GOOD = policy(1, on(hall="a"), [item("alice", "read")])
REFUSED = {**GOOD, "resources": {"hall": {"values": ["${{1}}"]}}}


def changed(new: dict[str, Any]) -> ServicePolicies:
    delta = {"changeType": 1, "policiesVersion": 2, "policy": {"serviceType": "shop", "policyType": 0, **new}}
    document = {"serviceName": "shop1", "policyVersion": 2, "policyDeltas": [delta]}
    return decode_service_policies(json.dumps(document).encode())


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


class Cycle:
    """Garbage that only a collection finds, once nothing else refers to it."""

    def __init__(self) -> None:
        self.itself = self


def test_a_small_change_makes_no_garbage_old() -> None:
    """Old garbage is looked for rarely, and a program may apply many small changes."""
    judge, document = engine(GOOD, options=SAFE), changed(policy(1, on(hall="a"), [item("bob", "read")]))
    gc.collect()
    garbage = weakref.ref(Cycle())
    judge.with_deltas(document)
    gc.collect(0)
    assert garbage() is None


def test_no_garbage_is_looked_for_while_a_large_policy_changes() -> None:
    items = [item(f"user{n}", "read") for n in range(15_000)]  # many collections otherwise
    document = changed(policy(1, on(hall="a"), items))
    judge = engine(GOOD, options=SAFE)
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        generations.append(info["generation"])

    gc.callbacks.append(note)
    try:
        after = judge.with_deltas(document)
    finally:
        gc.callbacks.remove(note)
    assert not generations
    assert after.evaluate(asks({"hall": "a"}, "user7")).allowed
