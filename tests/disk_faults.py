"""Faults of the disk and ends of processes, as the kernel makes them."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """No file can grow beyond so many bytes: the kernel takes a part of a write and refuses the rest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def in_a_child(work: Callable[[], None]) -> int:
    """Run it in a process of its own and give the process id; it ends there, with 0 if nothing was raised."""
    if child := os.fork():
        return child
    try:
        work()
        os._exit(0)
    except BaseException as e:
        os.write(2, f"{type(e).__name__}: {e}\n".encode())
    finally:
        os._exit(1)


def ended_well(child: int) -> bool:
    """Wait for a child; whether nothing was raised there."""
    _, status = os.waitpid(child, 0)
    return status == 0
