"""Run repeatedly until stopped, as soon as there is something to do."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from ranger_cdap.errors import AuthenticationFailed, LeaseHeld, RangerAdminError, RangerCdapError
from ranger_cdap.ranger.refresh.refresh_state import WAIT_AFTER_FAILED_LOGIN
from spark_sync.report import RunReport

logger = logging.getLogger(__name__)


POLL: Final = 0.2
"""Seconds between looks for news; longer if a look itself takes long."""
_SHARE: Final = 0.05
"""The greatest share of a processor for looking."""


def follow(
    run: Callable[[], RunReport],
    *,
    interval: float,
    ended: threading.Event,
    on_report: Callable[[RunReport], None],
    has_news: Callable[[], bool] = lambda: False,
) -> None:
    """Run at once when there is news, and every `interval` seconds without any, until `ended` is set.

    The current run is finished. Times count from the beginning of a run, so that a long run delays none. An unavailable
    Ranger Admin, or a lease held by another run, does not end it: the next run tries again after the interval, news or
    not, and after a rejected sign-in late enough that the account is not locked. Every other error does.

    Raises:
        RangerCdapError: as a run or `has_news`, except for those two.
    """
    trouble = ""
    while not ended.is_set():
        began = time.monotonic()
        error: RangerCdapError | None
        try:
            report = run()
            on_report(report)
            error = report.error
        except (RangerAdminError, LeaseHeld) as e:
            error = e
        pause, now = pause_after(error, interval), str(error or "")
        if now and now != trouble:
            logger.warning("sync failed; retrying every %g s: %s", pause, now)
        elif trouble and not now:
            logger.warning("sync works again")
        trouble = now
        if error is None:
            _wait(began + pause, ended, has_news)
        else:
            ended.wait(pause)


def _wait(due: float, ended: threading.Event, has_news: Callable[[], bool]) -> None:
    """Wait until that time of the monotonic clock, until the end, or until there is news."""
    while (left := due - time.monotonic()) > 0:
        looked = time.monotonic()
        if has_news():
            return
        cost = time.monotonic() - looked
        if ended.wait(min(left, max(POLL, cost / _SHARE))):
            return


def pause_after(error: RangerCdapError | None, interval: float) -> float:
    """Return the seconds until the next run."""
    return max(interval, WAIT_AFTER_FAILED_LOGIN) if isinstance(error, AuthenticationFailed) else interval


@contextmanager
def until_terminated() -> Iterator[threading.Event]:
    """Return an event that SIGTERM sets; in the main thread only. Ctrl-C is unaffected."""
    ended = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ended.set()

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)
