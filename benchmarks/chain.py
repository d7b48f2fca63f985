"""How long from an entity's creation in CDAP until its creator is allowed, against the 15 s that are wanted.

`python -m benchmarks.chain` (in `make bench`) prints how long each part took: stored, granted, downloaded.
`sync run --follow` every 5 s on a file source without hold-back, the embedded Ranger Admin, and a plugin that asks for
changes every 5 s; all as processes or threads of this machine. One creation at a time, at moments that do not fit the
rhythm of either.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ranger import ACCOUNT, INSTANCE, PASSWORD, SERVICE, prepare, server
from ranger_cdap.authorizer import Authorizer
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import CdapSettings, PluginSettings, RangerSettings, Settings
from ranger_cdap.policies.ranger_admin import RangerAdmin

INTERVAL = 5.0
WANTED = 15.0
PATIENCE = 120.0


def main() -> None:
    """Print one line a part of the chain."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--creations", type=int, default=20)
    given = options.parse_args()
    print(f"{given.creations} creations, sync every {INTERVAL:g} s, plugin every {INTERVAL:g} s")
    chance = random.Random(20261121)
    chains = []
    with tempfile.TemporaryDirectory() as directory, server() as (url, password):
        home = Path(directory)
        (home / "events").mkdir()
        with RangerAdmin(url, username="admin", password=password) as admin:
            prepare(admin)
            with following(url, home), Authorizer.open(settings_of(url, home)) as authorizer:
                measured(admin, authorizer, home, "first")  # Spark starts, all plans are compiled
                for n in range(given.creations):
                    time.sleep(chance.uniform(0, INTERVAL))
                    chains.append(measured(admin, authorizer, home, f"d{n}"))
    tell("stored -> granted", [chain.granted for chain in chains])
    tell("granted -> downloaded", [chain.allowed - chain.granted for chain in chains])
    tell("stored -> allowed", [chain.allowed for chain in chains])
    soon = sum(chain.allowed <= WANTED for chain in chains)
    print(f"allowed within {WANTED:g} s: {soon} of {len(chains)}")


@dataclass(frozen=True, slots=True)
class Chain:
    """Seconds from the moment a creation was stored until it was granted, and until its creator was allowed."""

    granted: float
    allowed: float


def measured(admin: RangerAdmin, authorizer: Authorizer, home: Path, name: str) -> Chain:
    """One creation, watched until its end."""
    entity = EntityId("dataset", ("ns1", name))
    policies = len(admin.list_policies(SERVICE))
    began = create(home, entity)
    granted = wait_for(lambda: len(admin.list_policies(SERVICE)) > policies)
    allowed = wait_for(lambda: authorizer.visible(ACCOUNT, [], [entity]) == [entity])
    return Chain(granted - began, allowed - began)


def tell(what: str, seconds: list[float]) -> None:
    """The middle and the worst."""
    ordered = sorted(seconds)
    print(f"{what:>22}: median {ordered[len(ordered) // 2]:5.1f} s, most {ordered[-1]:5.1f} s", flush=True)


def create(home: Path, entity: EntityId) -> float:
    """CDAP's audit message of a creation, stored as a file; the moment it stands there."""
    message = {
        "version": 2,
        "time": int(time.time() * 1000),
        "metadataEntity": {
            "details": {"namespace": entity.parts[0], "dataset": entity.parts[1]},
            "type": "dataset",
        },
        "user": ACCOUNT,
        "type": "CREATE",
        "payload": {},
    }
    name = f"{entity.parts[1]}.jsonl"
    (home / name).write_text(json.dumps(message) + "\n", encoding="utf-8")
    (home / name).rename(home / "events" / name)
    return time.perf_counter()


def wait_for(holds: Callable[[], bool]) -> float:
    """When it holds, to a tenth of a second."""
    end = time.perf_counter() + PATIENCE
    while not holds():
        if time.perf_counter() > end:
            raise TimeoutError("nothing came of it")
        time.sleep(0.1)
    return time.perf_counter()


def settings_of(url: str, home: Path) -> Settings:
    """The plugin's."""
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
    """The command an operator leaves running."""
    config = home / "c.toml"
    config.write_text(
        f'[ranger]\nurl = "{url}"\nservice = "{SERVICE}"\n[cdap]\ninstance = "{INSTANCE}"\n'
        f'[sync]\nusername = "{ACCOUNT}"\npassword = "env:BENCH_PASSWORD"\n'
        f'state_dir = "{home / "state"}"\nhold_back = 0\n'
        f'[[sync.sources]]\nname = "audit"\nkind = "audit"\npath = "{home / "events"}"\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "ranger_cdap", "--config", str(config), "sync", "run", "--follow"]
    process = subprocess.Popen(
        [*command, "--interval", str(INTERVAL), "--quiet"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "BENCH_PASSWORD": PASSWORD.reveal()},
    )
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


if __name__ == "__main__":
    main()
