"""Messages of Spark's driver: its remarks while it starts are dropped, its errors are not."""

from __future__ import annotations

import io
import subprocess

import pytest

pytest.importorskip("pyspark")

from spark_sync.spark.driver import ErrorRelay

REMARKS = """WARNING: Using incubator modules: jdk.incubator.vector
Setting default log level to "WARN".
"""
ERROR = "12:00:01 ERROR TaskSetManager: Task 0 in stage 1.0 failed\n"
JAVA = "WARNING: A terminally deprecated method in sun.misc.Unsafe has been called\n"


def say(text: str, relay: ErrorRelay) -> None:
    subprocess.run(["sh", "-c", 'printf "%s" "$1" >&2', "sh", text], stderr=relay.descriptor, check=True)


def test_remarks_while_it_starts_are_dropped_and_errors_after_it_are_shown() -> None:
    shown = io.StringIO()
    with ErrorRelay(shown) as relay:
        command = ["sh", "-c", 'printf "%s" "$1" >&2; echo; cat >&2', "sh", REMARKS]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=relay.descriptor
        ) as driver:
            assert driver.stdout is not None
            driver.stdout.readline()
            relay.started()
            driver.communicate((JAVA + ERROR).encode())
    assert shown.getvalue() == ERROR


def fail_to_start(relay: ErrorRelay) -> None:
    with relay:
        say(REMARKS + ERROR, relay)
        raise RuntimeError


def test_of_a_driver_that_does_not_start_everything_is_shown() -> None:
    shown = io.StringIO()
    with pytest.raises(RuntimeError):
        fail_to_start(ErrorRelay(shown))
    assert shown.getvalue() == REMARKS + ERROR


def test_no_end_of_a_descriptor_is_left_open() -> None:
    with ErrorRelay(io.StringIO()) as relay:
        relay.started()
    assert not relay._reader.is_alive()
