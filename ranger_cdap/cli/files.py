"""Files that a person names on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ranger_cdap.errors import InvalidInput, PolicySetError


def read_file(path: Path) -> bytes:
    """The content of a file.

    Raises:
        InvalidInput: it can't be read; the message says why.
    """
    try:
        return path.read_bytes()
    except OSError as e:
        raise InvalidInput(f"`{path}` can't be read: {e.strerror or type(e).__name__}") from None


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """What goes wrong with policies inside of it is the fault of a file that a person named.

    Raises:
        InvalidInput: in the place of PolicySetError.
    """
    try:
        yield
    except PolicySetError as e:
        raise InvalidInput(f"`{path}` can't be used: {e}") from None


def write_file(path: Path, content: bytes) -> None:
    """Put content into a file.

    Raises:
        InvalidInput: it can't be written; the message says why.
    """
    try:
        path.write_bytes(content)
    except OSError as e:
        raise InvalidInput(f"`{path}` can't be written: {e.strerror or type(e).__name__}") from None
