"""A program reads and writes with the privileges of the person who started it."""

from __future__ import annotations

import pytest

from tests.cdap_master.builder import ARTIFACT, build
from tests.cdap_master.fixtures import World, wait_until

RUNS = "/v3/namespaces/till/apps/Purchases/workers/Recorder"
TO_START = ["EXECUTE program:till.Purchases.worker.Recorder", "READ namespace:till", f"READ artifact:till.{ARTIFACT}"]
TO_LOOK = ["READ program:till.Purchases.worker.Recorder"]
ENDS = {
    "till-writer": (["READ dataset:till.purchases", "WRITE dataset:till.purchases"], "COMPLETED"),
    "till-reader": (["READ dataset:till.purchases"], "FAILED"),
    "till-stranger": (["WRITE dataset:till.other"], "FAILED"),
}


@pytest.fixture(scope="module")
def till(cdap_world: World) -> World:
    build(cdap_world, "till", "Purchases")
    cdap_world.people({person: [*TO_START, *TO_LOOK, *held] for person, (held, _) in ENDS.items()})
    return cdap_world


@pytest.mark.parametrize("person", ENDS)
def test_a_run_ends_as_its_privileges_let_it(till: World, person: str) -> None:
    user = till.user(person)
    earlier = {run["runid"] for run in user.must(f"GET {RUNS}/runs").json()}

    user.must(f"POST {RUNS}/start", {})

    def status() -> str:
        return next((run["status"] for run in user.must(f"GET {RUNS}/runs").json() if run["runid"] not in earlier), "")

    wait_until(lambda: status() in ("COMPLETED", "FAILED", "KILLED"), "the run ends")
    assert status() == ENDS[person][1]
