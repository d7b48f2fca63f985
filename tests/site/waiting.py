"""Waiting for what a page does after it was loaded: for a condition and never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds; half a minute without it is a failure."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "the page did not get there within 30 s"
        time.sleep(0.05)
