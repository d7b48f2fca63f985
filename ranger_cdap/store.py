"""Files of a `Location`: listed, read and replaced alike on this machine, in HDFS and in an object store.

For a URL by the store of delta-rs, so what reaches the tables reaches the files, by the same credentials and without
Java. A file that is replaced has its old content or all of the new.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from errno import ENOENT
from functools import cache
from importlib.util import find_spec
from typing import Any, BinaryIO, Final

from ranger_cdap.config import Location, StoreUrl
from ranger_cdap.config.named_file import open_named
from ranger_cdap.disk import replace_file
from ranger_cdap.errors import SyncMissing

_BUFFER: Final = 1 << 22
"""Bytes of a request for a part of a file."""


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """Item of a directory: its name, and its size; `None` for a directory."""

    name: str
    size: int | None


def require_packages() -> None:
    """Check that the packages of stores, and of the ledger, are installed.

    Raises:
        SyncMissing: one is not.
    """
    if any(find_spec(name) is None for name in ("deltalake", "pyarrow")):
        raise SyncMissing("the sync job needs an extra; install it with `pip install 'ranger-cdap[sync]'`")


def is_there(at: Location) -> bool:
    """Return whether there is a file or a directory; in an object store, one with a file below it.

    Raises:
        OSError: that cannot be known.
    """
    if not isinstance(at, StoreUrl):
        return at.exists()
    try:
        file_size(at)
    except FileNotFoundError:
        return False
    return True


def file_size(at: Location) -> int | None:
    """Return the size of a file in bytes; `None` of a directory.

    Raises:
        FileNotFoundError: it is not there.
        OSError: the store fails.
    """
    from pyarrow.fs import FileType  # type: ignore[import-untyped]

    system, path = _system(at)
    found = system.get_file_info(path)
    if found.type == FileType.NotFound:
        raise FileNotFoundError(ENOENT, "it is not there", str(at))
    size: int | None = found.size
    return size


def entries(at: Location, *, below: bool = False) -> Iterator[StoreEntry]:
    """Yield what is in a directory, by name, with `below` also what is in its directories; nothing if it is not there.

    Raises:
        OSError: it cannot be listed.
    """
    from pyarrow.fs import FileSelector, FileType

    system, path = _system(at)
    found = system.get_file_info(FileSelector(path, recursive=below, allow_not_found=True))
    for each in sorted(found, key=lambda info: info.path):
        yield StoreEntry(each.path[len(path) :].lstrip("/"), each.size if each.type == FileType.File else None)


def open_file(at: Location) -> BinaryIO:
    """Open a file to be read, from any place; a pipe that nothing writes to is empty.

    Raises:
        FileNotFoundError: it is not there.
        OSError: it cannot be read.
    """
    if not isinstance(at, StoreUrl):
        return open_named(at)
    system, path = _system(at)
    return io.BufferedReader(system.open_input_file(path), _BUFFER)


def replace_object(at: Location, content: bytes) -> None:
    """Create or replace a file, with the directories above it; on this machine, all private to their owner.

    Raises:
        OSError: it cannot be written.
    """
    if not isinstance(at, StoreUrl):
        at.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(at, [content])
        return
    # Not through Arrow, whose buffers the store does not take.
    to = _handler(at.root)._handler.open_output_stream(at.path, None)
    to.write(content)
    to.close()


def move_directory(at: Location, to: Location) -> None:
    """Move a directory; an object store has none, so its files are moved one by one.

    Raises:
        OSError: it cannot be moved.
    """
    if not isinstance(at, StoreUrl):
        at.rename(str(to))
        return
    for name in [each.name for each in entries(at, below=True) if each.size is not None]:
        _handler(at.root).move((at / name).path, f"{to / name}".removeprefix(f"{at.root}/"))


def remove_directory(at: Location) -> None:
    """Remove a directory that may not be there, and all in it.

    Raises:
        OSError: one in a shared file system cannot be removed.
    """
    if isinstance(at, StoreUrl):
        _handler(at.root).delete_dir(at.path)
    else:
        shutil.rmtree(at, ignore_errors=True)


def _system(at: Location) -> tuple[Any, str]:
    """Return Arrow's file system, and the path in it."""
    from pyarrow.fs import LocalFileSystem, PyFileSystem

    return (PyFileSystem(_handler(at.root)), at.path) if isinstance(at, StoreUrl) else (LocalFileSystem(), str(at))


@cache
def _handler(root: str) -> Any:
    from deltalake.fs import DeltaStorageHandler

    return DeltaStorageHandler(f"{root}/")
