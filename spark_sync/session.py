"""The Spark session of the sync job: Delta's jars, a quiet console, loopback only."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ranger_cdap.config import SyncSettings
from ranger_cdap.errors import SparkMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = ("delta-spark_4.1_2.13-4.3.1.jar", "delta-storage-4.3.1.jar")
LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
PACKAGE = "io.delta:delta-spark_4.1_2.13:4.3.1"

CONFIGURATION = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.session.timeZone": "UTC",
    # A run has more plans than Spark keeps compiled by default; without this each run compiles all of them anew.
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.sql.ansi.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.ui.showConsoleProgress": "false",
}

_CHATTY = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")

# A driver of our own; `spark-submit` and a cluster bring theirs.
LOCAL = {
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    # Planning again after each stage makes Delta list the files of every table again each time (half of a small run).
    "spark.sql.adaptive.enabled": "false",
    # Looking for files that nobody needs any more would otherwise be a job of 10,000 tasks.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
}


def submitted() -> bool:
    """Whether `spark-submit` has started the driver, with settings and jars of its own."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def require_spark(what: str = "the sync job") -> None:
    """Say in one sentence that PySpark, which `what` needs, is not installed.

    Raises:
        SparkMissing: it is not.
    """
    try:
        import delta  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        raise SparkMissing(f"{what} needs PySpark; install it with `pip install 'ranger-cdap[spark]'`") from None


@contextmanager
def spark_session(settings: SyncSettings, *, master: str = "local[*]") -> Iterator[SparkSession]:
    """A session with Delta tables, stopped at the end; under `spark-submit` its master and settings stand.

    Raises:
        SparkMissing: PySpark or Java is missing, or Delta's jars can't be found nor fetched.
    """
    require_spark()
    from pyspark.errors import PySparkException

    with ExitStack() as stack:
        try:
            spark = stack.enter_context(_session(settings, master))
        except (PySparkException, OSError) as e:
            raise SparkMissing(
                f"Spark does not start, is Java 17 on the path or in JAVA_HOME? ({type(e).__name__})"
            ) from e
        yield spark


@contextmanager
def _session(settings: SyncSettings, master: str) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from spark_sync.driver import driver_process
    from spark_sync.sources.registry import packages

    configuration = dict(CONFIGURATION)
    with ExitStack() as stack:
        if not submitted():
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", LOCAL["spark.driver.host"])
            configuration |= {"spark.master": master, **LOCAL, **quiet_logs()}
            configuration |= spark_jars(settings.jars_dir, packages(settings.sources))
            # Nothing is ever kept there, but Spark makes it, by default in the working directory.
            warehouse = stack.enter_context(TemporaryDirectory(prefix="ranger-cdap-", ignore_cleanup_errors=True))
            configuration["spark.sql.warehouse.dir"] = warehouse
            stack.enter_context(driver_process(configuration))
        builder = SparkSession.Builder().appName("ranger-cdap sync")
        for key, value in configuration.items():
            builder = builder.config(key, value)
        spark = _in_another_thread(builder.getOrCreate)
        spark.sparkContext.setLogLevel("ERROR")
        logging.getLogger().addFilter(_is_not_py4j)
        for name in _CHATTY:  # PySpark and py4j log what they also raise; we translate that
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            yield spark
        except KeyboardInterrupt:
            # The connection is in the middle of an answer: the driver is ended without it, and this server before that.
            spark.sparkContext._accumulatorServer.shutdown()
            raise
        except BaseException:
            spark.stop()
            raise
        spark.stop()


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """py4j writes some of what it raises with the root logger, at the end even that the driver we ended is gone."""
    return not str(record.msg).startswith(("KeyboardInterrupt while", "Exception while sending command"))


def _in_another_thread(create: Callable[[], SparkSession]) -> SparkSession:
    """In the main thread PySpark takes over Ctrl-C; its handler breaks into whatever the connection is doing."""
    created: Future[SparkSession] = Future()

    def run() -> None:
        try:
            created.set_result(create())
        except BaseException as e:
            created.set_exception(e)

    threading.Thread(target=run, name="start of Spark", daemon=True).start()
    return created.result()


def quiet_logs() -> dict[str, str]:
    """The driver's log configuration: errors only, and its end where it runs out of memory instead of a run that hangs.

    It must be known before the driver starts.
    """
    options = f"-Dlog4j2.configurationFile={LOG_CONFIGURATION.as_uri()} -XX:+ExitOnOutOfMemoryError"
    return {"spark.driver.extraJavaOptions": options}


def spark_jars(jars_dir: Path | None, packages: Sequence[str] = ()) -> dict[str, str]:
    """Where Spark gets Delta's jars, and those of `packages`: from a directory that has them, else by itself.

    The directory is the configured one or `jars` beside the interpreter. Where it has the jar of one of `packages`,
    Spark gets all of its jars, because what that one needs must be there too.

    Raises:
        SparkMissing: the configured directory lacks Delta's.
    """
    directory = (jars_dir or Path(sys.prefix) / "jars").absolute()
    jars = [directory / name for name in JARS]
    fetched = [package for package in packages if not (directory / _jar_name(package)).is_file()]
    if len(fetched) < len(packages):
        jars += [jar for jar in sorted(directory.glob("*.jar")) if jar not in jars]
    found = all(jar.is_file() for jar in jars)
    if jars_dir and not found:
        raise SparkMissing(f"`sync.jars_dir` is `{jars_dir}`, where {' and '.join(JARS)} are not")
    result = {"spark.jars": ",".join(map(str, jars))} if found else {}
    if not found:
        fetched.insert(0, PACKAGE)
    return result | ({"spark.jars.packages": ",".join(fetched)} if fetched else {})


def _jar_name(package: str) -> str:
    _, artifact, version = package.split(":")
    return f"{artifact}-{version}.jar"
