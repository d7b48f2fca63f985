"""Throughput and memory of the sync job while reading many events into its ledger, on Spark.

`python -m benchmarks.sync` (in `make bench`) prints a line per measurement, against its targets; CPU seconds are those
of this process, the driver and Spark's Python workers, and say more than seconds on a machine that others use as well.
Audit messages as CDAP writes them, in the shares of our recording (18 of 100 create or delete an entity, the others
change metadata), into a ledger whose baseline knows 1,000,000 entities, on `local[2]`. Nothing is sent to Ranger: that
is `benchmarks.writer`; its planning is not counted. Memory is the maximum of the driver's JVM and this process until
all events were folded.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.memory import resident
from benchmarks.processes import cpu_seconds
from ranger_cdap.config import Settings, SourceSettings, SyncSettings
from spark_sync.job import run_once
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import State
from spark_sync.reconcile.baseline import take_baseline
from spark_sync.spark.session import spark_session

BASELINE = 1_000_000
NAMESPACES = 1_000
TAKEN = 1_795_000_000_000
NOW = TAKEN + 10**9
CREATIONS, DELETIONS = 12, 6  # of 100 lines
FILES = 16
TARGET_RATE = 150_000  # lines per second
TARGET_MEMORY = 2_048  # megabytes


def main() -> None:
    """Print one line per measurement."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, nargs="+", default=[1_000_000, 5_000_000])
    options.add_argument("--entities", type=int, default=BASELINE, help="that the baseline knows")
    given = options.parse_args()
    print(f"sync on local[2], {given.entities:,} entities known")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with spark_session(SyncSettings(), master="local[2]") as spark:
            inventory(home / "baseline.jsonl", given.entities)
            began = time.perf_counter()
            take_baseline(settings_of(home), home / "baseline.jsonl", now=NOW)
            print(f"baseline: {time.perf_counter() - began:.1f} s", flush=True)
            first = 0
            for count in given.events:
                write_events(spark, home / "events" / f"{first}", first, count)
                print_result(spark, home, count)
                first += count


def print_result(spark: SparkSession, home: Path, count: int) -> None:
    """Print the duration of one dry run over so many lines, its CPU seconds and its memory."""
    steps: list[tuple[float, float, str, float]] = []
    with most_memory(spark) as held:

        def note(step: str) -> None:
            steps.append((time.perf_counter(), cpu_seconds(os.getpid()), step, held[0]))

        report = run_once(settings_of(home), lambda: spark, now=NOW, dry=True, progress=note)
    assert sum(source.lines for source in report.sources) == count, report.sources
    # A dry run plans instead of sending, which is the last step.
    (began, used, _, _), *_, (ended, used_then, _, megabytes) = steps
    seconds = ended - began
    shares = ", ".join(
        f"{step} {later[0] - at:.1f} s ({later[1] - cpu:.1f} s of CPU)" for (at, cpu, step, _), later in pairwise(steps)
    )
    _all_granted(home)
    rate = f"{count / seconds:,.0f} lines/s (wanted: {TARGET_RATE:,})"
    memory = f"{megabytes:,.0f} MB at most (wanted: {TARGET_MEMORY:,})"
    print(f"{count:,} lines: {seconds:.1f} s, {used_then - used:.1f} s of CPU, {rate}, {memory}; {shares}", flush=True)


def _all_granted(home: Path) -> None:
    """Mark everything as granted, so that the next run has only its own events to send."""
    ledger, after = DeltaLedger(home / "state", "cdap"), {State.PENDING: State.APPLIED, State.CLOSING: State.CLOSED}
    ledger.record(LedgerChange(life.entity, (replace(life, state=after[life.state]),)) for life in ledger.lives(after))


def settings_of(home: Path) -> Settings:
    """Return settings as in production."""
    source = SourceSettings(name="audit", kind="audit", path=home / "events" / "*" / "*")
    return Settings(sync=SyncSettings(state_dir=home / "state", sources=(source,)))


def inventory(path: Path, count: int) -> None:
    """Return a baseline of datasets."""
    with path.open("wb") as file:
        file.write(b'{"v":1,"instance":"cdap","taken":"2026-11-18T11:06:40Z"}\n')
        for n in range(count):
            file.write(msgspec.json.encode({"type": "dataset", "parts": [f"ns{n % NAMESPACES}", f"d{n}"]}) + b"\n")


def write_events(spark: SparkSession, path: Path, first: int, count: int) -> None:
    """Write lines: created datasets, deleted datasets, and changes of metadata."""
    n = F.col("id")
    share = n % 100
    kind = (
        F.when(share < CREATIONS, F.lit("CREATE"))
        .when(share < CREATIONS + DELETIONS, F.lit("DELETE"))
        .otherwise(F.lit("METADATA_CHANGE"))
    )
    # A deleted dataset was created a hundred thousand lines before.
    dataset = F.when(share < CREATIONS, n).otherwise(n - 100_000 - CREATIONS)
    message = F.struct(
        F.lit(2).alias("version"),
        (n + TAKEN + 1_000).alias("time"),
        F.struct(
            F.struct(
                F.concat(F.lit("ns"), (dataset % NAMESPACES).cast("string")).alias("namespace"),
                F.concat(F.lit("new"), dataset.cast("string")).alias("dataset"),
            ).alias("details"),
            F.lit("dataset").alias("type"),
        ).alias("metadataEntity"),
        F.concat(F.lit("user"), (n % 1000).cast("string")).alias("user"),
        kind.alias("type"),
        F.lit("{}").alias("payload"),
    )
    spark.range(first, first + count, numPartitions=FILES).select(F.to_json(message)).write.text(str(path))


@contextmanager
def most_memory(spark: SparkSession) -> Iterator[list[float]]:
    """Record the maximum of the megabytes of driver and this process together, sampled every tenth of a second."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    driver = int(jvm.java.lang.ProcessHandle.current().pid())
    held, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.1):
            held[0] = max(held[0], resident(driver) + resident())

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield held
    finally:
        ended.set()
        thread.join()


if __name__ == "__main__":
    main()
