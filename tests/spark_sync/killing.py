"""A run that is killed at a step: by an exception nobody catches or, as a program of its own, by SIGKILL.

`python -m tests.spark_sync.killing CONFIG NOW` reads names of steps, one a line. For each it makes a process that runs
once without Spark and is killed at that step, and prints how that process ended. `python -m tests.spark_sync.killing
CONFIG NOW STEP` runs once on Spark and is killed at that step, and Spark's driver with it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NoReturn

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


JOB, INGESTION, FILES = "spark_sync.job", "spark_sync.ingest.ingestion", "spark_sync.ledger.notes"
LEDGER, TABLES = "spark_sync.ledger.delta_ledger", "spark_sync.ledger.ledger_tables"
RANGER, PUSH = "ranger_cdap.ranger.client.ranger_admin", "spark_sync.grants.push"

MAINTENANCE: Final = frozenset(
    {
        "before changes are moved into the ledger",
        "changes are in the ledger, but still among the changes",
        "changes are moved into the ledger, nothing else is done",
        "one table is compacted, the others are not",
    }
)
"""Steps of a run in which maintenance is due."""

# In the order in which a run comes to them.
STEPS: Final[Mapping[str, Step]] = {
    "nothing but dead letters is written": Step(INGESTION, "write_dead_letters", after=True),
    "lines are read, their events are not in the ledger": Step(LEDGER, "DeltaLedger._unknown", after=True),
    "events are in the ledger, the file is not recorded as read": Step(FILES, "Notes.add_files"),
    "the file is recorded as read": Step(FILES, "Notes.add_files", after=True),
    "before anything is decided": Step(JOB, "fold_new"),
    "all is decided, no life is recorded": Step(LEDGER, "DeltaLedger._append_changes"),
    "changed lives are appended, but not that they are decided": Step(
        LEDGER, "DeltaLedger._append_changes", after=True
    ),
    "it is recorded that they are decided": Step(LEDGER, "DeltaLedger.mark_folded", after=True),
    "before anything is sent": Step(JOB, "push"),
    "a policy is taken back, its successor not sent": Step(RANGER, "RangerAdmin.delete_policy", after=True),
    "between two policies": Step(RANGER, "RangerAdmin.create_policy", after=True, nth=2),
    "all is sent, nothing recorded": Step(PUSH, "_Push._record"),
    "before changes are moved into the ledger": Step(TABLES, "LedgerTables.rewrite"),
    "changes are in the ledger, but still among the changes": Step(TABLES, "LedgerTables.rewrite", after=True),
    "changes are moved into the ledger, nothing else is done": Step(TABLES, "LedgerTables.rewrite", after=True, nth=2),
    "one table is compacted, the others are not": Step(TABLES, "LedgerTables.vacuum", after=True),
    "all is recorded, before the files are put together": Step(LEDGER, "DeltaLedger.tidy"),
    "before changed lives are put together": Step(TABLES, "LedgerTables.rewrite"),
    "changed lives are put together, events are not": Step(TABLES, "LedgerTables.compact"),
    "all is put together, the ledger's version not noted": Step(JOB, "note_versions"),
    "the ledger's version is noted": Step(JOB, "note_versions", after=True),
}
ON_SPARK: Final = "events of Spark's tasks are in the ledger, the file is not recorded as read"
ALL: Final[Mapping[str, Step]] = {**STEPS, ON_SPARK: Step(FILES, "Notes.add_files")}


def kill_at(step: Step, die: Callable[[], None], patch: pytest.MonkeyPatch) -> None:
    """From now on the step is the last thing that happens; small files are put together as soon as there are any."""
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
    patch.setattr(f"{LEDGER}._MOST_FILES", 0)


def raise_killed() -> None:
    raise Killed


def kill_ourselves() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_both_processes() -> None:
    """The driver first, so that nothing can be finished after us."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    os.kill(gateway.proc.pid, signal.SIGKILL)
    kill_ourselves()


def kill_and_wait(pid: int) -> None:
    """Kill a process that is no child of ours, and return when it holds nothing any more."""
    with suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, signal.SIGKILL)
        while Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX":
            time.sleep(0.01)


def no_spark() -> NoReturn:
    raise AssertionError("Spark was started")


def main(config: str, now: str, *on_spark: str) -> None:
    from ranger_cdap.config import load_settings
    from spark_sync.job import run_once
    from spark_sync.spark.on_demand import Few, SparkOnDemand

    settings = load_settings(Path(config))
    pytest.MonkeyPatch().setattr(f"{PUSH}.AT_A_TIME", 1)
    for name in on_spark:
        kill_at(ALL[name], kill_both_processes, pytest.MonkeyPatch())
        with SparkOnDemand(settings.sync, master="local[2]") as spark:
            run_once(settings, spark, now=int(now), few=Few(bytes=0, events=0))
    for line in () if on_spark else sys.stdin:
        # delta-rs has not been used yet: its threads would not be in the child.
        if not (child := os.fork()):
            kill_at(ALL[line.rstrip("\n")], kill_ourselves, pytest.MonkeyPatch())
            run_once(settings, no_spark, now=int(now))
            os._exit(0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
