"""The log of OpenTelemetry's SDK, as one sentence of ours per minute: a collector that is down does not fill a log."""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

_SDK: Final = "opentelemetry"
_SECONDS: Final = 60.0
_LONGEST: Final = 300
_OF_SYSTEM: Final = re.compile(r"\[Errno -?\d+\] ([A-Za-z ]+)")


class _OneSentence(logging.Handler):
    """Handler that repeats a warning of the SDK in a line of ours; the others of that minute are dropped."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._clock = clock
        self._last = -math.inf

    def emit(self, record: logging.LogRecord) -> None:
        now = self._clock()
        if now - self._last >= _SECONDS:
            self._last = now
            logger.warning("OpenTelemetry: %s", in_short(record.getMessage()))


def in_short(message: str) -> str:
    """Return the reason in a message of the SDK, as a bounded, printable line: it may quote the collector."""
    no_connection = _OF_SYSTEM.search(message)
    if no_connection is not None:
        return f"no connection to the collector: {no_connection[1]}"
    return "".join(each if each.isprintable() else "?" for each in " ".join(message.split())[:_LONGEST])


def shorten_sdk_log(clock: Callable[[], float] = time.monotonic) -> None:
    """Let the SDK log by that handler only, in this whole process."""
    sdk = logging.getLogger(_SDK)
    sdk.handlers[:] = [_OneSentence(clock)]
    sdk.propagate = False
