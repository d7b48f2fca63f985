"""A run that is killed at a step: by an exception nobody catches, or, as a program of its own, by SIGKILL.

`python -m tests.spark_sync.killing STEP ARGUMENTS...` is `ranger-cdap ARGUMENTS...`, killed at that step, and Spark's
driver with it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest


class Killed(BaseException):
    """What is raised where the process would be killed."""


@dataclass(frozen=True)
class Step:
    """The `nth` call of a function: the run is killed before it, or after it if it went well."""

    module: str
    function: str
    after: bool = False
    nth: int = 1


LEDGER, RANGER = "spark_sync.ledger.delta_ledger", "ranger_cdap.policies.client.ranger_admin"
STEPS = {
    "lines are read, their events are not in the ledger": Step(LEDGER, "DeltaLedger.add_events"),
    "events are in the ledger, the source has not noted that": Step(LEDGER, "DeltaLedger.add_events", after=True),
    "before anything is decided": Step("spark_sync.job", "fold_new"),
    "lives are recorded, but not that they are decided": Step(LEDGER, "DeltaLedger.mark_folded"),
    "before anything is sent": Step("spark_sync.job", "push"),
    "a policy is taken back, its successor not sent": Step(RANGER, "RangerAdmin.delete_policy", after=True),
    "between two policies": Step(RANGER, "RangerAdmin.create_policy", after=True, nth=2),
    "all is sent, nothing recorded": Step("spark_sync.grants.push", "_record"),
    "all is recorded, the ledger's version not noted": Step("spark_sync.job", "save"),
}


def kill_at(step: Step, die: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """From now on the step is the last thing that happens."""
    *owners, name = step.function.split(".")
    module = import_module(step.module)
    owner = attrgetter(".".join(owners))(module) if owners else module
    function, calls = getattr(owner, name), count(1)

    def killing(*args: Any, **named: Any) -> Any:
        if not step.after and next(calls) == step.nth:
            die()
        result = function(*args, **named)
        if step.after and next(calls) == step.nth:
            die()
        return result

    patch.setattr(owner, name, killing)


def raise_killed() -> None:
    raise Killed


def kill_both_processes() -> None:
    """The driver first, so that nothing can be finished after us."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    os.kill(gateway.proc.pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def kill_and_wait(pid: int) -> None:
    """Kill a process that is no child of ours, and return when it holds nothing any more."""
    with suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, signal.SIGKILL)
        while Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX":
            time.sleep(0.01)


if __name__ == "__main__":
    from ranger_cdap.cli.main import main

    kill_at(STEPS[sys.argv[1]], kill_both_processes, pytest.MonkeyPatch())
    sys.exit(main(sys.argv[2:]))
