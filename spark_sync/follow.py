"""Run after run, until somebody wants it to end."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ranger_cdap.errors import LeaseHeld, RangerAdminError
from spark_sync.report import RunReport

logger = logging.getLogger(__name__)


def follow(
    run: Callable[[], RunReport], *, interval: float, ended: threading.Event, told: Callable[[RunReport], None]
) -> None:
    """One run every `interval` seconds, beginning now, until `ended` is set; the run that is going on is finished.

    Ranger Admin away, or a lease that another run holds, ends nothing: the next run tries again. Everything else does.

    Raises:
        RangerCdapError: as a run, but for those two.
    """
    trouble = ""
    while not ended.is_set():
        try:
            report = run()
            told(report)
            now = report.trouble
        except (RangerAdminError, LeaseHeld) as e:
            now = str(e)
        if now and now != trouble:
            logger.warning("the sync job can't go on just now and tries again every %g s: %s", interval, now)
        elif trouble and not now:
            logger.warning("the sync job works again")
        trouble = now
        ended.wait(interval)


@contextmanager
def until_terminated() -> Iterator[threading.Event]:
    """An event that SIGTERM sets; in the main thread only. Ctrl-C stays what it is."""
    ended = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)
