"""No error at any step of a refresh ends the refreshing: the background thread brings the next policies."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ranger_cdap.config import Settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh import policy_refresher
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.history import PolicyHistory
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from ranger_cdap.ranger.refresh.policy_set_download import PolicySetDownload
from tests.ranger.documents import policies
from tests.ranger.fixtures import URL, FakeRanger, Started
from tests.service.serve_process import until

STEPS = [
    (PolicyCache, "load"),
    (PolicyCache, "refusal"),
    (PolicyCache, "write"),
    (PolicyCache, "record_contact"),
    (PolicyHistory, "keep"),
    (PolicySetDownload, "current"),
    (policy_refresher, "step"),
    (policy_refresher, "snapshot_of"),
    (PolicyRefresher, "_report"),
]
ERRORS = [MemoryError, RecursionError, OSError, ValueError]


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    plugin = structs.replace(settings.plugin, poll_interval=0.01, history_dir=tmp_path / "history")
    return structs.replace(settings, plugin=plugin)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_the_thread_brings_the_next_policies_after_any_error_at_any_step(
    started: Started, ranger: FakeRanger, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str], error: type[Exception]
) -> None:
    place, name = step
    works, failed = getattr(place, name), threading.Event()
    calls: Iterator[int] = count()

    def fails_at_first(*given: Any, **more: Any) -> Any:
        if next(calls) < 2:
            failed.set()
            raise error
        return works(*given, **more)

    refresher = started(clock=policy_refresher.read_clocks)
    monkeypatch.setattr(place, name, fails_at_first)
    refresher.start()
    assert failed.wait(20)
    ranger.documents["policies"] = policies(2)
    until(lambda: refresher.snapshot.has(2))


def test_errors_without_end_do_not_keep_the_thread_busy(
    ranger: FakeRanger, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []
    enough = threading.Event()

    def fails(_refresher: PolicyRefresher) -> None:
        times.append(time.monotonic())
        if len(times) == 3:
            enough.set()
        raise MemoryError

    slower = structs.replace(settings, plugin=structs.replace(settings.plugin, poll_interval=0.2))
    monkeypatch.setattr(PolicyRefresher, "refresh", fails)
    admin = RangerAdmin(AdminConnection(URL, username="cdapsvc", password=settings.plugin.password))
    with PolicyRefresher(admin, slower, spread=lambda: 1.0) as refresher:
        refresher.start()
        assert enough.wait(20)
    assert all(later - earlier >= 0.2 for earlier, later in pairwise(times))
