"""Python's garbage collector, paused where much is allocated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MUCH: Final = 10_000
"""Objects; old garbage is looked for rarely, so few are not made old."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection: loading allocates much and frees little, so collecting would double its time.

    If it was much, all is made old afterwards, so that the next collection of young objects does not look through it.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            # A program that has frozen objects would lose that by `unfreeze`.
            if gc.get_count()[0] > _MUCH and gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
