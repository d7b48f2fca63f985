"""Opening of files that a user names, which may be pipes (`--config <(command)`), and of those that settings name.

Law: no file is waited for. A pipe that takes the place of a certificate must not stop the service.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
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


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file that a setting names.

    Raises:
        OSError: it cannot be opened, or is a pipe, a device or a socket.
    """
    file = open_named(Path(path))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def read_regular(path: str | Path, most: int = -1) -> bytes:
    """Return the content of a file that a setting names, or its first `most` bytes.

    Raises:
        OSError: it cannot be read, or is a pipe, a device or a socket.
    """
    with open_regular(path) as file:
        return file.read(most)


@contextmanager
def opened_for_library(path: str | Path | None) -> Iterator[str | None]:
    """Yield a path by which a library opens this very file, whatever takes its place meanwhile; `None` stays `None`.

    Raises:
        OSError: it cannot be opened, or is a pipe, a device or a socket.
    """
    if path is None:
        yield None
        return
    with open_regular(path) as file:
        yield f"/dev/fd/{file.fileno()}"


def _open_at_once(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor
