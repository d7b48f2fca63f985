"""Python's garbage collector, paused where much is allocated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection: loading allocates much and frees little, so collecting would double its time.

    Afterwards all is made old, so that the next collection of young objects does not look through what was loaded.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if gc.get_freeze_count() == 0:  # else the program has frozen objects of its own
                gc.freeze()
                gc.unfreeze()
            gc.enable()
