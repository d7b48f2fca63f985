"""Spark's driver process: out of reach of the terminal's Ctrl-C while we use it, and gone when we don't.

PySpark leaves the process to the end of Python and lets it share our process group, so that Ctrl-C would take it away
under the hands of whoever has to finish a write.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from spark_sync.spark.scratch import LOCATION, Scratch

_GOODBYE = 15.0  # seconds the process has to end by itself
UMASK = 0o077


@contextmanager
def driver_process(configuration: Mapping[str, str], scratch: Scratch) -> Iterator[None]:
    """A driver with this configuration, used by every session inside; on return the process has ended.

    What it writes is in the scratch directory or for its owner only.

    Raises:
        PySparkRuntimeError: it does not start.
    """
    conf = SparkConf(loadDefaults=False).setAll(list(configuration.items()))
    # What Delta prints there (the number of files it removed) is no answer of ours.
    popen = {
        "start_new_session": True,
        "stdout": subprocess.DEVNULL,
        "umask": UMASK,
        "pass_fds": (scratch.descriptor,),
    }
    # The variable counts more than the setting.
    with _environment(LOCATION, str(scratch.directory)):
        gateway = _launched(conf, popen)
    goodbye = _GOODBYE
    try:
        SparkContext._ensure_initialized(gateway=gateway)
        yield
    except KeyboardInterrupt:
        goodbye = 0.0  # whoever presses Ctrl-C does not want to wait, and a run may be killed at any point
        raise
    finally:
        SparkContext._gateway = None
        SparkContext._jvm = None
        _end(gateway.proc, goodbye)
        with suppress(Exception):  # the other end of its connections is gone
            gateway.shutdown()


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _launched(conf: SparkConf, popen: Mapping[str, object]) -> JavaGateway:
    """A driver that has started; one whose start is interrupted is ended.

    PySpark has no name for the process before it has started: where Ctrl-C breaks in, it would be nobody's.
    """
    started: Future[JavaGateway] = Future()

    def launch() -> None:
        try:
            started.set_result(launch_gateway(conf, popen))  # type: ignore[no-untyped-call]
        except BaseException as e:
            started.set_exception(e)

    threading.Thread(target=launch, name="start of Spark's driver", daemon=True).start()
    try:
        return started.result()
    except KeyboardInterrupt:
        with suppress(Exception):
            _end(started.result(_GOODBYE).proc, goodbye=0.0)
        raise


def _end(process: subprocess.Popen[bytes], goodbye: float) -> None:
    """The process ends by itself when its standard input does."""
    if goodbye and process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(goodbye)
    process.kill()
    process.wait()
