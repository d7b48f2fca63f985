"""Durable writes: files that survive a power failure; and errors of the system as errors of ours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ranger_cdap.errors import RangerCdapError, reason


def fsync_directory(directory: Path) -> None:
    """Make the entries of a directory durable.

    Raises:
        OSError: the disk fails.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: Iterable[bytes], *, mode: int = 0o600, modified: float | None = None) -> None:
    """Replace or create a file atomically: even after a power failure it has its old content or all of the new.

    For one writer at a time. `mode` is exact, whatever the umask; `modified` is the file's time, in seconds since 1970.

    Raises:
        OSError: the disk fails; unless only the very last step failed, the old content stays.
    """
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.unlink(missing_ok=True)
        # Never write to a file that someone else has put there, a link perhaps.
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.writelines(content)
            file.flush()
            if modified is not None:
                os.utime(descriptor, (modified, modified))
            os.fsync(descriptor)
        beside.replace(path)
        fsync_directory(path.parent)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


@contextmanager
def os_errors_as(kind: type[RangerCdapError], failed: str) -> Iterator[None]:
    """Raise an error of ours in place of one of the operating system: what failed, and its reason."""
    try:
        yield
    except OSError as e:
        raise kind(f"{failed}: {reason(e)}") from None
