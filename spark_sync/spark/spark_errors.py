"""Errors of Spark, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from ranger_cdap.errors import SyncError

_LONGEST_REASON = 300
_TRACEBACK = "Traceback (most recent call last):"
_JAVA_CALL = "py4j.protocol.Py4JJavaError:"
_JAVA_SAID = re.compile(r"^: (?:[\w$]+\.)+[\w$]+: (?P<told>.*)$", re.MULTILINE)
_STREAM_FAILED = "STREAM_FAILED"


@contextmanager
def spark_errors() -> Iterator[None]:
    """Translate what Spark, a task or the file system raises.

    Raises:
        SyncError: Spark failed.
    """
    try:
        yield
    except PySparkException as e:
        condition = e.getCondition() or type(e).__name__
        # Of a stream that failed the whole text begins with the numbers of its query and ends with its plan.
        told = (e.getMessageParameters() or {}).get("message") if condition == _STREAM_FAILED else None
        raise SyncError(f"Spark failed with {condition}: {reason(told or str(e))}") from e
    except Py4JJavaError as e:
        raise SyncError(f"Spark failed: {reason(str(e.java_exception.getMessage()))}") from e


def reason(text: str) -> str:
    """What a task raised in Python, which stands below its traceback; where that was a call of Java, what Java raised.

    Else the first line.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    raised = text.rpartition(_TRACEBACK)[2] if _TRACEBACK in text else ""
    told = [line for line in raised.splitlines() if line.strip() and not line[0].isspace()]
    if told and told[0].startswith(_JAVA_CALL) and (said := _JAVA_SAID.search(raised)):
        told = [said["told"]]
    return (told or lines or [""])[0].strip()[:_LONGEST_REASON]
