"""Following: run after run; and the figures a run leaves for Prometheus. No Spark is needed to see it."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from ranger_cdap.errors import AdminUnreachable, AuthenticationFailed, LeaseHeld, LedgerLost, SyncError
from spark_sync.follow import _SHARE as SHARE
from spark_sync.follow import POLL, follow, until_terminated
from spark_sync.ledger.life import State
from spark_sync.metrics_file import metrics_text, write_metrics
from spark_sync.report import RunReport, SourceReport

GOOD = RunReport(sources=(SourceReport("cdap", 10, 1, 3),), counts={State.APPLIED: 7, State.BLOCKED: 2})
AWAY = RunReport(sources=(), error=AdminUnreachable("Ranger Admin is unavailable"))


def runs(*outcomes: RunReport | Exception, ended: threading.Event) -> Callable[[], RunReport]:
    """Runs that come out like this, one after another; the last one is also the end."""
    left = list(outcomes)

    def run() -> RunReport:
        outcome = left.pop(0)
        if not left:
            ended.set()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return run


def followed(*outcomes: RunReport | Exception) -> list[RunReport]:
    ended, told = threading.Event(), list[RunReport]()
    follow(runs(*outcomes, ended=ended), interval=0, ended=ended, on_report=told.append)
    return told


def test_each_run_is_told() -> None:
    assert followed(GOOD, AWAY, GOOD) == [GOOD, AWAY, GOOD]


@pytest.mark.parametrize("passing", [AWAY, AdminUnreachable("no connection"), LeaseHeld("held by process 7")])
def test_what_passes_is_logged_once_when_it_begins_and_once_when_it_is_over(
    passing: RunReport | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="spark_sync.follow"):
        followed(GOOD, passing, passing, GOOD, GOOD)
    first, second = caplog.messages
    assert first.startswith("sync failed; retrying every 0 s: ")
    assert second == "sync works again"


@pytest.mark.parametrize("refused", [AuthenticationFailed("no"), RunReport((), error=AuthenticationFailed("no"))])
def test_a_refused_password_is_tried_so_seldom_that_the_account_is_not_locked(
    refused: RunReport | Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """Ranger locks an account after five failures within 300 s."""
    followed(refused)
    (said,) = caplog.messages
    every = re.search(r"retrying every (\d+) s", said)
    assert every is not None
    assert int(every[1]) * 5 > 300


@pytest.mark.parametrize("lasting", [LedgerLost("older"), SyncError("Spark failed")])
def test_what_does_not_pass_ends_it(lasting: Exception) -> None:
    with pytest.raises(type(lasting)):
        followed(GOOD, lasting, GOOD)


def test_sigterm_ends_it_after_the_run_that_is_going_on() -> None:
    told: list[RunReport] = []

    def run() -> RunReport:
        os.kill(os.getpid(), signal.SIGTERM)
        return GOOD

    before = signal.getsignal(signal.SIGTERM)
    with until_terminated() as ended:
        follow(run, interval=3600, ended=ended, on_report=told.append)
    assert told == [GOOD]
    assert signal.getsignal(signal.SIGTERM) is before


# --- when the next run begins --------------------------------------------------------------------------------------


class Played(threading.Event):
    """The end of a play, and its clock: waiting is all that takes time, but for what runs and looks say they take."""

    def __init__(self, patch: pytest.MonkeyPatch, end: float) -> None:
        super().__init__()
        self.now, self.end = 0.0, end
        patch.setattr("spark_sync.follow.time", SimpleNamespace(monotonic=lambda: self.now))

    def take(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.end:
            self.set()

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        assert timeout > 0
        self.take(timeout)
        return self.is_set()


@dataclass(frozen=True)
class Play:
    """What happens: how long each run takes and whether it fails, when news arrives, and how long a look takes."""

    runs: list[tuple[float, RunReport | Exception]]
    interval: float = 5.0
    news: tuple[float, ...] = ()
    look: float = 0.0


@dataclass
class Seen:
    """When runs began and ended, and when there was a look for news, with its cost."""

    runs: list[tuple[float, float, bool]]
    looks: list[float]
    end: float


def play(played: Play, end: float = 200.0) -> Seen:
    with pytest.MonkeyPatch.context() as patch:
        clock, seen = Played(patch, end), Seen([], [], end)
        left = cycle(played.runs)

        def run() -> RunReport:
            began = clock.now
            seconds, outcome = next(left)
            clock.take(seconds)
            seen.runs.append((began, clock.now, outcome is GOOD))
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        def has_news() -> bool:
            seen.looks.append(clock.now)
            clock.take(played.look)
            began = seen.runs[-1][0]
            return any(began < at <= clock.now for at in played.news)

        follow(run, interval=played.interval, ended=clock, on_report=lambda _: None, has_news=has_news)
        return seen


LATE = LeaseHeld("held by process 7")
BEATS: dict[str, tuple[Play, float, list[float]]] = {
    "the interval counts from the beginning of a run": (Play([(1, GOOD), (4.5, GOOD), (0, GOOD)]), 16, [0, 5, 10, 15]),
    "a run that takes longer delays none": (Play([(12, GOOD), (1, GOOD)]), 30, [0, 12, 17, 29]),
    "news comes at once": (Play([(1, GOOD)], 60, (10, 30)), 70, [0, 10, 30]),
    "news during a run is for the next one": (Play([(3, GOOD), (1, GOOD)], 60, (2,)), 60, [0, 3]),
    "after a failure the interval counts from its end, news or not": (Play([(2, AWAY)], 5, (3, 4, 8)), 20, [0, 7, 14]),
    "so it does while another run holds the lease": (Play([(2, LATE), (1, GOOD)], 5, (3, 9)), 17, [0, 7, 9, 16]),
}


@pytest.mark.parametrize(("played", "end", "begun"), BEATS.values(), ids=BEATS)
def test_when_runs_begin(played: Play, end: float, begun: list[float]) -> None:
    found = [began for began, _, _ in play(played, end).runs]
    assert found == pytest.approx(begun, abs=POLL)


SECONDS = st.floats(0, 20).map(lambda seconds: round(seconds, 3))
PLAYS = st.builds(
    Play,
    runs=st.lists(st.tuples(SECONDS, st.sampled_from([GOOD, GOOD, AWAY, LATE])), min_size=1, max_size=6),
    interval=st.floats(0.5, 30),
    news=st.lists(st.floats(0, 200), max_size=8).map(tuple),
    look=st.sampled_from([0.0, 0.0, 0.01, 0.5]),
)


@given(played=PLAYS)
def test_runs_begin_by_beat_or_news_and_never_early_in_trouble(played: Play) -> None:
    seen = play(played)
    patience = max(POLL, played.look / SHARE) + 2 * played.look + 1e-6
    for (began, ended, went_well), (following, *_) in pairwise(seen.runs):
        if not went_well:
            assert following == pytest.approx(ended + played.interval), "in trouble it waits, whatever comes"
            assert not any(ended < look < following for look in seen.looks)
            continue
        due = max(ended, began + played.interval)
        assert following <= due + 2 * played.look + 1e-6, "no beat is missed"
        arrived = min((at for at in played.news if at > began), default=seen.end)
        assert following <= max(arrived, ended) + patience, "news is noticed"
        assert following >= min(due, arrived) - 1e-6, "without news no run begins before its time"


@given(look=st.floats(0.001, 3), interval=st.floats(1, 60))
def test_looking_takes_a_small_share_of_the_time(look: float, interval: float) -> None:
    seen = play(Play([(0, GOOD)], interval, look=look))
    waits = [after - before - look for before, after in pairwise(seen.looks)]
    runs = len(seen.runs)
    assert sum(wait < look / SHARE - 1e-6 for wait in waits) <= runs, "only what is left until a run may be shorter"


def test_a_fault_of_looking_ends_it() -> None:
    def has_news() -> bool:
        raise SyncError("`files.jsonl` cannot be read")

    with pytest.raises(SyncError, match="cannot be read"):
        follow(lambda: GOOD, interval=5, ended=threading.Event(), on_report=lambda _: None, has_news=has_news)


# --- figures ------------------------------------------------------------------------------------------------------


def figures(text: bytes) -> dict[tuple[str, str], float]:
    return {
        (sample.name.removeprefix("ranger_cdap_sync_"), next(iter(sample.labels.values()), "")): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_the_figures_of_a_run() -> None:
    found = figures(metrics_text(GOOD, began=1_000.0, ended=1_002.5))
    assert found[("run_seconds", "")] == 2.5
    assert found[("run_end_timestamp_seconds", "")] == 1_002.5
    assert found[("complete", "")] == 1
    assert found[("lives", "applied")] == 7
    assert found[("lives", "blocked")] == 2
    assert found[("lives", "closing")] == 0
    assert found[("source_rejected", "cdap")] == 1
    assert figures(metrics_text(AWAY, began=0, ended=1))[("complete", "")] == 0


def test_the_file_is_replaced_whole_and_can_be_read_by_the_exporter(tmp_path: Path) -> None:
    path = tmp_path / "sync.prom"
    path.write_text("old")
    write_metrics(path, GOOD, began=0, ended=1)
    assert "ranger_cdap_sync_lives" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["sync.prom"]


def test_a_file_that_cannot_be_written_says_which(tmp_path: Path) -> None:
    with pytest.raises(SyncError, match=r"`sync\.metrics_file`"):
        write_metrics(tmp_path / "missing" / "sync.prom", GOOD, began=0, ended=1)
