"""Following: run after run; and the figures a run leaves for Prometheus. No Spark is needed to see it."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ranger_cdap.errors import AdminUnreachable, AuthenticationFailed, LeaseHeld, LedgerLost, SyncError
from spark_sync.follow import follow, until_terminated
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
