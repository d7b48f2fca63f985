"""Threads that look at something all the time while a test changes it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

READERS = 4


@contextmanager
def reading(look: Callable[[], Any]) -> Iterator[list[list[Any]]]:
    """Readers, and what each of them has seen: what it saw many times over is told once."""
    seen: list[list[Any]] = [[] for _ in range(READERS)]
    over, began = threading.Event(), threading.Barrier(READERS + 1)

    def read(views: list[Any]) -> None:
        began.wait()
        while not over.is_set():
            view = look()
            if not views or view != views[-1]:
                views.append(view)

    threads = [threading.Thread(target=read, args=(views,)) for views in seen]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that they take turns often
    for thread in threads:
        thread.start()
    try:
        began.wait()
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
