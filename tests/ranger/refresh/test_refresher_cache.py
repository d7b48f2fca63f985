"""The refresher and its cache on disk: what a restart finds, and what a disk does not take."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ranger_cdap.config import Settings
from tests.ranger.documents import SERVICE
from tests.ranger.fixtures import (
    EXPIRED,
    FRESH,
    NOT_READY,
    STALE,
    Clock,
    FakeRanger,
    Started,
    may_read,
)


def test_the_cache_decides_while_ranger_admin_is_away(started: Started, ranger: FakeRanger, clock: Clock) -> None:
    started().refresh()
    ranger.is_away()
    clock.goes_on(20)
    restarted = started().refresh()
    assert restarted.state is FRESH
    assert may_read(restarted)
    assert "cannot be reached" in restarted.reason
    clock.goes_on(100)
    stale = started().refresh()
    assert (stale.state, may_read(stale)) == (STALE, True)
    clock.goes_on(86_400)
    expired = started().refresh()
    assert (expired.state, expired.engine) == (EXPIRED, None)


@pytest.mark.slow
def test_restarts_under_a_clock_set_back_make_nothing_younger(
    started: Started, ranger: FakeRanger, clock: Clock
) -> None:
    started().refresh()
    ranger.is_away()
    clock.goes_on(1000)
    started().refresh()
    clock.wall -= 7 * 86_400
    assert started().refresh().state is STALE
    for _ in range(90):
        refresher = started()
        refresher.refresh()
        clock.goes_on(1000)
        refresher.refresh()
    assert started().refresh().state is EXPIRED


def test_the_version_of_the_cache_is_what_is_asked_with(started: Started, ranger: FakeRanger) -> None:
    started().refresh()
    ranger.asked.clear()
    started().refresh()
    assert ranger.asked == ["policies 1", "roles 1", "users -1"]


def test_a_spoiled_cache_is_said_and_downloaded_anew(
    started: Started, ranger: FakeRanger, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    started().refresh()
    path = settings.plugin.cache_dir / f"cdap_{SERVICE}.json"
    path.write_bytes(path.read_bytes()[:-5])
    ranger.asked.clear()
    assert started().refresh().state is FRESH
    assert ranger.asked == ["policies -1", "roles -1", "users -1"]
    assert "quarantined" in caplog.text
    path.write_bytes(path.read_bytes()[:-5])
    ranger.is_away()
    assert started().refresh().state is NOT_READY


def test_a_disk_that_does_not_take_the_cache_stops_no_decision(
    started: Started, ranger: FakeRanger, settings: Settings, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    settings.plugin.cache_dir.write_text("a file where the directory should be")
    refresher = started()
    snapshot = refresher.refresh()
    assert (snapshot.state, may_read(snapshot)) == (FRESH, True)
    assert "cannot be created" in refresher.snapshot.cache_problem
    clock.goes_on(30)
    refresher.refresh()
    assert caplog.text.count("cannot be created") == 1
    settings.plugin.cache_dir.unlink()
    clock.goes_on(30)
    refresher.refresh()
    assert refresher.snapshot.cache_problem == ""
    ranger.is_away()
    assert may_read(started().refresh())


def test_a_cache_of_another_ranger_admin_is_neither_used_nor_its_version_asked_with(
    started: Started, ranger: FakeRanger, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Another Ranger Admin may have the same version: it would answer that nothing has changed."""
    started().refresh()
    moved = replace(settings, ranger=replace(settings.ranger, url="https://another:6182"))
    ranger.is_away()
    assert started(settings=moved).refresh().state is NOT_READY
    assert "add it to `plugin.accept_cache_of`" in caplog.text
    ranger.is_back()
    ranger.asked.clear()
    assert started(settings=moved).refresh().state is FRESH
    assert ranger.asked == ["policies -1", "roles -1", "users -1"]
    ranger.is_away()
    assert started(settings=moved).refresh().state is FRESH
    assert started().refresh().state is NOT_READY
    accepting = replace(settings, plugin=replace(settings.plugin, accept_cache_of=("https://another:6182",)))
    assert started(settings=accepting).refresh().state is FRESH
