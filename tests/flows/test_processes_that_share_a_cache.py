"""Ten processes of one host refresh at once against one Ranger Admin, with one cache directory between them."""

from __future__ import annotations

import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier, Event

import filelock
import pytest

from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin

PROCESSES, ROUNDS, LONGEST = 10, 5, 30.0
PASSWORD = Secret("Correct-Horse-1")
SERVICE = "cdapdev"


@dataclass(frozen=True)
class Outcome:
    """How one process ended."""

    state: PolicyState
    version: int
    cache_problems: tuple[str, ...]


def settings(url: str, directory: Path) -> Settings:
    plugin = PluginSettings(username="plugin", password=PASSWORD, cache_dir=directory)
    return Settings(ranger=RangerSettings(url=url, service=SERVICE), plugin=plugin)


def refresh_with_the_others(url: str, directory: Path, barrier: Barrier) -> Outcome:
    """Start and refresh, all at the same time, in each round; a change is made between two rounds."""
    here = settings(url, directory)
    problems = []
    with PolicyRefresher(RangerAdmin.connect(here, "plugin", PASSWORD), here) as refresher:
        for _ in range(ROUNDS):
            barrier.wait(LONGEST)
            snapshot = refresher.refresh()
            problems.append(refresher.snapshot.cache_problem)
            barrier.wait(LONGEST)
        return Outcome(snapshot.state, snapshot.versions.policies, tuple(filter(None, problems)))


def read_by(number: int) -> Policy:
    return Policy(
        service=SERVICE,
        name=f"p{number}",
        resources={"instance": PolicyResource(values=["cdap"]), "namespace": PolicyResource(values=[f"ns{number}"])},
        policy_items=[PolicyItem(groups=["public"], accesses=[PolicyItemAccess(type="read")])],
    )


def watch(directory: Path, over: Event) -> tuple[set[int], list[str]]:
    """Look at the cache until it is over: every file is whole at every moment; the versions seen, and what was said."""
    said, versions = list[str](), set[int]()
    cache = PolicyCache(directory, SERVICE, report=said.append, with_users=True)
    while not over.is_set():
        for path in directory.glob("*.json"):
            json.loads(path.read_bytes())
        if (found := cache.peek(time.time())) is not None:
            versions.add(found[0].versions.policies)
    return versions, said


@pytest.mark.slow
def test_ten_processes_refreshing_at_once(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    spawn = multiprocessing.get_context("spawn")
    with (
        EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server,
        RangerAdmin(AdminConnection(server.url, username="admin", password=PASSWORD)) as admin,
        spawn.Manager() as manager,
        ProcessPoolExecutor(PROCESSES + 1, mp_context=spawn) as pool,
    ):
        admin.create_user("plugin", PASSWORD)
        wanted = DesiredState(SERVICE, "cdap", plugin_account="plugin")
        service_setup.set_up(admin, wanted)
        barrier, over = manager.Barrier(PROCESSES + 1), manager.Event()
        watching = pool.submit(watch, directory, over)
        running = [pool.submit(refresh_with_the_others, server.url, directory, barrier) for _ in range(PROCESSES)]
        try:
            for number in range(ROUNDS):
                admin.create_policy(read_by(number))
                barrier.wait(LONGEST)
                barrier.wait(LONGEST)
            outcomes = [one.result(LONGEST) for one in running]
        finally:
            over.set()
        versions, said = watching.result(LONGEST)
        cache = PolicyCache(directory, SERVICE, report=said.append, with_users=True)
        found = cache.load(time.time())

    assert found is not None
    assert outcomes == [Outcome(PolicyState.FRESH, found[0].versions.policies, ())] * PROCESSES
    assert found[0].engine.policy_version == max(versions)
    assert len(versions) > 1
    assert said == []
    with filelock.FileLock(directory / f"cdap_{SERVICE}.lock", timeout=0):
        pass
