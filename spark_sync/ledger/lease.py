"""Lease of the state directory: a lock file that allows one run at a time, and next to it the name of its holder."""

from __future__ import annotations

import contextlib
import os
import platform
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from ranger_cdap.disk import replace_file
from ranger_cdap.errors import LeaseHeld, SyncError, reason

HOLDER = "lease.holder"
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


@contextlib.contextmanager
def lease(directory: Path) -> Iterator[None]:
    """Hold the lease of a state directory; the operating system releases it if the process dies.

    Raises:
        LeaseHeld: another process holds it; the message says which.
        SyncError: the directory cannot be created or written, or others can write to it.
    """
    check_directory(directory)
    lock, holder = FileLock(directory / "lease.lock", timeout=0, mode=0o600), directory / HOLDER
    try:
        lock.acquire()
    except Timeout:
        try:
            who = holder.read_text(encoding="utf-8")
        except OSError:
            who = "another process"
        raise LeaseHeld(f"a sync run is in progress in `{directory}`, held by {who}; try again later") from None
    except OSError as e:
        raise _unusable(directory, reason(e)) from e
    try:
        with contextlib.suppress(OSError):  # it only serves the message of the next run
            replace_file(holder, [f"process {os.getpid()} on {platform.node()}".encode()])
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def check_directory(directory: Path) -> None:
    """Check that a state directory exists, created for its owner only if necessary, and can be read.

    Raises:
        SyncError: it cannot be created or read, or others can write to it.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = directory.stat().st_mode
    except FileExistsError:
        raise _unusable(directory, "it is not a directory") from None
    except OSError as e:
        raise _unusable(directory, reason(e)) from e
    if mode & _WRITABLE_BY_OTHERS:
        raise SyncError(
            f"the state directory `{directory}` can be written by others, who could make themselves creators; run"
            " `chmod go-w` on it"
        )
    if not os.access(directory, os.R_OK | os.X_OK):
        raise _unusable(directory, "it cannot be read")


def _unusable(directory: Path, why: str) -> SyncError:
    return SyncError(f"the state directory `{directory}` cannot be used: {why}; correct `sync.state_dir`")
