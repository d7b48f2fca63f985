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

from benchmarks.workload import PLAIN, Features, distinct_requests, requests, roles, service_policies, service_tags
from tests.differential.java_engine import JavaEngine

SIZES = (100, 1_000, 10_000, 100_000)
MILLION = 1_000_000
TARGET = {100: 6.0, 1_000: 6.0, 10_000: 8.0, 100_000: 12.0}
COLD, LOOP = 10_000, 200_000
FILES = ("policies", "roles", "tags", "requests", "answers", "cold", "loop")
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


def _times_java(what: str) -> Callable[[Row], float]:
    return lambda row: row[what] / row["java" if what == "warm" else f"java_{what}"]


_LARGEST = SIZES[-1]
# What people wait for: the row, how it is found in the figures, its unit, what was measured at each size before
# indexes shared their parts, and what is wanted. Times are those at the largest size.
WAITED_FOR: tuple[tuple[str, Callable[[Row], float], str, tuple[float, ...], tuple[float, ...]], ...] = (
    ("plain, warm", _times_java("warm"), "x", (5.4, 4.2, 4.8, 9.5), (6, 6, 8, 12)),
    ("never asked before", _times_java("cold"), "x", (3.9, 0.9, 0.9, 0.5), (3, 3, 3, 3)),
    ("200,000 in a loop", _times_java("loop"), "x", (2.4, 1.4, 3.0, 4.3), (4, 4, 4, 4)),
    ("conditions, zones and tags", _times_java("warm"), "x", (1.3, 1.2, 2.0, 3.6), (3, 3, 3, 3)),
    ("load", lambda row: row["load"], "s", (2.6,), (1.2,)),
    ("restart from the cache", lambda row: row["restart"], "s", (2.6,), (0.4,)),
    ("delta, median", lambda row: row["delta"], "ms", (0.2,), (0.3,)),
    ("delta, worst", lambda row: row["worst"], "ms", (2_100,), (3,)),
    ("a reader meanwhile, p99", lambda row: row["reader"], "ms", (), (1,)),
    ("100,000 items change: held up", lambda row: row["held"], "ms", (), (5,)),
)
COLUMNS: dict[str, Callable[[Row], str]] = {
    "policies": lambda row: f"{row['policies']:,}",
    "java/s": lambda row: f"{row['java']:,.0f}",
    "ours/s": lambda row: f"{row['warm']:,.0f}",
    "ratio": lambda row: f"{row['warm'] / row['java']:.1f}x",
    "wanted": lambda row: f"{TARGET[row['policies']]:.0f}x" if row["policies"] in TARGET else "-",
    "cold/s": lambda row: f"{row['cold']:,.0f}",
    "java cold": lambda row: f"{row['java_cold']:,.0f}",
    "loop/s": lambda row: f"{row['loop']:,.0f}",
    "java loop": lambda row: f"{row['java_loop']:,.0f}",
    "first/s": lambda row: f"{row['first']:,.0f}",
    "two/s": lambda row: f"{row['two']:,.0f}",
    "MB of each": lambda row: f"{row['own']:.0f}",
    "java p50": lambda row: f"{row['java_p50']:.1f}",
    "p50 us": lambda row: f"{row['p50']:.1f}",
    "java p99": lambda row: f"{row['java_p99']:.1f}",
    "p99 us": lambda row: f"{row['p99']:.1f}",
    "java load": lambda row: f"{row['java_load']:.2f}",
    "load s": lambda row: f"{row['load']:.2f}",
    "restart": lambda row: f"{row['restart']:.2f}",
    "java MB": lambda row: f"{row['java_heap']:.0f}",
    "MB": lambda row: f"{row['memory']:.0f}",
    "MB used": lambda row: f"{row['used']:.0f}",
    "delta ms": lambda row: f"{row['delta']:.2f}",
    "worst": lambda row: f"{row['worst']:.2f}",
    "reader p99": lambda row: f"{row['reader']:.2f}",
    "after/s": lambda row: f"{row['after']:,.0f}",
    "differ": lambda row: f"{row['differ']}",
}
"""Heading → what of a size stands below it; `two/s` is the rate of two processes that share what was loaded."""


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options.add_argument("--requests", type=int, default=REQUESTS)
    options.add_argument("--plain", action="store_true", help="leave out what needs the general way")
    options.add_argument("--million", action="store_true", help="also ours alone, with 1,000,000 policies")
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
        if given.million:
            row = alone(Path(directory), MILLION, given.requests)
            figures.append({"what": "a million", **row})
            shown = ", ".join(f"{name} {row[name]:,.1f}" for name in ("load", "memory", "used", "first", "warm"))
            print(f"{MILLION:,} policies, ours alone: {shown}", flush=True)
    print_waited_for(figures)
    if differ := sum(row["differ"] for row in figures):
        sys.exit(f"{differ} answers differ from Java's")


