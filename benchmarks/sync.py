"""Throughput and memory of the sync job while reading events into its ledger, and the latency of a small run.

`python -m benchmarks.sync` (in `make bench`) prints a line per measurement, against its target.
Audit messages as CDAP writes them, in the shares of our recording (18 of 100 create or delete an entity, the others
change metadata), into a ledger whose baseline knows 1,000,000 entities, on `local[2]`. Nothing is sent to Ranger: that
is `benchmarks.writer`; its planning is not counted. Memory is the maximum of the driver's JVM and this process until
all events were folded; pending grants are then held by `push` in this process, a kilobyte or two per grant.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.memory import resident
from ranger_cdap.config import Settings, SourceSettings, SyncSettings
from spark_sync.job import run_once
from spark_sync.reconcile.baseline import take_baseline
from spark_sync.spark.session import spark_session

BASELINE = 1_000_000
NAMESPACES = 1_000
TAKEN = 1_795_000_000_000
NOW = TAKEN + 10**9
CREATIONS, DELETIONS = 12, 6  # of 100 lines
FILES = 16
LITTLE = 10
TARGET_RATE = 200_000  # events per second


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
            take_baseline(settings_of(home), spark, home / "baseline.jsonl", now=NOW)
            print(f"baseline: {time.perf_counter() - began:.1f} s", flush=True)
            first = 0
            for count in given.events:
                write_events(spark, home / "events" / f"{first}", first, count)
                print_result(spark, home, f"{count:,} events", count, target=count / TARGET_RATE)
                first += count
            small_run(spark, home, first, "in a running daemon", target=3)
            first += LITTLE
        began = time.perf_counter()
        with spark_session(SyncSettings(), master="local[2]") as spark:
            print(f"a session starts in {time.perf_counter() - began:.1f} s")
            small_run(spark, home, first, "the first run of a process", target=12)


def small_run(spark: SparkSession, home: Path, first: int, what: str, *, target: float) -> None:
    """Measure a run with a few new events."""
    write_events(spark, home / "events" / f"{first}", first, LITTLE)
    print_result(spark, home, f"{LITTLE} new events, {what}", LITTLE, target=target)


def print_result(spark: SparkSession, home: Path, what: str, count: int, *, target: float) -> None:
    """Print the duration of one dry run, against its target in seconds."""
    steps: list[tuple[float, str, float]] = []
    with most_memory(spark) as held:
        began = time.perf_counter()
        report = run_once(
            settings_of(home),
            spark,
            now=NOW,
            dry=True,
            progress=lambda step: steps.append((time.perf_counter(), step, held[0])),
        )
        ended = time.perf_counter()
    assert sum(source.lines for source in report.sources) == count, report.sources
    times = [*(at for at, _, _ in steps), ended]
    lasted = {step: later - at for (at, step, _), later in zip(steps, times[1:], strict=True)}
    shares = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in lasted.items())
    taken = ended - began - lasted["planning grants"]  # a dry run does this instead of sending
    _all_granted(spark, home)
    against = f"{taken:.1f} s, {taken / target:.1f}x the {target:g} s wanted"
    print(f"{what}: {against}, {count / taken:,.0f} events/s, {steps[-1][2]:,.0f} MB at most ({shares})", flush=True)


def _all_granted(spark: SparkSession, home: Path) -> None:
    """Mark everything as granted, so that the next run has only its own events to send."""
    table = f"delta.`{home / 'state' / 'ledger'}`"
    spark.sql(f"UPDATE {table} SET state = 'applied' WHERE state = 'pending'")
    spark.sql(f"UPDATE {table} SET state = 'closed' WHERE state = 'closing'")


def settings_of(home: Path) -> Settings:
    """Return settings as in production."""
    source = SourceSettings(name="audit", kind="audit", path=home / "events" / "*")
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
    share = F.when(F.lit(count <= LITTLE), F.lit(0)).otherwise(n % 100)
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
    files = 1 if count <= LITTLE else FILES
    spark.range(first, first + count, numPartitions=files).select(F.to_json(message)).write.text(str(path))


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
