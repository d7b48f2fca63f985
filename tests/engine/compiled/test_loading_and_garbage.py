"""Loading looks for no garbage; afterwards that goes on as before, whatever happened."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ranger_cdap.errors import PolicySetError
from tests.engine.fixtures import RANGER, SAFE, engine, item, on, policy

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
