"""A caller has one rate, in however many processes it is counted; a killed process gives nothing away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.service.http.token_buckets import PrivateBuckets, SharedBuckets, TokenBuckets

CALLERS = ["a", "b"]
STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from([*CALLERS, "10.0.0.1"]), st.floats(0, 2)), max_size=80)


def shared(descriptor: int) -> Callable[[], TokenBuckets]:
    return lambda: SharedBuckets(descriptor, CALLERS)


@given(STEPS, st.integers(1, 5))
def test_several_that_share_admit_exactly_what_one_admits(steps: list[tuple[int, str, float]], rate: int) -> None:
    alone, now = PrivateBuckets(), 1_000.0
    with tempfile.TemporaryFile() as file:
        several = [SharedBuckets(file.fileno(), CALLERS) for _ in range(3)]
        for place, who, pause in steps:
            now += pause
            assert several[place].takes_one(who, rate, now) == alone.takes_one(who, rate, now)


HAMMER = """
import sys, time
from ranger_cdap.service.http.token_buckets import SharedBuckets
buckets = SharedBuckets(int(sys.argv[1]), ["a", "b"])
taken, end = 0, float(sys.argv[2])
print("ready", flush=True)
while time.monotonic() < end:
    taken += buckets.takes_one("a", 200, time.monotonic())
print(taken, flush=True)
"""


def test_processes_that_ask_at_once_get_one_rate_though_one_is_killed() -> None:
    seconds = 2.0
    with tempfile.TemporaryFile() as file:
        SharedBuckets(file.fileno(), CALLERS)
        began = time.monotonic()
        command = [sys.executable, "-c", HAMMER, str(file.fileno()), str(began + seconds)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        hammers = [
            subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=[file.fileno()], env=environment)
            for _ in range(3)
        ]
        for hammer in hammers:
            assert hammer.stdout is not None
            assert hammer.stdout.readline() == b"ready\n"
        hammers[0].send_signal(signal.SIGKILL)
        taken = [int(hammer.communicate()[0] or 0) for hammer in hammers]
        took = time.monotonic() - began
    assert taken[0] == 0
    assert 0 < sum(taken) <= 200 * (1 + took)
