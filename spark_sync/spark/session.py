"""The Spark session of the sync job: a quiet console, loopback only, closed to other users."""

from __future__ import annotations

import logging
import os
import pwd
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ranger_cdap.config import SyncSettings
from ranger_cdap.errors import ConfigError, SparkMissing
from spark_sync.spark.jars import spark_jars
from spark_sync.spark.spark_errors import spark_errors
from spark_sync.spark.spark_security import (
    CLOSED,
    authenticate_callbacks,
    check_closed,
    fresh_secret,
    serve_no_directory,
)
from spark_sync.spark.submission import LOCAL_MASTER, driver_settings, is_submitted
from spark_sync.tasks import in_another_thread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

CONFIGURATION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.ui.showConsoleProgress": "false",
}

_CHATTY = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")

# A driver and executors of our own; `spark-submit` and a cluster bring theirs.
LOCAL = {
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
}


@contextmanager
def spark_session(settings: SyncSettings, *, master: str = LOCAL_MASTER) -> Iterator[SparkSession]:
    """Open a session, stopped at the end; under `spark-submit` its master and settings apply.

    Args:
        master: this machine, or a cluster, whose settings and jars are those of `spark-defaults.conf`; the driver is a
            process of ours there too.

    Raises:
        SparkMissing: PySpark, Java, or a jar that a source needs is missing.
        SyncError: a cluster refuses the application.
        ConfigError: Spark on a cluster is open to others, which the settings do not allow.
    """
    if find_spec("pyspark") is None:  # not imported: few events and few answers need none
        raise SparkMissing("so much needs PySpark; install it with `pip install 'ranger-cdap[spark]'`")
    from pyspark.errors import PySparkException

    with ExitStack() as stack:
        with spark_errors():
            try:
                spark = stack.enter_context(_session(settings, master))
            except (PySparkException, OSError) as e:
                raise SparkMissing(
                    f"Spark does not start; is Java 17 on the path or in JAVA_HOME? ({type(e).__name__})"
                ) from e
        yield spark


@contextmanager
def _session(settings: SyncSettings, master: str) -> Iterator[SparkSession]:
    from spark_sync.sources.registry import packages
    from spark_sync.spark.driver import driver_process
    from spark_sync.spark.scratch import scratch

    configuration = dict(CONFIGURATION)
    with ExitStack() as stack:
        is_ours = not is_submitted() and master.startswith("local")
        if is_ours:
            os.environ.setdefault("SPARK_LOCAL_IP", LOCAL["spark.driver.host"])
            configuration |= LOCAL | CLOSED | spark_jars(settings.jars_dir, packages(settings.sources))
        if not is_submitted():
            _check_user()
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            temporary = stack.enter_context(scratch())
            configuration |= {"spark.master": master, **private_files(temporary.directory)}
            stack.enter_context(driver_process(configuration, temporary))
        if is_ours:
            configuration |= fresh_secret()
        else:
            check_closed(*driver_settings(), allowed=settings.allow_open_spark)
        configuration["spark.app.name"] = "ranger-cdap sync"
        # In the main thread PySpark would install its own handler of Ctrl-C.
        spark = in_another_thread(partial(_started, configuration), "start of Spark").result()
        spark.sparkContext.setLogLevel("ERROR")
        logging.getLogger().addFilter(_is_not_py4j)
        for name in _CHATTY:  # PySpark and py4j log what they also raise; we translate that
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            authenticate_callbacks(spark.sparkContext._gateway)
            yield spark
        except KeyboardInterrupt:
            # The connection may be in the middle of an answer: the driver is ended without it, after this server.
            spark.sparkContext._accumulatorServer.shutdown()
            raise
        except BaseException:
            spark.stop()
            raise
        spark.stop()


def _check_user() -> None:
    """Check that the user has a name on this machine: Hadoop's sign-in ends with `invalid null input` otherwise.

    Raises:
        ConfigError: the user has none.
    """
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        raise ConfigError(
            f"user {os.getuid()} has no name on this machine, and Spark needs one; run as a user of `/etc/passwd`"
        ) from None


def _started(configuration: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    # Before there is a session, which would make the driver serve a directory.
    serve_no_directory(SparkContext.getOrCreate(SparkConf().setAll(list(configuration.items()))))
    return SparkSession.Builder().config(map=dict(configuration)).getOrCreate()


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """Filter the root logger's messages of py4j about exceptions it also raises, and about the ended driver."""
    return not str(record.msg).startswith(("KeyboardInterrupt while", "Exception while sending command"))


def private_files(directory: Path) -> dict[str, str]:
    """Return the settings of the driver's temporary files, of private file modes, and of Java.

    The driver logs errors only, and ends if memory is short instead of letting the run hang. Must be set before
    it starts.
    """
    options = (
        f"-Dlog4j2.configurationFile={LOG_CONFIGURATION.as_uri()}",
        f'"-Djava.io.tmpdir={directory}"',
        "-XX:+ExitOnOutOfMemoryError",
    )
    return {
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.local.dir": str(directory),
        # Hadoop's file systems set the mode of what they write whatever the process has, as the answers of a review.
        "spark.hadoop.fs.permissions.umask-mode": "077",
        # Nothing is ever kept there, but Spark makes it, by default in the working directory.
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
