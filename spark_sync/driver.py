"""Spark's driver process: out of reach of the terminal's Ctrl-C while we use it, and gone when we don't.

PySpark leaves the process to the end of Python and lets it share our process group, so that Ctrl-C would take it away
under the hands of whoever has to finish a write.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_GOODBYE = 15.0  # seconds the process has to end by itself


@contextmanager
def driver_process(configuration: Mapping[str, str]) -> Iterator[None]:
    """A driver with this configuration, used by every session inside; on return the process has ended.

    Raises:
        PySparkRuntimeError: it does not start.
    """
    conf = SparkConf(loadDefaults=False).setAll(list(configuration.items()))
    # What Delta prints there (the number of files it removed) is no answer of ours.
    popen = {"start_new_session": True, "stdout": subprocess.DEVNULL}
    gateway = launch_gateway(conf, popen)  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)
    goodbye = _GOODBYE
    try:
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


def _end(process: subprocess.Popen[bytes], goodbye: float) -> None:
    """The process ends by itself when its standard input does."""
    if goodbye and process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(goodbye)
    process.kill()
    process.wait()