def measure(
    java: JavaEngine, directory: Path, size: int, count: int, kind: str, features: Features, *, deltas: bool
) -> Row:
    """Measure both engines at one size."""
    files = {name: directory / f"{name}.json" for name in FILES}
    files["policies"].write_bytes(service_policies(size, features=features))
    files["roles"].write_bytes(roles())
    files["tags"].write_bytes(service_tags(size) if features.tags else b"null")
    files["requests"].write_bytes(requests(count, size, kind=kind))
    files["cold"].write_bytes(distinct_requests(COLD, size, seed=3))
    files["loop"].write_bytes(distinct_requests(LOOP if deltas else COLD, size, seed=4))
    known = {name: json.loads(files[name].read_bytes()) for name in ("roles", "tags")}
    theirs = java.load_file(files["policies"], {name: found for name, found in known.items() if found})
    theirs |= java.time(files["requests"], PASSES + 3)  # some more, until the JIT has compiled it
    others = {name: java.time(files[name], passes)["rates"] for name, passes in (("cold", 1), ("loop", 2))}
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
        "java_cold": others["cold"][0],
        "java_loop": max(others["loop"]),
        "java_p50": theirs["p50"],
        "java_p99": theirs["p99"],
        "java_load": theirs["loaded"],
        "java_heap": theirs["heap"],
        "allowed": theirs["allowed"] / count,
        "differ": differ,
    }


def alone(directory: Path, size: int, count: int) -> Row:
    """Measure our engine at a size for which Java has no memory."""
    (directory / "policies.json").write_bytes(service_policies(size))
    (directory / "roles.json").write_bytes(roles())
    (directory / "tags.json").write_bytes(b"null")
    (directory / "requests.json").write_bytes(requests(count, size))
    (directory / "cold.json").write_bytes(distinct_requests(COLD, size, seed=3))
    (directory / "loop.json").write_bytes(distinct_requests(COLD, size, seed=4))
    command = [sys.executable, "-m", "benchmarks.engine_alone", str(directory), str(size)]
    return {"policies": size, **json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)}


def print_waited_for(figures: list[Row]) -> None:
    """Print what people wait for: before, now and wanted."""
    print(f"{'what people wait for':<30} {'before':>24} {'now':>24} {'wanted':>16}")
    for name, figure, unit, before, wanted in WAITED_FOR:
        what = "all of them" if name.startswith("conditions") else "plain"
        rows = [row for row in figures if row["what"] == what and row["policies"] in SIZES]
        rows = rows if unit == "x" else [row for row in rows if row["policies"] == _LARGEST]
        now = " / ".join(f"{figure(row):.1f}" if unit == "x" else f"{figure(row):.2f}" for row in rows)
        texts = [" / ".join(f"{n:g}" for n in numbers) or "-" for numbers in (before, wanted)]
        print(f"{name:<30} {texts[0]:>21} {unit:<2} {now or '-':>21} {unit:<2} {texts[1]:>13} {unit}")


if __name__ == "__main__":
    main()
