"""Opening of files that a user names, which may be pipes: `--config <(command)`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO


def open_named(path: Path) -> BinaryIO:
    """Open a file for reading; a pipe that no program has open for writing is empty, and waits for none.

    Raises:
        OSError: it cannot be opened.
    """
    return open(path, "rb", opener=_open_at_once)


def read_named(path: Path) -> bytes:
    """Return the content of a file; a pipe that no program has open for writing is empty.

    Raises:
        OSError: it cannot be read.
    """
    with open_named(path) as file:
        return file.read()


def _open_at_once(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor
