"""The Spark session of the sync job: Delta's jars, a quiet console, loopback only."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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
    "spark.sql.ansi.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

_CHATTY = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

# A driver of our own; `spark-submit` and a cluster bring theirs.
_LOGGING = Path(__file__).with_name("log4j2.properties").as_uri()
LOCAL = {
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING}",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}


def require_spark() -> None:
    """Say in one sentence that PySpark is not installed.

    Raises:
        SparkMissing: it is not.
    """
    try:
        import delta  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        raise SparkMissing("the sync job needs PySpark; install it with `pip install 'ranger-cdap[spark]'`") from None


@contextmanager
def spark_session(settings: SyncSettings, *, master: str = "local[*]") -> Iterator[SparkSession]:
    """A session with Delta tables, stopped at the end; under `spark-submit` its master and settings stand.

    Raises:
        SparkMissing: PySpark or Java is missing, or Delta's jars can't be found nor fetched.
    """
    require_spark()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder().appName("ranger-cdap sync")
    for key, value in CONFIGURATION.items():
        builder = builder.config(key, value)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.master(master)
        os.environ.setdefault("SPARK_LOCAL_IP", LOCAL["spark.driver.host"])
        for key, value in {**LOCAL, **quiet_logs(), **delta_jars(settings.jars_dir)}.items():
            builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, OSError) as e:
        raise SparkMissing(f"Spark does not start, is Java 17 on the path or in JAVA_HOME? ({type(e).__name__})") from e
    spark.sparkContext.setLogLevel("ERROR")
    for name in _CHATTY:  # PySpark logs every failed query as a line of JSON; we translate what it raises
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield spark
    finally:
        spark.stop()


def quiet_logs() -> dict[str, str]:
    """The driver's log configuration: errors only; it must be known before the driver starts."""
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG_CONFIGURATION.as_uri()}"}


def delta_jars(jars_dir: Path | None) -> dict[str, str]:
    """Where Spark gets Delta's jars: from the configured directory, from `jars` beside the interpreter, or by itself.

    Raises:
        SparkMissing: the configured directory lacks them.
    """
    directory = (jars_dir or Path(sys.prefix) / "jars").absolute()
    jars = [directory / name for name in JARS]
    if all(jar.is_file() for jar in jars):
        return {"spark.jars": ",".join(map(str, jars))}
    if jars_dir:
        raise SparkMissing(f"`sync.jars_dir` is `{jars_dir}`, where {' and '.join(JARS)} are not")
    return {"spark.jars.packages": PACKAGE}
