"""Scratch directories for Spark's temporary files: one per driver, for its owner only, removed however the driver ends.

Spark spills, caches and unpacks files there, which name creators and entities.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ranger_cdap.errors import ConfigError

PREFIX: Final = "ranger-cdap-spark-"
LOCATION: Final = "SPARK_LOCAL_DIRS"
"""The variable that names the parent of scratch directories; the default is that of Python's temporary files."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A scratch directory, locked through `descriptor`; the driver inherits it, so it is in use while either lives."""

    directory: Path
    descriptor: int


@contextmanager
def scratch() -> Iterator[Scratch]:
    """Make a scratch directory with mode 0700 and remove it on return; first remove those that killed runs left.

    Raises:
        OSError: it cannot be made.
        ConfigError: nothing may be executed there, and Spark unpacks native libraries.
    """
    location = Path(os.environ.get(LOCATION, "").partition(",")[0] or tempfile.gettempdir()).absolute()
    if os.statvfs(location).f_flag & os.ST_NOEXEC:
        raise ConfigError(
            f"`{location}` is mounted `noexec`, and Spark runs what it unpacks; set `{LOCATION}` to another"
        )
    _remove_leftovers(location)
    made = _make(location)
    try:
        yield made
    finally:
        shutil.rmtree(made.directory, ignore_errors=True)
        os.close(made.descriptor)


def _make(location: Path) -> Scratch:
    while True:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=location))
        # Until it is locked, a run that starts at the same time may remove it as a leftover.
        with suppress(FileNotFoundError):
            descriptor = _open(directory)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if directory.is_dir():
                return Scratch(directory, descriptor)
            os.close(descriptor)


def _remove_leftovers(location: Path) -> None:
    """Remove the scratch directories of this user that no process holds; links are not followed."""
    for directory in location.glob(f"{PREFIX}*"):
        with suppress(OSError):  # a link, another user's, in use, or already removed
            descriptor = _open(directory)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(directory)
            finally:
                os.close(descriptor)


def _open(directory: Path) -> int:
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
