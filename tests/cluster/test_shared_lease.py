"""The lease on a real store, by real processes: one is stopped past it, and one is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from ranger_cdap.config import StoreUrl
from ranger_cdap.errors import LeaseHeld
from spark_sync.grants.policy_rest import held_rest
from spark_sync.ledger import store_lease
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.lease import Lease, lease
from spark_sync.ledger.store_lease import DURATION, LEFT, SKEW, StoreLease
from tests.cluster.test_shared_ledger import deliver, settings_in
from tests.spark_sync.conftest import Ranger
from tests.spark_sync.grants.fixtures import Watched
from tests.spark_sync.test_job import FIRST, run, take_baseline

SECONDS = {"DURATION": 4.0, "LEFT": 1.0, "SKEW": 0.5, "_RENEWED": 0.5}
"""A lease of seconds, for a test."""

HOLDER = f"""
import sys
from ranger_cdap.config import named
from ranger_cdap.errors import SyncError
from spark_sync.ledger import store_lease
for name, value in {SECONDS}.items():
    setattr(store_lease, name, value)
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.lease import lease
directory = named(sys.argv[1])
ledger = DeltaLedger(directory, "cdap")
with lease(directory) as held:
    ledger.hold(held)
    ledger.notes.add_files("s", ["before"])
    print("held", flush=True)
    for line in sys.stdin:
        for call in (held.check, lambda: ledger.notes.add_files("s", [line]), lambda: ledger.notes.write("n", 1)):
            try:
                call()
            except SyncError as e:
                print(e.code, flush=True)
            else:
                print("done", flush=True)
"""


@pytest.fixture
def _seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECONDS.items():
        monkeypatch.setattr(store_lease, name, value)


def held_later(directory: StoreUrl) -> float:
    """How long it took until the lease was free."""
    began = time.monotonic()
    while True:
        try:
            with lease(directory) as held:
                ledger = DeltaLedger(directory, "cdap")
                ledger.hold(held)
                assert ledger.notes.files_read("s") == {"before", "first\n"}
                ledger.notes.add_files("s", ["mine"])
                return time.monotonic() - began
        except LeaseHeld:
            assert time.monotonic() < began + 60
            time.sleep(0.1)


@pytest.mark.usefixtures("_seconds")
@pytest.mark.kills
@pytest.mark.parametrize("ended", [signal.SIGSTOP, signal.SIGKILL])
def test_a_run_that_was_stopped_past_its_lease_writes_nothing(store: StoreUrl, ended: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert said(holder, "") == ["held"]
            assert said(holder, "first\n", 3) == ["done"] * 3
            time.sleep(2 * SECONDS["DURATION"])  # it is renewed
            with pytest.raises(LeaseHeld, match=f"process {holder.pid} on"), lease(store):
                pass
            holder.send_signal(ended)
            assert held_later(store) > SECONDS["DURATION"] / 2
            if ended is signal.SIGSTOP:
                holder.send_signal(signal.SIGCONT)
                assert said(holder, "second\n", 3) == ["lease-held"] * 3
        finally:
            holder.kill()
    assert DeltaLedger(store, "cdap").notes.files_read("s") == {"before", "first\n", "mine"}


def said(holder: subprocess.Popen[str], line: str, count: int = 1) -> list[str]:
    """What it answers to a line."""
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(line)
    holder.stdin.flush()
    return [holder.stdout.readline().strip() for _ in range(count)]


def test_without_the_lease_no_request_is_sent(ranger: Ranger, store: StoreUrl, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose lease ends before each request in turn."""
    settings = settings_in(ranger, store)
    take_baseline(settings)
    deliver(store, FIRST)
    left = 3

    def check(self: StoreLease) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise self._lost()

    monkeypatch.setattr(StoreLease, "check", check)
    watched = Watched(ranger.sync)
    with pytest.raises(LeaseHeld, match="is lost"):
        run(settings, ranger=watched)
    assert len(watched.names) == 3
    left = 1_000_000
    assert not run(settings, ranger=watched).trouble


class Clock:
    """A time of a story."""

    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_times_of_a_lease(store: StoreUrl) -> None:
    clock = Clock()

    def of(skew: float = 0.0) -> StoreLease:
        return StoreLease(store, wall=lambda: clock.now + skew, running=clock)

    one = of()
    one.take()
    assert not one.took_over
    for seconds, is_good in ((0.0, True), (DURATION - LEFT, True), (1.0, False)):
        clock.now += seconds
        if is_good:
            one.check()
    with pytest.raises(LeaseHeld, match="is lost"):
        one.check()
    one.renew()
    one.check()
    clock.now += DURATION
    with pytest.raises(LeaseHeld, match="is lost"):
        one.renew()
    for seconds in (0.0, SKEW - 1):
        with pytest.raises(LeaseHeld, match="held by process"):
            of(seconds).take()
    clock.now += SKEW
    other = of()
    other.take()
    assert (other.took_over, other.number > one.number) == (True, True)
    with pytest.raises(LeaseHeld):
        one.renew()
    one.release()
    other.check()
    # The tables are not closed to `one` yet, so the next holder has to close them.
    other.release()
    third = of()
    third.take()
    assert third.took_over
    third.took_over = False
    third.release()
    fourth = of()
    fourth.take()
    assert not fourth.took_over


def test_each_request_is_preceded_by_a_check() -> None:
    class Lost(Lease):
        def check(self) -> None:
            raise LeaseHeld("is lost")

    rest = held_rest(Watched(None), Lost())
    calls: list[Callable[[], object]] = [
        lambda: rest.list_policies("s"),
        lambda: rest.delete_policy(1),
        lambda: rest.policy_by_guid("s", "g"),
        lambda: rest.security_zones("s"),
    ]
    for call in calls:
        with pytest.raises(LeaseHeld):
            call()
