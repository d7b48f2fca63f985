"""Errors of Spark as one-line `SyncError`s."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ranger_cdap.errors import SyncError

_LONGEST_REASON = 300
_TRACEBACK = "Traceback (most recent call last):"
_JAVA_CALL = "py4j.protocol.Py4JJavaError:"
_JAVA_EXCEPTION = re.compile(r"^: (?:[\w$]+\.)+[\w$]+: (?P<message>.*)$", re.MULTILINE)
_STREAM_FAILED = "STREAM_FAILED"


@contextmanager
def spark_errors() -> Iterator[None]:
    """Translate exceptions of Spark, of a task or of the file system.

    Raises:
        SyncError: Spark failed.
    """
    try:
        yield
    except Exception as e:
        translated = _translated(e) if "pyspark" in sys.modules else None
        if translated is None:
            raise
        raise translated from e


def _translated(error: Exception) -> SyncError | None:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    match error:
        case PySparkException():
            condition = error.getCondition() or type(error).__name__
            # The full text of a failed stream begins with its query ids and ends with its plan.
            message = (error.getMessageParameters() or {}).get("message") if condition == _STREAM_FAILED else None
            return SyncError(f"Spark failed with {condition}: {reason(message or str(error))}")
        case Py4JJavaError():
            return SyncError(f"Spark failed: {reason(str(error.java_exception.getMessage()))}")
        case _:
            return None


def reason(text: str) -> str:
    """Return the exception of a Python task, found below its traceback, or that of a Java call; else the first line."""
    lines = [line for line in text.splitlines() if line.strip()]
    raised = text.rpartition(_TRACEBACK)[2] if _TRACEBACK in text else ""
    raised_lines = [line for line in raised.splitlines() if line.strip() and not line[0].isspace()]
    if raised_lines and raised_lines[0].startswith(_JAVA_CALL) and (said := _JAVA_EXCEPTION.search(raised)):
        raised_lines = [said["message"]]
    return (raised_lines or lines or [""])[0].strip()[:_LONGEST_REASON]
