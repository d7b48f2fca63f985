"""The log of notifications over the runs of `--follow`: each change of state once, and nothing else."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, strategies
from hypothesis import settings as search

from spark_sync.notification import NotifyProblem
from spark_sync.notify import NotifyLog, NotifyResult

ONE, TWO = "https://one.example:6500", "https://two.example:6500"
REFUSED = NotifyProblem("cannot be reached: the connection was refused", "start the service")
SLOW = NotifyProblem("cannot be reached: no answer within the time-out", "check service and network")


def logged(caplog: pytest.LogCaptureFixture, *runs: tuple[NotifyResult, ...]) -> list[str]:
    caplog.clear()
    log = NotifyLog()
    with caplog.at_level(logging.DEBUG, logger="spark_sync.notify"):
        for results in runs:
            log.add(results)
    return [record.getMessage() for record in caplog.records]


def of(first: NotifyProblem | None, second: NotifyProblem | None = None) -> tuple[NotifyResult, ...]:
    return NotifyResult(ONE, first), NotifyResult(TWO, second)


BEGINS = (
    "changed grants count at the next poll of a decision service only: the decision service at `{}` cannot be reached:"
    " the connection was refused; start the service"
)
ENDS = "the decision service at `{}` is notified again"


@pytest.mark.parametrize(
    ("runs", "lines"),
    [
        ([of(None), of(None)], []),
        ([of(REFUSED), of(REFUSED), (), of(REFUSED)], [BEGINS.format(ONE)]),
        ([of(REFUSED), of(None), of(None)], [BEGINS.format(ONE), ENDS.format(ONE)]),
        ([of(REFUSED), of(REFUSED, REFUSED), of(None, REFUSED)], [*map(BEGINS.format, (ONE, TWO)), ENDS.format(ONE)]),
    ],
    ids=["well", "a problem that lasts", "a problem that ends", "two services"],
)
def test_a_problem_is_logged_when_it_begins_and_when_it_ends(
    runs: list[tuple[NotifyResult, ...]], lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert logged(caplog, *runs) == lines


@search(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(strategies.lists(strategies.sampled_from([None, REFUSED, SLOW])))
def test_there_is_a_line_for_each_change_of_state(
    caplog: pytest.LogCaptureFixture, states: list[NotifyProblem | None]
) -> None:
    changes = sum(before != now for before, now in zip([None, *states], states, strict=False))
    assert len(logged(caplog, *[(NotifyResult(ONE, state),) for state in states])) == changes


def test_it_needs_no_pyspark() -> None:
    """Runs without a JVM notify as well."""
    subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['pyspark'] = None; import spark_sync.notify"], check=True
    )
