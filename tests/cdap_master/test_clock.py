"""The clock of CDAP's host is set back while people work: nobody gains what another one created.

CDAP gets a clock of its own by a small library, which is compiled here and preloaded into its Java.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ranger_cdap.testing import EmbeddedRanger
from tests.cdap_master.fixtures import World, wait_until, world
from tests.cdap_master.in_memory_cdap import CdapUser
from tests.cdap_master.stored_events import checks, records
from tests.cdap_master.sync_job import Job

SOURCE = Path(__file__).with_name("set_clock.c")
STEP = 20
"""Seconds by which the clock is set back: more than an answer may take."""
PATH, WHOLE = "/v3/namespaces/clocks", "/v3/unrecoverable/namespaces/clocks"


@dataclass
class Clock:
    """The clock of a CDAP, which is ahead of the machine's by so many seconds."""

    file: Path

    def set_ahead(self, seconds: int) -> None:
        with self.file.open("r+b") as file:
            file.write(struct.pack("=q", seconds))


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Clock:
    file = tmp_path_factory.mktemp("clock") / "ahead"
    file.write_bytes(bytes(8))
    return Clock(file)


@pytest.fixture(scope="module")
def clock_world(ranger: EmbeddedRanger, clock: Clock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler, for the clock of CDAP")
    directory = tmp_path_factory.mktemp("world")
    library = directory / "set_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True)
    environment = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(clock.file)}
    with world(ranger, directory, "ranger-cdap-extension-6.11.jar", environment=environment) as made:
        yield made


def test_a_clock_that_is_set_back_gives_nobody_what_is_anothers(
    clock_world: World, clock: Clock, tmp_path: Path
) -> None:
    made = clock_world
    job = Job(made, tmp_path)
    made.people({name: ["WRITE instance:"] for name in ("alice", "mallory", "carol", "dave")})
    for action in ("READ", "ADMIN"):
        made.ranger.give_everywhere("carol", action, ("namespace",))
    made.refresh()
    alice, mallory, carol, dave = map(made.user, ("alice", "mallory", "carol", "dave"))

    alice.must(f"PUT {PATH}", {})
    wait_until(lambda: _ended(made, "PUT") != [], "CDAP has said that alice's request ended")
    clock.set_ahead(-STEP)
    mallory.must(f"PUT {PATH}", {})
    job.pass_skew()
    assert job.run(("PUT", PATH))["namespace:clocks"].creator == "alice"
    assert _checked(made, "mallory") < _ended(made, "PUT")[0], "by CDAP's clock mallory was first"
    assert [_may_change(user) for user in (alice, mallory)] == [True, False]

    clock.set_ahead(0)
    carol.must(f"DELETE {WHOLE}")
    wait_until(lambda: _ended(made, "DELETE") != [], "CDAP has said that the deletion ended")
    clock.set_ahead(-STEP)
    dave.must(f"PUT {PATH}", {})
    job.pass_skew()
    # CDAP may never deliver the record of a request from when its clock was set back.
    found = job.run(("DELETE", WHOLE)).get("namespace:clocks")
    assert _checked(made, "dave") < _ended(made, "DELETE")[0], "by CDAP's clock dave was before carol"
    assert found is None or found.creator in ("dave", None)
    assert job.granted("namespace:clocks").keys() <= {"dave"}
    # What was allowed a moment ago the extension may still remember, for five seconds at most.
    wait_until(lambda: not _may_change(alice), "alice's grant has no effect any more", seconds=6.0)
    assert not _may_change(mallory)
    assert alice.ask(f"DELETE {WHOLE}").status_code == 403


def _ended(made: World, method: str) -> list[int]:
    """When the requests about the namespace ended, by CDAP's clock, in the order of their records."""
    found = [each for each in records(made) if each.method == method and each.uri.rstrip("/") in (PATH, WHOLE)]
    return [each.ended for each in found]


def _checked(made: World, user: str) -> int:
    """When a user was last allowed to create the namespace, by CDAP's clock."""
    return [each.at for each in checks(made).values() if (each.principal, each.parts) == (user, ["clocks"])][-1]


def _may_change(user: CdapUser) -> bool:
    status = user.ask(f"PUT {PATH}/properties", {"description": "changed"}).status_code
    assert status in (200, 403)
    return status == 200
