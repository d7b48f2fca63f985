"""Memory of a run that sends 1,000,000 pending grants, against one that sends 100,000.

`python -m benchmarks.pending` (in `make bench`) prints a line per measurement and the ratio. Each run is a process of
its own, whose peak is measured; no event is new, so there is no driver of Spark. Ranger is a stand-in in the process
that takes every policy at once and keeps none, so the rate is that of the job alone.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.config import Settings, SyncSettings
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.job import run_once
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import Position
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.ledger_version import note_versions
from spark_sync.ledger.life import GrantTerms, Life, State

SIZES = (100_000, 1_000_000)
TARGET = 1.3
NOW = 1_800_000_000_000
_AT_A_TIME = 50_000


def main() -> None:
    """Print one line per measurement, and the ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--grants", type=int, nargs=2, default=SIZES)
    options.add_argument("--send", type=Path, help="the ledger that a process of this benchmark sends")
    given = options.parse_args()
    if given.send:
        send(given.send)
        return
    peaks = []
    for count in given.grants:
        with tempfile.TemporaryDirectory() as directory:
            make(Path(directory), count)
            command = (sys.executable, "-m", __spec__.name, "--send", directory)
            found = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        print(f"{count:>11,} grants: {found.stdout.strip()}", flush=True)
        peaks.append(float(found.stdout.split()[0]))
    print(f"{'ratio':>18}: {peaks[1] / peaks[0]:.2f} times the memory (to reach: {TARGET})")


def make(directory: Path, count: int) -> None:
    """Make a ledger with so many pending grants, in the order of their creation, not of their names."""
    ledger = DeltaLedger(directory, Settings().cdap.instance)
    for start in range(0, count, _AT_A_TIME):
        ledger.record(LedgerChange(None, _pending(n * 7 % count)) for n in range(start, min(start + _AT_A_TIME, count)))
    note_versions(ledger)


def _pending(n: int) -> Life:
    entity = EntityId("dataset", (f"ns{n % 500}", f"dataset-of-a-team-{n:07}"))
    event = f"{n:064x}"
    begun, terms = Position(NOW - 10**9 + n, False, "cdap-audit", event), GrantTerms("default")
    given = {"accesses": ACCESS_TYPES, "source": "cdap-audit", "event": event, "terms": terms}
    return Life(entity, 1, f"user{n % 997}", begun, State.PENDING, **given)  # type: ignore[arg-type]


def send(directory: Path) -> None:
    """Send what a ledger has pending, and print peak of memory and rate."""
    settings = Settings(sync=SyncSettings(state_dir=directory, username="sync"))
    began = time.perf_counter()
    report = run_once(settings, lambda: sys.exit("no Spark"), now=NOW, ranger=Taking())
    took = time.perf_counter() - began
    assert not report.trouble, report.trouble
    assert not report.waiting, len(report.waiting)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{peak:.0f} MB at most, {len(report.granted) / took:,.0f}/s")


class Taking:
    """A Ranger Admin that takes every policy and keeps none; implements `PolicyRest`."""

    def __init__(self) -> None:
        self._lock, self._last = Lock(), 0

    def security_zones(self, service: str) -> Mapping[str, SecurityZoneInfo]:
        """There are none."""
        return {}

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        """There are none."""
        return []

    def create_policy(self, policy: Policy) -> Policy:
        """Give it an id."""
        with self._lock:
            self._last += 1
            return replaced(policy, id=self._last, version=1)

    def policy_by_guid(self, service: str, guid: str, zone: str = "") -> Policy | None:
        """None is kept."""
        return None

    def update_policy(self, policy: Policy) -> Policy:
        """No policy is known before."""
        raise AssertionError(policy)

    def delete_policy(self, policy_id: int) -> None:
        """No policy is known before."""
        raise AssertionError(policy_id)


if __name__ == "__main__":
    main()
