"""Speed of the engine and of Ranger's own on the same machine, with 100 to 100,000 policies.

`python -m benchmarks.engine` (in `make bench`) prints a line per size, with the ratio and its target.
Both get the same files and answer the same requests in one thread; the timing includes building the request and
returning the decision, and every answer is compared. Requests are decoded again before each pass, so that no string
has a cached hash, as in a program that gets them over the wire. Ours runs in a process of its own for each size. Java's
heap is that of live objects, ours the resident memory the load added.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.workload import PLAIN, Features, requests, roles, service_policies, service_tags
from tests.differential.java_engine import JavaEngine

SIZES = (100, 1_000, 10_000, 100_000)
TARGET = {100: 3.0, 1_000: 4.0, 10_000: 6.0, 100_000: 10.0}
REQUESTS = 100_000
PASSES = 5
JAVA = ("-Xmx8g", "-XX:+UseG1GC")
# Cases that need more than names: the kind of request, and the features used by the policies.
GENERAL = {
    "any access": ("any", PLAIN),
    "also below": ("below", PLAIN),
    "conditions": ("from", Features(conditions=True)),
    "zones": ("plain", Features(zones=True)),
    "tags": ("plain", Features(tags=True)),
    "all of them": ("from", Features(conditions=True, zones=True, tags=True)),
}
Row = dict[str, Any]
COLUMNS: dict[str, Callable[[Row], str]] = {
    "policies": lambda row: f"{row['policies']:,}",
    "java/s": lambda row: f"{row['java']:,.0f}",
    "ours/s": lambda row: f"{row['warm']:,.0f}",
    "ratio": lambda row: f"{row['warm'] / row['java']:.1f}x",
    "wanted": lambda row: f"{TARGET[row['policies']]:.0f}x" if row["policies"] in TARGET else "-",
    "many/s": lambda row: f"{row['many']:,.0f}",
    "first/s": lambda row: f"{row['first']:,.0f}",
    "two/s": lambda row: f"{row['two']:,.0f}",
    "MB of each": lambda row: f"{row['own']:.0f}",
    "java p50": lambda row: f"{row['java_p50']:.1f}",
    "p50 us": lambda row: f"{row['p50']:.1f}",
    "java p99": lambda row: f"{row['java_p99']:.1f}",
    "p99 us": lambda row: f"{row['p99']:.1f}",
    "java load": lambda row: f"{row['java_load']:.2f}",
    "load s": lambda row: f"{row['load']:.2f}",
    "java MB": lambda row: f"{row['java_heap']:.0f}",
    "MB": lambda row: f"{row['memory']:.0f}",
    "MB used": lambda row: f"{row['used']:.0f}",
    "delta ms": lambda row: f"{row['delta']:.2f}",
    "worst": lambda row: f"{row['worst']:.2f}",
    "after/s": lambda row: f"{row['after']:,.0f}",
    "differ": lambda row: f"{row['differ']}",
}
"""Heading → what of a size stands below it; `two/s` is the rate of two processes that share what was loaded."""


def main() -> None:
    """Print the tables, and save the figures on request."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options.add_argument("--requests", type=int, default=REQUESTS)
    options.add_argument("--plain", action="store_true", help="leave out what needs the general way")
    options.add_argument("--save", type=Path, help="a file for the figures, as JSON")
    given = options.parse_args()
    figures: list[Row] = []
    with JavaEngine(*JAVA) as java, tempfile.TemporaryDirectory() as directory:
        print("one thread, plain policies and single access types")
        print(" ".join(f"{name:>10}" for name in COLUMNS))
        for size in given.sizes:
            row = measure(java, Path(directory), size, given.requests, "plain", PLAIN, deltas=True)
            figures.append({"what": "plain", **row})
            print(" ".join(f"{shown(row):>10}" for shown in COLUMNS.values()), flush=True)
        for what, (kind, features) in {} if given.plain else GENERAL.items():
            print(f"{what}: java/s, ours/s, ratio, answers that differ")
            for size in given.sizes:
                row = measure(java, Path(directory), size, given.requests // 10, kind, features, deltas=False)
                figures.append({"what": what, **row})
                rates = f"{row['java']:>10,.0f} {row['warm']:>10,.0f} {row['warm'] / row['java']:>9.1f}x"
                print(f"{size:>10,} {rates} {row['differ']:>10}", flush=True)
    if given.save:
        given.save.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if differ := sum(row["differ"] for row in figures):
        sys.exit(f"{differ} answers differ from Java's")


def measure(
    java: JavaEngine, directory: Path, size: int, count: int, kind: str, features: Features, *, deltas: bool
) -> Row:
    """Measure both engines at one size."""
    files = {name: directory / f"{name}.json" for name in ("policies", "roles", "tags", "requests", "answers")}
    files["policies"].write_bytes(service_policies(size, features=features))
    files["roles"].write_bytes(roles())
    files["tags"].write_bytes(service_tags(size) if features.tags else b"null")
    files["requests"].write_bytes(requests(count, size, kind=kind))
    known = {name: json.loads(files[name].read_bytes()) for name in ("roles", "tags")}
    theirs = java.load_file(files["policies"], {name: found for name, found in known.items() if found})
    theirs |= java.time(files["requests"], PASSES + 3)  # some more, until the JIT has compiled it
    java.drop()
    command = [sys.executable, "-m", "benchmarks.engine_alone", str(directory), str(size), *(["--deltas"] * deltas)]
    ours = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    answers = json.loads(files["answers"].read_bytes())
    pairs = zip(answers["answers"], theirs["answers"], answers["policies"], theirs["policies"], strict=True)
    differ = sum(a != b or p != q for a, b, p, q in pairs)
    return {
        "policies": size,
        **ours,
        "java": max(theirs["rates"]),
        "java_first": theirs["rates"][0],
        "java_p50": theirs["p50"],
        "java_p99": theirs["p99"],
        "java_load": theirs["loaded"],
        "java_heap": theirs["heap"],
        "allowed": theirs["allowed"] / count,
        "differ": differ,
    }


if __name__ == "__main__":
    main()
