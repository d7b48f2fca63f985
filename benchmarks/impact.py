"""Time to find the impact of a change of policies, beside loading both sets, against the targets.

`python -m benchmarks.impact` (in `make bench`) prints a line per change. Targets: an edit of one among 100,000 policies
within 1 s beside loading, two unrelated sets of 10,000 within 30 s,
40 overlapping wildcards with 200 groups within 10 s and 1 GB.
"""

from __future__ import annotations

import argparse
import resource
import time
from random import Random
from typing import Any

import msgspec

import servicedef
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.tools.analysis.impact import impact

Json = dict[str, Any]
ACCESSES = ("read", "write", "admin", "execute")


def policy(number: int, levels: dict[str, list[str]], *items: Json, **more: Any) -> Json:
    """Return a policy on an entity of the instance `cdap`."""
    resources = {"instance": ["cdap"], **levels}
    return {
        "id": number,
        "name": f"policy {number}",
        "version": 1,
        "resources": {name: {"values": values} for name, values in resources.items()},
        "policyItems": list(items),
        **more,
    }


def item(random: Random, groups: int = 200) -> Json:
    """Return an item of a few principals and access types."""
    return {
        "users": [f"user{random.randrange(1000)}" for _ in range(random.randint(0, 2))],
        "groups": [f"group{random.randrange(groups)}" for _ in range(random.randint(1, 3))],
        "accesses": [{"type": name} for name in random.sample(ACCESSES, random.randint(1, 3))],
    }


def estate(count: int, seed: int) -> list[Json]:
    """Return policies of 100 namespaces: exact datasets, some prefixes, a few wildcards and denials."""
    random = Random(seed)
    found = []
    for number in range(1, count + 1):
        name = f"d{random.randrange(count)}"
        kind = random.random()
        values = [name] if kind < 0.9 else [f"{name[:3]}*"] if kind < 0.99 else [f"*{name[-2:]}*"]
        levels = {"namespace": [f"ns{random.randrange(100)}"], "dataset": values}
        denial = {"denyPolicyItems": [item(random)]} if random.random() < 0.02 else {}
        found.append(policy(number, levels, *(item(random) for _ in range(random.randint(1, 2))), **denial))
    return found


def wildcards(count: int, groups: int, seed: int) -> list[Json]:
    """Return overlapping wildcards, each with items for many groups, some denied."""
    random = Random(seed)
    found = []
    for number in range(1, count + 1):
        levels = {"namespace": ["ns1"], "dataset": [f"*x{number}*"]}
        named = [{"groups": [f"group{n}"], "accesses": [{"type": "read"}]} for n in range(number % 5, groups, 5)]
        denied = [{"groups": [f"group{random.randrange(groups)}"], "accesses": [{"type": "read"}]}]
        found.append(policy(number, levels, *named, denyPolicyItems=denied))
    return found


def engine(policies: list[Json]) -> PolicyEngine:
    """Return the engine of these policies."""
    document = {"serviceName": "cdap", "serviceDef": servicedef.service_definition(), "policies": policies}
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))


def measure(name: str, old: list[Json], new: list[Json]) -> None:
    """Print the time to load both sets, that of their impact, and the rows."""
    start = time.perf_counter()
    engines = engine(old), engine(new)
    loaded = time.perf_counter()
    found = impact(*engines)
    done = time.perf_counter()
    rows = (*found.gained, *found.lost)
    exact = sum(not row.doubts for row in rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}: load {loaded - start:.2f} s, impact {done - loaded:.2f} s, "
        f"{len(found.gained)} gained, {len(found.lost)} lost, {exact / max(1, len(rows)):.2%} exact, "
        f"{len(found.contradictions)} contradictions, peak {peak:.0f} MB"
    )


def main() -> None:
    """Print a line per measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the numbers of policies")
    scale = parser.parse_args().scale
    large, small = int(100_000 * scale), int(10_000 * scale)
    old = wildcards(40, 200, 1)
    measure("40 wildcards, 200 groups, denials removed", old, [{**one, "denyPolicyItems": []} for one in old])
    measure("40 wildcards, 200 groups, others", old, wildcards(40, 200, 2))
    old = estate(large, 1)
    new = [*old]
    extra = {"groups": ["auditors"], "accesses": [{"type": "read"}]}
    new[large // 2] = {**new[large // 2], "policyItems": [*new[large // 2]["policyItems"], extra]}
    measure(f"an item added to one of {large:,} policies", old, new)
    old = estate(small, 1)
    everything = policy(0, {"namespace": ["*"], "dataset": ["*"]})["resources"]
    widened = {**old[small // 2], "resources": everything}
    measure(
        f"one of {small:,} policies widened to everything", old, [*old[: small // 2], widened, *old[small // 2 + 1 :]]
    )
    measure(f"two unrelated sets of {small:,} policies", old, estate(small, 2))


if __name__ == "__main__":
    main()
