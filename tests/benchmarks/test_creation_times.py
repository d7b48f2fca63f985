"""A benchmark of latency reports what a system of known latency does, and counts whole families of processes."""

from __future__ import annotations

import subprocess
import sys
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.creation_times import QUANTILES, entity_of, follow_creations, quantile, uri_of
from benchmarks.processes import cpu_seconds, programs, wait_until
from ranger_cdap.cdap.entity import EntityId

SECONDS = (0.0, 0.03, 0.2, 0.11, 0.3, 0.01)

BURN = """
import time
while time.process_time() < 0.3:
    pass
"""


def test_an_effect_lies_between_the_last_denial_and_the_reported_time() -> None:
    """Slow and fast creations overlap; none is measured later because another one waits."""
    effects: dict[EntityId, float] = {}

    def create(n: int) -> tuple[EntityId, float]:
        entity, began = EntityId("dataset", ("ns1", f"d{n}")), time.time()
        effects[entity] = began + SECONDS[n]
        return entity, began

    def denial(entity: EntityId) -> str:
        return "" if time.time() >= effects[entity] else f"{entity} is pending"

    found = follow_creations(len(SECONDS), 0.02, create, denial)

    assert {creation.entity for creation in found} == effects.keys()
    for creation in found:
        assert creation.began <= creation.denied <= effects[creation.entity] <= creation.allowed
        assert creation.reason == (f"{creation.entity} is pending" if creation.denied > creation.began else "")


@pytest.mark.parametrize("share", QUANTILES.values())
@given(values=st.lists(st.integers(0, 50), min_size=1, max_size=300))
def test_a_quantile_is_the_least_value_that_covers_its_share(share: float, values: list[int]) -> None:
    def covered(by: float) -> Fraction:
        return Fraction(sum(value <= by for value in values), len(values))

    found, wanted = quantile(values, share), Fraction(str(share))

    assert covered(found) >= wanted
    assert all(covered(value) < wanted for value in values if value < found)


@pytest.mark.parametrize("entity", [EntityId("namespace", ("ns1",)), EntityId("dataset", ("ns1", "a.b"))])
def test_an_address_names_the_entity_it_was_made_of(entity: EntityId) -> None:
    assert entity_of(uri_of(entity)) == entity


def test_work_and_programs_of_children_count() -> None:
    command = ["sh", "-c", '"$0" -c "$1"; cat', sys.executable, BURN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"echo\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"echo\n"
        running, used = programs(process.pid), cpu_seconds(process.pid)
        process.stdin.close()

    assert running == {"sh", "cat"}
    assert used >= 0.29


def test_waiting_in_vain_ends_with_what_was_awaited() -> None:
    with pytest.raises(TimeoutError, match=r"not within 0\.01 s: the impossible"):
        wait_until(lambda: False, "the impossible", seconds=0.01, every=0.001)
