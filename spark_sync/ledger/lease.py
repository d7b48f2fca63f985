"""Lease of a ledger: one run at a time. Here a lock file, which the operating system releases if its process dies.

On a shared file system it is a row of commits (`store_lease`), which expires.
"""

from __future__ import annotations

import contextlib
import os
import platform
import stat
from collections.abc import Iterator
from typing import Final

from filelock import FileLock, Timeout

from ranger_cdap.config import Location, StoreUrl
from ranger_cdap.disk import replace_file
from ranger_cdap.errors import LeaseHeld, SyncError, reason
from ranger_cdap.store import is_there

HOLDER = "lease.holder"
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


class Lease:
    """Right of a run to be the only writer. `number`: on a shared file system, above those of earlier holders.

    `took_over`: an earlier holder was stopped, and may go on.
    """

    number = 0
    took_over = False

    def check(self) -> None:
        """Check that it is certainly still held, and long enough for a request to Ranger.

        Raises:
            LeaseHeld: it is not.
        """


@contextlib.contextmanager
def lease(directory: Location) -> Iterator[Lease]:
    """Hold the lease of a state directory, which may be that of a shared file system.

    Raises:
        LeaseHeld: another process holds it; the message says which.
        SyncError: the directory cannot be created or written, or others can write to it.
    """
    if isinstance(directory, StoreUrl):
        from spark_sync.ledger.store_lease import StoreLease

        with StoreLease(directory).held() as held:
            yield held
        return
    check_directory(directory)
    lock, holder = FileLock(directory / "lease.lock", timeout=0, mode=0o600), directory / HOLDER
    try:
        lock.acquire()
    except Timeout:
        try:
            who = holder.read_text(encoding="utf-8")
        except OSError:
            who = "another process"
        raise is_held(directory, who) from None
    except OSError as e:
        raise _unusable(directory, reason(e)) from e
    try:
        with contextlib.suppress(OSError):  # it only serves the message of the next run
            replace_file(holder, [this_process().encode()])
        yield Lease()
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def is_held(directory: Location, who: str) -> LeaseHeld:
    """Return the error about a lease that another run holds."""
    return LeaseHeld(f"a sync run is in progress in `{directory}`, held by {who}; try again later")


def this_process() -> str:
    """Return the name of this process for other runs."""
    return f"process {os.getpid()} on {platform.node()}"


def check_directory(directory: Location) -> None:
    """Check that a state directory exists, created for its owner only if necessary, and can be read.

    Who may write to a shared file system is its own matter: there it is only asked whether it answers.

    Raises:
        SyncError: it cannot be created or read, or others can write to it.
    """
    if isinstance(directory, StoreUrl):
        from spark_sync.ledger.ledger_health import reason_of

        try:
            is_there(directory)
        except OSError as e:
            raise _unusable(directory, reason_of(e)) from e
        return
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


def _unusable(directory: Location, why: str) -> SyncError:
    return SyncError(f"the state directory `{directory}` cannot be used: {why}; correct `sync.state_dir`")
