"""Restart of threads, locks and connections in a forked child, where those of the parent do not work."""

from __future__ import annotations

import itertools
import logging
import os
import threading
import weakref
from collections.abc import Callable
from multiprocessing import util
from typing import Protocol

import filelock  # noqa: F401 - its own hook must be registered, and so run, before ours

logger = logging.getLogger(__name__)


class Forked(Protocol):
    """Object that continues in a forked child."""

    def after_fork(self) -> None:
        """Replace locks, threads and connections; called in the child before any other code of it."""


_objects: weakref.WeakValueDictionary[int, Forked] = weakref.WeakValueDictionary()
_numbers = itertools.count()


def restart_after_fork(one: Forked) -> None:
    """Call `after_fork` of the object in every forked child, after those of the objects registered before it."""
    _objects[next(_numbers)] = one


class ForkLock:
    """Lock that is free in a forked child, whichever thread of the parent holds it; a context manager."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Replace the lock."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def run_at_exit(run: Callable[[], None]) -> Callable[[], object]:
    """Call the function when this process ends normally; return the function that cancels that.

    Workers of `multiprocessing` are included, which skip `atexit`.
    """
    return util.Finalize(None, run, exitpriority=0).cancel


def _restart_all() -> None:
    for one in list(_objects.values()):
        try:
            one.after_fork()
        except Exception as e:
            logger.warning("`%s` cannot be used in this forked process: %s", type(one).__name__, type(e).__name__)


os.register_at_fork(after_in_child=_restart_all)
