"""Spark's driver process: protected from the terminal's Ctrl-C during use, and ended after it.

PySpark keeps the process until Python ends and lets it share our process group, so that Ctrl-C would end it in the
middle of a write.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, Self, TextIO

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from spark_sync.spark.scratch import LOCATION, Scratch
from spark_sync.tasks import in_another_thread

_GOODBYE = 15.0  # seconds the process has to end on its own
_REST = 5.0  # seconds for the last of its messages, if it leaves processes behind that hold them open
_REMARK: Final = b"WARNING: "  # Java's own, of modules and methods; what goes wrong in Spark has a time and a level
_STARTED: Final = b"\0started\n"  # in the order of the messages, so that none before it counts as a later one
UMASK = 0o077


@contextmanager
def driver_process(configuration: Mapping[str, str], scratch: Scratch) -> Iterator[None]:
    """Start a driver with this configuration for every session inside; on return the process has ended.

    Its files are in the scratch directory or for its owner only.

    Raises:
        PySparkRuntimeError: it does not start.
    """
    conf = SparkConf(loadDefaults=False).setAll(list(configuration.items()))
    # What Java prints there must not mix with our output.
    popen = {
        "start_new_session": True,
        "stdout": subprocess.DEVNULL,
        "umask": UMASK,
        "pass_fds": (scratch.descriptor,),
    }
    with ErrorRelay(sys.stderr) as errors:
        # The variable counts more than the setting.
        with _environment(LOCATION, str(scratch.directory)):
            gateway = _launched(conf, {**popen, "stderr": errors.descriptor})
        errors.started()
        goodbye = _GOODBYE
        try:
            SparkContext._ensure_initialized(gateway=gateway)
            yield
        except KeyboardInterrupt:
            goodbye = 0.0  # Ctrl-C ends at once, as a run may be killed at any point
            raise
        finally:
            SparkContext._gateway = None
            SparkContext._jvm = None
            _end(gateway.proc, goodbye)
            with suppress(Exception):  # the other end of its connections is gone
                gateway.shutdown()


class ErrorRelay:
    """Standard error of a process, relayed without the remarks of Java while it starts.

    If it does not start, all of it is relayed. `descriptor` is what the process gets.
    """

    def __init__(self, target: TextIO) -> None:
        self._target = target
        self._open = True
        self._source, self.descriptor = os.pipe()
        self._reader = threading.Thread(target=self._relay, name="messages of Spark's driver", daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._reader.join(_REST)

    def started(self) -> None:
        """Drop the messages so far, and relay those to come; the process has the only descriptor from now on."""
        os.write(self.descriptor, _STARTED)
        self._close()

    def _close(self) -> None:
        if self._open:
            self._open = False
            os.close(self.descriptor)

    def _relay(self) -> None:
        early: list[bytes] | None = []
        with os.fdopen(self._source, "rb") as lines:
            for line in lines:
                if early is None:
                    if not line.startswith(_REMARK):
                        self._show(line)
                elif line.endswith(_STARTED):
                    early = None
                else:
                    early.append(line)
        for line in early or ():
            self._show(line)

    def _show(self, line: bytes) -> None:
        with suppress(OSError, ValueError):  # it has no reader any more
            self._target.write(line.decode(errors="replace"))
            self._target.flush()


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
    """Start a driver; end it if the start is interrupted.

    PySpark holds no reference to the process before it has started: after a Ctrl-C it would be orphaned.
    """
    # Ctrl-C interrupts the main thread, so not the start.
    started: Future[JavaGateway] = in_another_thread(partial(launch_gateway, conf, popen), "start of Spark's driver")
    try:
        return started.result()
    except KeyboardInterrupt:
        with suppress(Exception):
            _end(started.result(_GOODBYE).proc, goodbye=0.0)
        raise


def _end(process: subprocess.Popen[bytes], goodbye: float) -> None:
    """Let the process end by closing its standard input, or kill it."""
    if goodbye and process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(goodbye)
    process.kill()
    process.wait()
