"""Throughput of grants to Ranger Admin: the sync job's push against the grant REST API of the same server.

`python -m benchmarks.writer` (in `make bench`) prints grants per second of both and their ratio. The embedded
Ranger Admin is a process of its own with its data on disk; the service has 3,000 policies before each measurement. Both
send four concurrent requests, the same grants with the same account, to resources without a policy.
The embedded server finds a resource by its signature, so its grant REST does not slow down as a real one's does (16/s
at 2,900 policies, four at a time, where creating policies reached 187/s: ranger-rest.md §10); the ratio here says
little about a real one. `--url` measures a real Ranger Admin instead (the password in RANGER_PASSWORD): the service
`cdapbench` is made there.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.ranger import ACCOUNT, INSTANCE, PASSWORD, SERVICE, prepare, server
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_for
from ranger_cdap.config import CdapSettings, RangerSettings, Settings, SyncSettings
from ranger_cdap.errors import ConflictingChange
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.grants.policy_rest import policy_rest
from spark_sync.grants.push import push
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import Position
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State

POLICIES = 3_000
AT_A_TIME = 4
BEGUN = Position(1, False, "benchmark", "1")


def main() -> None:
    """Print one line per measurement."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url", help="of a real Ranger Admin, instead of the embedded one")
    options.add_argument("--grants", type=int, default=600, help="of each measurement")
    given = options.parse_args()
    with (
        server(given.url) as (url, password),
        RangerAdmin(AdminConnection(url, username="admin", password=password)) as admin,
    ):
        prepare(admin)
        fill(url, POLICIES - len(admin.list_policies(SERVICE)))
        print(f"{url}: {POLICIES:,} policies, {given.grants} grants, {AT_A_TIME} at a time")
        entities = [EntityId("dataset", ("bench", f"push{n}")) for n in range(given.grants)]
        pushed = timed("push (one policy each)", given.grants, lambda: pushing(url, entities))
        clear(url, entities)
        entities = [EntityId("dataset", ("bench", f"rest{n}")) for n in range(given.grants)]
        granted = timed("grant REST", given.grants, lambda: granting(url, entities))
        print(f"{'ratio':>26}: {pushed / granted:.1f} times grant REST")


def timed(what: str, count: int, do: Callable[[], int]) -> float:
    """Measure grants per second; `do` returns the number of retries."""
    began = time.perf_counter()
    again = do()
    rate = count / (time.perf_counter() - began)
    print(f"{what:>26}: {rate:7.1f}/s{f', {again} sent again after a conflict' if again else ''}", flush=True)
    return rate


def pushing(url: str, entities: Iterable[EntityId]) -> int:
    """Run a push."""
    push_all(url, entities, State.PENDING)
    return 0


def clear(url: str, entities: Iterable[EntityId]) -> None:
    """Revoke the push's grants, by a push."""
    push_all(url, entities, State.CLOSING)


def push_all(url: str, entities: Iterable[EntityId], state: State) -> None:
    """Send what a new ledger with a life of each entity in this state has pending."""
    configured, done = settings(url), list[State]()
    lives = (Life(entity, 1, ACCOUNT, BEGUN, state, accesses=ACCESS_TYPES) for entity in entities)
    with tempfile.TemporaryDirectory() as directory, policy_rest(configured) as rest:
        ledger = DeltaLedger(Path(directory), INSTANCE)
        ledger.record(LedgerChange(None, life) for life in lives)
        error = push(ledger, rest, plan_settings(configured), lambda outcome: done.append(outcome.life.state))
    assert error is None, error
    assert set(done) <= {State.APPLIED, State.CLOSED}, done


def granting(url: str, entities: Iterable[EntityId]) -> int:
    """Send the same grants by the grant REST API; conflicts are retried, as every client must."""
    with RangerAdmin(AdminConnection(url, username=ACCOUNT, password=PASSWORD, attempts=1)) as sync:

        def one(entity: EntityId) -> int:
            grant = grant_for(entity, ACCOUNT, INSTANCE, ACCESS_TYPES, non_creators=())
            for again in range(100):
                try:
                    sync.grant_access(SERVICE, grant, grantor=ACCOUNT)
                except ConflictingChange:
                    continue
                return again
            raise AssertionError(f"{entity} meets a conflict each time")

        with ThreadPoolExecutor(AT_A_TIME) as threads:
            return sum(threads.map(one, entities))


def fill(url: str, count: int) -> None:
    """Create policies in other namespaces."""
    pushing(url, [EntityId("dataset", (f"ns{n % 50}", f"d{n}")) for n in range(count)])


def settings(url: str) -> Settings:
    """Return settings as in production."""
    return Settings(
        ranger=RangerSettings(url=url, service=SERVICE),
        cdap=CdapSettings(instance=INSTANCE),
        sync=SyncSettings(username=ACCOUNT, password=PASSWORD),
    )


if __name__ == "__main__":
    main()
