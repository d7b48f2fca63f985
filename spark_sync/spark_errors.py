"""What Spark raises, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from ranger_cdap.errors import SyncError

_LONGEST_REASON = 300
_TRACEBACK = "Traceback (most recent call last):"


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
        raise SyncError(f"Spark failed with {condition}: {_reason(str(e))}") from e
    except Py4JJavaError as e:
        raise SyncError(f"Spark failed: {_reason(str(e.java_exception.getMessage()))}") from e


def _reason(text: str) -> str:
    """What a task raised in Python, which stands below its traceback; else the first line."""
    lines = [line for line in text.splitlines() if line.strip()]
    raised = text.rpartition(_TRACEBACK)[2] if _TRACEBACK in text else ""
    told = [line for line in raised.splitlines() if line.strip() and not line[0].isspace()]
    return (told or lines or [""])[0].strip()[:_LONGEST_REASON]
