"""Latency from an entity's creation in CDAP until its creator is allowed, against the target of 15 s.

`python -m benchmarks.chain` (in `make bench`) prints the duration of each part: stored, granted, downloaded.
`sync run --follow` every 5 s on what the decision service stores, with the default hold-back, the embedded Ranger
Admin, and a plugin with a polling interval of 5 s; all as processes or threads of this machine. The service's store is
the real one; journalled checks and records are written into it here. One creation at a time, at times that are not in
step with either interval.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.ranger import ACCOUNT, INSTANCE, PASSWORD, SERVICE, prepare, server
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import CdapSettings, PluginSettings, RangerSettings, Settings
from ranger_cdap.policies.client.connection import AdminConnection
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.service.events.event_files import EventFiles
from ranger_cdap.service.events.event_store import EventStore
from ranger_cdap.service.wire.event_wire import CheckRecord, JournalledCheck, Record, journal_line, line_of

INTERVAL = 5.0
TARGET = 15.0
PATIENCE = 120.0
PROCESS = "c0" * 16
CALLER = "cdap-master"


def main() -> None:
    """Print one line per part of the chain."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--creations", type=int, default=20)
    given = options.parse_args()
    print(f"{given.creations} creations, sync every {INTERVAL:g} s, plugin every {INTERVAL:g} s")
    chance = random.Random(20261121)
    chains = []
    with tempfile.TemporaryDirectory() as directory, server() as (url, password):
        home = Path(directory)
        with (
            closing(EventStore(EventFiles(home / "events"))) as store,
            RangerAdmin(AdminConnection(url, username="admin", password=password)) as admin,
        ):
            prepare(admin)
            with following(url, home), Authorizer.open(settings_of(url, home)) as authorizer:
                measured(admin, authorizer, store, "first")  # Spark starts, and all plans are compiled
                for n in range(given.creations):
                    time.sleep(chance.uniform(0, INTERVAL))
                    chains.append(measured(admin, authorizer, store, f"d{n}"))
    print_result("stored -> granted", [chain.granted for chain in chains])
    print_result("granted -> downloaded", [chain.allowed - chain.granted for chain in chains])
    print_result("stored -> allowed", [chain.allowed for chain in chains])
    soon = sum(chain.allowed <= TARGET for chain in chains)
    print(f"allowed within {TARGET:g} s: {soon} of {len(chains)}")


@dataclass(frozen=True, slots=True)
class Chain:
    """Seconds from the storing of a creation until it was granted, and until its creator was allowed."""

    granted: float
    allowed: float


def measured(admin: RangerAdmin, authorizer: Authorizer, store: EventStore, name: str) -> Chain:
    """Measure one creation until its creator is allowed."""
    entity = EntityId("dataset", ("ns1", name))
    policies = len(admin.list_policies(SERVICE))
    began = create(store, entity)
    granted = wait_for(lambda: len(admin.list_policies(SERVICE)) > policies)
    allowed = wait_for(lambda: authorizer.visible(ACCOUNT, [], [entity]) == [entity])
    return Chain(granted - began, allowed - began)


def print_result(what: str, seconds: list[float]) -> None:
    """Print the median and the maximum."""
    ordered = sorted(seconds)
    print(f"{what:>22}: median {ordered[len(ordered) // 2]:5.1f} s, most {ordered[-1]:5.1f} s", flush=True)


def create(store: EventStore, entity: EntityId) -> float:
    """Store a creation's check and its record like the service; return the time the record was stored."""
    at, id_ = round(time.time() * 1000), os.urandom(16).hex()
    asked = {"principal": ACCOUNT, "type": "DATASET", "parts": list(entity.parts), "permissions": ["STANDARD.CREATE"]}
    said = {"v": 1, "instance": INSTANCE, "process": PROCESS, "at": at, "frame": ""}
    journalled = msgspec.convert(asked | said, JournalledCheck)
    store.append(lambda received: journal_line(id_, "cdap-enforce", received, journalled))
    check = msgspec.convert(asked | {"allowed": True, "id": id_, "process": PROCESS, "at": at}, CheckRecord)
    record = Record(
        v=2,
        instance=INSTANCE,
        method="PUT",
        uri=f"/v3/namespaces/{entity.parts[0]}/data/datasets/{entity.parts[1]}",
        code=200,
        started=at,
        ended=round(time.time() * 1000),
        checks=[check],
    )
    store.append(line_of(record, CALLER))
    return time.perf_counter()


def wait_for(holds: Callable[[], bool]) -> float:
    """Return the time at which the condition holds, to a tenth of a second."""
    end = time.perf_counter() + PATIENCE
    while not holds():
        if time.perf_counter() > end:
            raise TimeoutError("nothing came of it")
        time.sleep(0.1)
    return time.perf_counter()


def settings_of(url: str, home: Path) -> Settings:
    """Return the plugin's settings."""
    return Settings(
        ranger=RangerSettings(url=url, service=SERVICE),
        cdap=CdapSettings(instance=INSTANCE),
        plugin=PluginSettings(
            username=ACCOUNT,
            password=PASSWORD,
            cache_dir=home / "cache",
            poll_interval=INTERVAL,
            use_ranger_groups=False,
        ),
    )


@contextmanager
def following(url: str, home: Path) -> Iterator[None]:
    """Run the sync job as an operator does."""
    config = home / "c.toml"
    config.write_text(
        f'[ranger]\nurl = "{url}"\nservice = "{SERVICE}"\n[cdap]\ninstance = "{INSTANCE}"\n'
        f'[sync]\nusername = "{ACCOUNT}"\npassword = "env:BENCH_PASSWORD"\n'
        f'state_dir = "{home / "state"}"\n'
        f'[[sync.sources]]\nname = "data-plane"\nkind = "data-plane"\npath = "{home / "events"}"\n'
        f'callers = ["{CALLER}"]\n',
        encoding="utf-8",
    )
    inventory = home / "inventory.jsonl"
    header = {"v": 1, "instance": INSTANCE, "taken": datetime.now(UTC).isoformat()}
    inventory.write_bytes(msgspec.json.encode(header) + b"\n")
    sync = [sys.executable, "-m", "ranger_cdap", "--config", str(config), "sync"]
    environment = {**os.environ, "BENCH_PASSWORD": PASSWORD.reveal()}
    subprocess.run(
        [*sync, "baseline", "--from", str(inventory)], stdout=subprocess.DEVNULL, env=environment, check=True
    )
    process = subprocess.Popen(
        [*sync, "run", "--follow", "--interval", str(INTERVAL), "--quiet"], stdout=subprocess.DEVNULL, env=environment
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


if __name__ == "__main__":
    main()
