"""The refresher and the history of its policies: what was used at a time can be asked later."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from msgspec import structs

from ranger_cdap.config import Settings
from ranger_cdap.engine import EngineOptions
from ranger_cdap.ranger.refresh.fixed import FixedPolicies
from ranger_cdap.ranger.refresh.history import policies_at
from tests.ranger.documents import SERVICE, policies, policy
from tests.ranger.fixtures import FRESH, Clock, FakeRanger, Started, may_read


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def settings(settings: Settings, history: Path) -> Settings:
    return structs.replace(settings, plugin=structs.replace(settings.plugin, history_dir=history))


def readers_at(history: Path, seconds: float) -> set[str]:
    then = policies_at(history, SERVICE, int(seconds * 1000)).documents
    snapshot = FixedPolicies.of(then, service=SERVICE, options=EngineOptions()).snapshot
    return {user for user in ("alice", "bob", "carol") if may_read(snapshot, user)}


def test_each_version_that_decided_is_kept(started: Started, ranger: FakeRanger, clock: Clock, history: Path) -> None:
    refresher, times = started(), []
    for version, user in enumerate(("alice", "bob", "carol"), 1):
        ranger.documents["policies"] = policies(version, policy(1, user))
        assert may_read(refresher.refresh(), user)
        times.append(clock.wall)
        clock.goes_on(60)
        refresher.refresh()
    assert [readers_at(history, at + 59) for at in times] == [{"alice"}, {"bob"}, {"carol"}]


def test_what_a_restart_finds_in_the_cache_is_kept_too(
    started: Started, ranger: FakeRanger, clock: Clock, history: Path
) -> None:
    started().refresh()
    for file in (history / SERVICE).iterdir():
        file.unlink()
    ranger.is_away()
    clock.goes_on(20)
    assert started().refresh().state is FRESH
    assert readers_at(history, clock.wall) == {"alice"}


def test_a_history_that_cannot_be_written_stops_nothing(
    started: Started, ranger: FakeRanger, clock: Clock, history: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history.write_text("in the way")
    refresher = started()
    with caplog.at_level(logging.WARNING):
        assert may_read(refresher.refresh())
        ranger.documents["policies"] = policies(2, policy(1, "bob"))
        clock.goes_on(30)
        assert may_read(refresher.refresh(), "bob")
    assert f"policy history `{history}` cannot be written" in caplog.text
    assert refresher.snapshot.cache_problem == ""
