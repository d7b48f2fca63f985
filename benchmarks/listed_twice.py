"""What it costs that policies of creators list their entity twice, beside the same policies that list it once.

`python -m benchmarks.listed_twice` (in `make bench`) builds a download of 100,000 such policies each way, in turn and
in a process each, and prints its size, the seconds to load it, the memory that adds, and the milliseconds that a delta
of one policy takes.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.memory import resident
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_for
from ranger_cdap.engine import EngineOptions
from ranger_cdap.ranger.refresh.documents import Documents, after_deltas, compile_set
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from servicedef import service_definition
from spark_sync.grants.grant_policy import listed, policy_for
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State

COUNT = 100_000
RUNS = 3
SERVICE: dict[str, Any] = {"serviceName": "cdap", "policyVersion": 1, "serviceDef": service_definition()}
ROLES = msgspec.json.encode({"serviceName": "cdap", "roleVersion": 1, "rangerRoles": []})


def policy_of(number: int, times: int) -> Policy:
    """Return the policy of one creator, as Ranger sends it."""
    entity = EntityId("dataset", (f"ns{number // 1000}", f"d{number}"))
    user = f"user{number % 500}"
    life = Life(entity, 1, user, Position(0, False, "s", "1"), State.PENDING)
    grant = grant_for(entity, user, "cdap", ACCESS_TYPES, non_creators=())
    policy = policy_for(life, grant, service="cdap", delegate_admin=False)
    return replaced(listed(policy, times), id=number + 1, version=1)


def download(count: int, times: int) -> bytes:
    """Return the download of so many policies."""
    return msgspec.json.encode(SERVICE | {"policies": [policy_of(n, times) for n in range(count)]})


def measure(file: Path, times: int) -> dict[str, float]:
    """Return the figures of a download, from this fresh process."""
    text = file.read_bytes()
    before, start = resident(), time.perf_counter()
    loaded = compile_set(Documents(text, ROLES), "cdap", EngineOptions())
    seconds, added = time.perf_counter() - start, resident() - before
    deltas = []
    for version in range(2, 22):
        changed = msgspec.to_builtins(replaced(policy_of(version, times), version=version))
        delta = {"changeType": 1, "policy": changed | {"serviceType": SERVICE["serviceDef"]["name"]}}
        update = msgspec.json.encode(SERVICE | {"policyVersion": version, "policyDeltas": [delta]})
        start = time.perf_counter()
        after = after_deltas(loaded, update, "cdap")
        deltas.append(time.perf_counter() - start)
        if after is None:
            raise SystemExit("the delta was not applied")
        loaded = after
    zipped = len(gzip.compress(text, 6)) / 1e6
    return {
        "MB": len(text) / 1e6,
        "MB zipped": zipped,
        "s to load": seconds,
        "MB of memory": added,
        "ms per delta": 1e3 * median(deltas),
    }


def main() -> None:
    """Print a line per figure: once, twice, and how many times more."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("measured", nargs="*", help=argparse.SUPPRESS)
    if measured := options.parse_args().measured:
        print(msgspec.json.encode(measure(Path(measured[0]), int(measured[1]))).decode())
        return
    found: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as directory:
        files = {times: Path(directory, f"{times}.json") for times in found}
        for times, file in files.items():
            file.write_bytes(download(COUNT, times))
        for _ in range(RUNS):
            for times, runs in found.items():
                command = [sys.executable, "-m", "benchmarks.listed_twice", str(files[times]), str(times)]
                runs.append(msgspec.json.decode(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    print(f"{COUNT:,} policies of creators, listing their entity once and twice; medians of {RUNS} runs")
    for name in found[1][0]:
        once, twice = (median(run[name] for run in runs) for runs in found.values())
        print(f"{name:>14} {once:10,.1f} {twice:10,.1f} {twice / once:6.2f}x")


if __name__ == "__main__":
    main()
