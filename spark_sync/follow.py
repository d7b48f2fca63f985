"""Run repeatedly until stopped."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from ranger_cdap.errors import AuthenticationFailed, LeaseHeld, RangerAdminError, RangerCdapError
from ranger_cdap.policies.refresh.refresh_state import WAIT_AFTER_FAILED_LOGIN
from spark_sync.report import RunReport

logger = logging.getLogger(__name__)


def follow(
    run: Callable[[], RunReport], *, interval: float, ended: threading.Event, on_report: Callable[[RunReport], None]
) -> None:
    """Run every `interval` seconds, beginning now, until `ended` is set; the current run is finished.

    An unavailable Ranger Admin, or a lease held by another run, does not end it: the next run tries again, after a
    rejected sign-in late enough that the account is not locked. Every other error does.

    Raises:
        RangerCdapError: as a run, except for those two.
    """
    trouble = ""
    while not ended.is_set():
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
        ended.wait(pause)


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
