"""Spark starts when it is first needed, stays while it is used, and always ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config import SyncSettings
from spark_sync.spark.on_demand import IDLE, SparkOnDemand


@dataclass
class Sessions:
    """Stands for Spark, which can be started once in a process of tests."""

    started: int = 0
    running: int = 0
    ends: list[type[BaseException] | None] = field(default_factory=list)

    @contextmanager
    def __call__(self, _settings: SyncSettings, *, master: str) -> Iterator[Any]:
        self.started += 1
        self.running += 1
        error: type[BaseException] | None = None
        try:
            yield f"session {self.started} of {master}"
        except BaseException as e:
            error = type(e)
            raise
        finally:
            self.running -= 1
            self.ends.append(error)


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _not_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


@given(steps=st.lists(st.one_of(st.just("use"), st.just("release"), st.integers(0, 2 * int(IDLE))), max_size=30))
def test_at_most_one_runs_it_is_never_older_than_its_use_and_none_is_left(steps: list[str | int]) -> None:
    sessions, clock = Sessions(), Clock()
    used: float | None = None
    with SparkOnDemand(SyncSettings(), clock=clock, opened=sessions) as spark:
        for step in steps:
            if step == "use":
                assert spark() == f"session {sessions.started} of local[*]"
                used = clock.now
            elif step == "release":
                spark.release_idle()
                used = None if used is not None and clock.now - used >= IDLE else used
            else:
                clock.now += int(step)
            assert sessions.running == (used is not None)
    assert sessions.running == 0
    assert sessions.ends == [None] * sessions.started


def test_what_is_shown_before_the_start_is_shown_once() -> None:
    shown: list[str] = []
    with SparkOnDemand(SyncSettings(), starting=lambda: shown.append("starting"), opened=Sessions()) as spark:
        assert shown == []
        assert spark() is spark()
    assert shown == ["starting"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_the_session_learns_how_the_run_ended(error: type[BaseException]) -> None:
    sessions = Sessions()

    def run() -> None:
        with SparkOnDemand(SyncSettings(), opened=sessions) as spark:
            spark()
            raise error

    with pytest.raises(error):
        run()
    assert (sessions.ends, sessions.running) == ([error], 0)


def test_under_spark_submit_it_is_there_at_once_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    sessions, clock = Sessions(), Clock()
    with SparkOnDemand(SyncSettings(), clock=clock, opened=sessions) as spark:
        assert sessions.started == 1
        clock.now += 2 * IDLE
        spark.release_idle()
        assert sessions.running == 1
