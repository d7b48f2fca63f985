"""A bulk run of the sync job beside the plain Spark job that a data engineer would write.

`python -m benchmarks.bulk` (in `make bench`) runs both in turn, each in a fresh process on `local[2]`, until all grants
are planned. It prints CPU seconds of the whole process tree, which say more than seconds on a machine that others use
as well, and the maximum of its resident memory. What they have in common is not counted: the start of Spark, and the
entities known.

`benchmarks/bulk_input.py` says what is read. `--one ledger` measures the product only, `--profile` its functions, and
`--spark` lets it read and fold in Spark's tasks, `--here` in one process, whatever the amount.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from benchmarks.bulk_input import TAKEN, baseline, known, write_lines
from benchmarks.plain_job import LIVES, SCHEMA, write_known, write_lives
from benchmarks.processes import cpu_seconds, resident_of_family
from ranger_cdap.config import Settings, SourceSettings, SyncSettings
from spark_sync.job import run_once
from spark_sync.ledger.ledger_queries import LedgerQueries
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.reconcile.baseline import take_baseline
from spark_sync.spark.on_demand import FEW, Few
from spark_sync.spark.session import spark_session

NOW = TAKEN + 10**9
PRODUCT, PLAIN = "ledger", "plain"
TARGET = 0.7


def main() -> None:
    """Print one line per measurement, and at the end whether the lives are equal."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--lines", type=int, nargs="+", default=[1_000_000, 2_000_000], help="of each run, multiples of 1,600"
    )
    options.add_argument("--entities", type=int, default=200_000, help="that the baseline knows")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--one", choices=[PRODUCT, PLAIN], help="measure this one only")
    options.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--profile", action="store_true")
    options.add_argument("--here", action="store_true", help="read and fold in one process")
    options.add_argument("--spark", action="store_true", help="read and fold in Spark's tasks")
    given = options.parse_args()
    if given.home is not None:
        measure(given)
        return
    for round_ in range(given.rounds):
        with tempfile.TemporaryDirectory() as name:
            sides = [given.one] if given.one else [PRODUCT, PLAIN][:: 1 if round_ % 2 == 0 else -1]
            for side in sides:
                command = [sys.executable, "-m", "benchmarks.bulk", *sys.argv[1:], "--one", side, "--home", name]
                subprocess.run(command, check=True)
            if not given.one:
                compare(Path(name))


def measure(given: argparse.Namespace) -> None:
    """Measure one side in this process."""
    home, first = given.home / given.one, 0
    home.mkdir()
    settings = settings_of(home)
    few = Few(1 << 60, 1 << 60) if given.here else Few(0, 0) if given.spark else FEW
    with spark_session(SyncSettings(), master="local[2]") as spark:
        if given.one == PLAIN:
            write_known(home / LIVES, ((type_, parts, TAKEN + 1) for type_, parts in known(given.entities)))
        else:
            baseline(home / "baseline.jsonl", given.entities)
            take_baseline(settings, home / "baseline.jsonl", now=NOW)
        for count in given.lines:
            write_lines(home, first, count)
            first += count
            steps = list[tuple[str, float, float]]()

            def note(step: str, steps: list[tuple[str, float, float]] = steps) -> None:
                steps.append((step.partition(":")[0], time.perf_counter(), cpu_seconds(os.getpid())))

            with most_memory() as held, profiled(given.profile):
                if given.one == PLAIN:
                    note("plain job")
                    write_lives(spark, home)
                    for name in ("topic", "records"):  # the next run reads what is new
                        shutil.rmtree(home / name)
                else:
                    report = run_once(settings, lambda: spark, now=NOW, dry=True, progress=note, few=few)
                    assert report.planned is not None
                note("end")
            print_steps(given.one, count, steps, held[0])


def print_steps(side: str, count: int, steps: list[tuple[str, float, float]], megabytes: float) -> None:
    """Print the measurement of one run; planning is not counted."""
    until = next((n for n, (step, _, _) in enumerate(steps) if step == "planning grants"), len(steps) - 1)
    seconds, used = steps[until][1] - steps[0][1], steps[until][2] - steps[0][2]
    shares = ", ".join(f"{step} {after[2] - cpu:.1f}" for (step, _, cpu), after in pairwise(steps))
    print(
        f"{side:6}: {count:,} lines: {used:.1f} s of CPU ({shares}), {seconds:.1f} s, {megabytes:,.0f} MB", flush=True
    )


def compare(home: Path) -> None:
    """Compare what both found out about each life.

    Raises:
        AssertionError: they differ.
    """
    lives = LedgerQueries("cdap").lives("creator IS NOT NULL OR ended IS NOT NULL", ", ".join(SCHEMA.names))
    ours = pa.Table.from_batches(list(LedgerTables(home / PRODUCT / "state").batches(lives))).cast(SCHEMA)
    plain = pq.read_table(home / PLAIN / LIVES).cast(SCHEMA)
    # A life that ended later has two rows, of which the one with an end counts.
    plain = plain.group_by(["entity", "number", "creator", "begun"], use_threads=False).aggregate([("ended", "max")])
    rows = [set(zip(*(column.to_pylist() for column in table.columns), strict=True)) for table in (ours, plain)]
    ours_, plain_ = rows[0], {row for row in rows[1] if row[2] is not None or row[4] is not None}
    some = sorted(ours_ ^ plain_, key=str)[:10]
    assert ours_ == plain_, f"{len(ours_ - plain_)} and {len(plain_ - ours_)} of {len(ours_)} lives differ: {some}"
    print(f"all {len(ours_):,} lives are equal")


def settings_of(home: Path) -> Settings:
    """Return settings for both sources; records count without journalled checks."""
    for name in ("topic", "records"):
        (home / name).mkdir(exist_ok=True)
    sources = (
        SourceSettings(name="topic", kind="audit", path=home / "topic"),
        SourceSettings(name="records", kind="data-plane", path=home / "records", callers=("cdap-master",)),
    )
    return Settings(sync=SyncSettings(state_dir=home / "state", sources=sources, uncorroborated="grant"))


@contextmanager
def most_memory() -> Iterator[list[float]]:
    """Record the maximum of the megabytes of this process and all it started, sampled five times a second."""
    held, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            held[0] = max(held[0], resident_of_family(os.getpid()))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield held
    finally:
        ended.set()
        thread.join()


@contextmanager
def profiled(wanted: bool) -> Iterator[None]:
    """Print the functions of this process that took longest, if wanted."""
    profile = cProfile.Profile()
    if wanted:
        profile.enable()
    yield
    if wanted:
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
