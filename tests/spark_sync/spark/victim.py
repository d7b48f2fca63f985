"""A run of the sync job that stays where another user may look at it: with blocks, jars, a stream and a table.

`python -m tests.spark_sync.spark.victim DIRECTORY [open]` prints what there is to attack, as JSON. Then it counts to
seven for each line of its standard input, and ends with that. `open`: without our protection, as Spark is by default.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SyncSettings
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import ChangeKind, EntityEvent, Stage
from spark_sync.ledger.ledger import LedgerChange, Scope
from spark_sync.ledger.ledger_tables import TABLES
from spark_sync.ledger.ledger_version import note_versions
from spark_sync.sources import registry
from spark_sync.spark import scratch, session
from spark_sync.spark.scratch import Scratch
from tests.spark_sync.spark.attacker import MARK

JAR = "connector-1.0.jar"
"""What a source of the run needs."""


@contextmanager
def in_the_open(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Spark's defaults: no secret, no encryption, and temporary files that anyone can read."""
    patch.setattr(session, "CLOSED", {})
    patch.setattr(session, "authenticate_callbacks", ensure_callbacks)
    patch.setattr(session, "serve_no_directory", lambda _: None)
    patch.setattr(session, "spark_jars", lambda directory, _: {"spark.jars": f"{directory}/{JAR}"})
    patch.setattr("spark_sync.spark.driver.UMASK", 0o022)
    private = session.private_files
    patch.setattr(session, "private_files", lambda path: {k: v for k, v in private(path).items() if "umask" not in k})
    patch.setattr("spark_sync.ledger.ledger_tables._private_files", nullcontext)
    with scratch.scratch() as made:
        made.directory.chmod(0o755)
        patch.setattr(scratch, "scratch", lambda: as_it_is(made))
        yield


def ensure_callbacks(gateway: Any) -> None:
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]


@contextmanager
def as_it_is(made: Scratch) -> Iterator[Scratch]:
    yield made


def write_without_spark(directory: Path) -> None:
    """A ledger, and the record of what was read, as a run without Spark leaves them."""
    entity = EntityId("dataset", ("ns1", MARK))
    ledger = DeltaLedger(directory, "cdap")
    ledger.enter_baseline(1, [entity])
    ledger.add_events([EntityEvent(entity, ChangeKind.CREATE, Stage.REQUEST, MARK, 2, 3, "source", "1")])
    ledger.fold(lambda history: [LedgerChange(None, life) for life in history.lives])
    ledger.mark_folded(Scope(2, 2))
    ledger.notes.add_files("source", [f"/events/{MARK}"])
    note_versions(ledger)
    for table in TABLES:
        assert list((directory / table).rglob("*.parquet"))


def write_jar(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    ZipFile(path, "w").close()


def run(directory: Path, spark: Any) -> dict[str, object]:
    from pyspark import StorageLevel

    context, jvm = spark.sparkContext, spark.sparkContext._jvm
    lines = context.parallelize([MARK] * 5, 1)
    lines.persist(StorageLevel.DISK_ONLY)
    lines.count()
    password = directory / "password"
    password.write_text(MARK, encoding="utf-8")
    password.chmod(0o600)
    table = spark.createDataFrame([(MARK,)], "line string")
    table.write.parquet(str(directory / "state" / "answers"))
    write_without_spark(directory / "state" / "ledger")
    stream = spark.readStream.format("rate").load().writeStream.foreachBatch(lambda *_: None)
    query = (
        stream.trigger(processingTime="1 hour").option("checkpointLocation", str(directory / "state" / "rate")).start()
    )
    while query.lastProgress is None:
        time.sleep(0.1)
    written = jvm.java.io.ByteArrayOutputStream()
    jvm.java.io.ObjectOutputStream(written).writeObject(jvm.org.apache.spark.scheduler.local.StopExecutor())
    return {
        "block": f"rdd_{lines._jrdd.rdd().id()}_0",
        "jar": JAR,
        "file": str(password.absolute()),
        "stop": jvm.java.util.Base64.getEncoder().encodeToString(written.toByteArray()),
        "driver": context._gateway.proc.pid,
        "secret": jvm.org.apache.spark.SparkEnv.get().securityManager().getSecretKey(),
    }


def main() -> None:
    os.umask(0o022)
    directory = Path(sys.argv[1])
    settings = SyncSettings(jars_dir=directory / "jars")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(registry, "packages", lambda _: ("org.example:connector:1.0",))
        write_jar(directory / "jars" / JAR)
        if sys.argv[2:] == ["open"]:
            stack.enter_context(in_the_open(patch))
        spark = stack.enter_context(session.spark_session(settings, master="local[2]"))
        sys.stdout.write(f"{json.dumps(run(directory, spark))}\n")
        sys.stdout.flush()
        for _ in sys.stdin:
            sys.stdout.write(f"{spark.range(7).count()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
