"""`WatchedFiles`: detection of changed files, for content that is reloaded without a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

LOOK_SECONDS: Final = 1.0
"""Minimum seconds between two checks of a file: each check is a system call, and there may be many requests."""

Stamp = tuple[int, int, int, int] | None


class WatchedFiles:
    """Files by their identity, size and times; links are followed, so a replaced link is a change.

    Thread-safe: a changed file may be read twice, and counts as seen only after it was read.
    """

    def __init__(self, paths: Iterable[str | Path], clock: Callable[[], float] = time.monotonic) -> None:
        self._paths = tuple(paths)
        self._clock = clock
        self._looked_at = clock()
        self._stamps = self._look()

    def if_changed(self, read: Callable[[], None], *, recheck: bool = False) -> None:
        """Call `read` if a file has changed since it was read; checks at most once a second, or now."""
        now = self._clock()
        if now - self._looked_at < LOOK_SECONDS and not recheck:
            return
        self._looked_at = now
        stamps = self._look()
        if stamps != self._stamps:
            read()
            self._stamps = stamps

    def _look(self) -> tuple[Stamp, ...]:
        return tuple(map(_stamp, self._paths))


def _stamp(path: str | Path) -> Stamp:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
