"""The lease of a ledger on a shared file system: a time in the commits of a table, taken by compare-and-swap.

A commit by the very handle that read the table, and without retries, is refused if there was another one since: that
is all that is asked of the store. Nothing releases the lease of a process that died, so it expires: by the clock of
its holder, and for others only when `SKEW` more has passed by theirs. The holder renews it beside its work, and before
each request to Ranger, which nothing closes to a writer that was stopped (as `LedgerTables.hold` does the tables), it
checks by a clock that also counts while the machine sleeps that `LEFT` remains.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError

from ranger_cdap.config import StoreUrl
from ranger_cdap.errors import LeaseHeld, SyncError
from spark_sync.ledger.lease import Lease, is_held, this_process
from spark_sync.ledger.ledger_health import reason_of
from spark_sync.ledger.ledger_rows import NOTES

DURATION: Final = 300.0
"""Seconds that a lease is held without being renewed."""
LEFT: Final = 100.0
"""Seconds that must remain before a request: it ends within them, or is given up."""
SKEW: Final = 60.0
"""Seconds by which the clocks of two machines may differ."""
_RENEWED: Final = 60.0

_UNTIL: Final = "ranger-cdap-lease-until"
"""The application whose number in a commit is when the lease ends, in milliseconds of its holder's clock."""
_HOLDER: Final = "holder"
_LONG_AGO: Final = 1.0
_SCHEMA: Final = Schema.from_arrow(NOTES)
"""The table has no rows; a table has columns."""
_CONFIGURATION: Final = {"delta.logRetentionDuration": "interval 1 day"}


class StoreLease(Lease):
    """A lease in the table `lease` of a state directory. `wall` is the time of day, `running` never stands still."""

    def __init__(
        self,
        directory: StoreUrl,
        *,
        wall: Callable[[], float] = time.time,
        running: Callable[[], float] = lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
    ) -> None:
        self._table: DeltaTable
        self._directory = directory
        self._wall = wall
        self._running = running
        self._over = threading.Event()
        self._deadline = 0.0
        self._uri = str(directory / "lease")

    @contextmanager
    def held(self) -> Iterator[StoreLease]:
        """Hold it and renew it in time; a process that dies holds it until it expires.

        Raises:
            LeaseHeld: another run holds it.
            SyncError: the store fails.
        """
        self.take()
        renewing = threading.Thread(target=self._keep, name="lease", daemon=True)
        renewing.start()
        try:
            yield self
        finally:
            self._over.set()
            renewing.join()
            with suppress(SyncError):  # then it expires
                self.release()

    def take(self) -> None:
        """Take it.

        Raises:
            LeaseHeld: another run holds it, or took it at the same time.
            SyncError: the store fails.
        """
        begun, now = self._running(), self._wall()
        with _errors(f"the lease of `{self._directory}` cannot be taken"):
            self._table = DeltaTable.create(self._uri, _SCHEMA, mode="ignore", configuration=_CONFIGURATION)
            until = (self._table.transaction_version(_UNTIL) or 0) / 1000
            if until and until + SKEW > now:
                raise is_held(self._directory, self._table.history(1)[0].get(_HOLDER, "another process"))
            self.took_over = until > 0
            try:
                self._commit(now + DURATION)
            except CommitFailedError:
                raise is_held(self._directory, "one that began at the same time") from None
            self.number = self._table.version()
        self._deadline = begun + DURATION

    def renew(self) -> None:
        """Hold it longer.

        Raises:
            LeaseHeld: it expired, or another run took it.
            SyncError: the store fails; it is held for as long as before.
        """
        begun, now = self._running(), self._wall()
        if begun >= self._deadline:
            raise self._lost()
        with _errors(f"the lease of `{self._directory}` cannot be renewed"):
            try:
                self._commit(now + DURATION)
            except CommitFailedError as e:
                self._deadline = begun
                raise self._lost() from e
        self._deadline = begun + DURATION

    def release(self) -> None:
        """Give it back, unless it was lost; as one that expired if a former holder could still write.

        Raises:
            SyncError: the store fails.
        """
        with _errors(f"the lease of `{self._directory}` cannot be given back"), suppress(CommitFailedError):
            self._commit(_LONG_AGO if self.took_over else 0)

    def check(self) -> None:
        """Check that `LEFT` seconds of it remain."""
        if self._running() + LEFT > self._deadline:
            raise self._lost()

    def _keep(self) -> None:
        while not self._over.wait(_RENEWED):
            with suppress(SyncError):  # it may succeed before the lease expires; `check` knows when it did not
                self.renew()

    def _commit(self, until: float) -> None:
        """Write by the handle that read, and read that very commit: a later one must stay unknown to the handle.

        Raises:
            CommitFailedError: there is a later one.
        """
        properties = CommitProperties({_HOLDER: this_process()}, 0, [Transaction(_UNTIL, round(until * 1000))])
        self._table.create_write_transaction([], "append", _SCHEMA, commit_properties=properties)
        self._table = DeltaTable(self._uri, version=self._table.version() + 1)

    def _lost(self) -> LeaseHeld:
        return LeaseHeld(
            f"the lease of `{self._directory}` is lost: this run was stopped, or could not renew it in time; what it"
            " had sent is found by the next run"
        )


@contextmanager
def _errors(what: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError) as e:
        raise SyncError(f"{what}: {reason_of(e)}") from e
