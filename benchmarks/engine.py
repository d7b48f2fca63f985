"""How fast the engine decides, beside Ranger's own on the same machine, at 100 to 100,000 policies.

Both get the same files and answer the same questions in one thread, the request made and the decision returned inside
the timing; every answer is compared. Questions are decoded anew before each pass, so that no string has its hash yet,
as in a program that gets them by wire. Ours is built in a process of its own for each size. Java's heap is that of live
objects, ours the resident memory the load added.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.workload import PLAIN, Features, requests, roles, service_policies, service_tags
from tests.differential.java_engine import JavaEngine

SIZES = (100, 1_000, 10_000, 100_000)
WANTED = {100: 3.0, 1_000: 4.0, 10_000: 6.0, 100_000: 10.0}
REQUESTS = 100_000
PASSES = 5
JAVA = ("-Xmx8g", "-XX:+UseG1GC")
# What needs more than names: the kind of question, and what is switched on in the policies.
GENERAL = {
    "any access": ("any", PLAIN),
    "also below": ("below", PLAIN),
    "conditions": ("from", Features(conditions=True)),
    "zones": ("plain", Features(zones=True)),
    "tags": ("plain", Features(tags=True)),
    "all of them": ("from", Features(conditions=True, zones=True, tags=True)),
}
COLUMNS = (
    *(
        "policies",
        "java/s",
        "ours/s",
        "ratio",
        "wanted",
        "many/s",
        "first/s",
        "java p50",
        "p50 us",
        "java p99",
        "p99 us",
    ),
    *("java load", "load s", "java MB", "MB", "MB used", "delta ms", "worst", "after/s", "differ"),
)


def main() -> None:
    """Print the tables, and keep the figures if asked to."""
    options = argparse.ArgumentParser()
    options.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    options.add_argument("--requests", type=int, default=REQUESTS)
    options.add_argument("--plain", action="store_true", help="leave out what needs the general way")
    options.add_argument("--save", type=Path, help="a file for the figures, as JSON")
    given = options.parse_args()
    figures: list[dict[str, Any]] = []
    with JavaEngine(*JAVA) as java, tempfile.TemporaryDirectory() as directory:
        print("one thread, plain policies and single access types")
        print(" ".join(f"{name:>10}" for name in COLUMNS))
        for size in given.sizes:
            row = measure(java, Path(directory), size, given.requests, "plain", PLAIN, deltas=True)
            figures.append({"what": "plain", **row})
            print(" ".join(_cells(size, row)), flush=True)
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
) -> dict[str, Any]:
    """Both engines at one size."""
    files = {name: directory / f"{name}.json" for name in ("policies", "roles", "tags", "requests", "answers")}
    files["policies"].write_bytes(service_policies(size, features=features))
    files["roles"].write_bytes(roles())
    files["tags"].write_bytes(service_tags(size) if features.tags else b"null")
    files["requests"].write_bytes(requests(count, size, kind=kind))
    known = {name: json.loads(files[name].read_bytes()) for name in ("roles", "tags")}
    theirs = java.load_file(files["policies"], {name: found for name, found in known.items() if found})
    theirs |= java.time(files["requests"], PASSES + 3)  # some more, until it is compiled
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


def _cells(size: int, row: dict[str, Any]) -> Iterator[str]:
    wanted = f"{WANTED[size]:.0f}x" if size in WANTED else "-"
    for cell in (
        *(f"{size:,}", f"{row['java']:,.0f}", f"{row['warm']:,.0f}", f"{row['warm'] / row['java']:.1f}x", wanted),
        *(f"{row['many']:,.0f}", f"{row['first']:,.0f}", f"{row['two']:,.0f}", f"{row['own']:.0f}"),
        *(f"{row[name]:.1f}" for name in ("java_p50", "p50", "java_p99", "p99")),
        *(f"{row['java_load']:.2f}", f"{row['load']:.2f}", f"{row['java_heap']:.0f}", f"{row['memory']:.0f}"),
        *(f"{row['used']:.0f}", f"{row['delta']:.2f}", f"{row['worst']:.2f}", f"{row['after']:,.0f}"),
        f"{row['differ']}",
    ):
        yield f"{cell:>10}"


if __name__ == "__main__":
    main()
