"""How fast the engine decides, how much it holds, and how soon a change is in force, at 100 to 100,000 policies.

Requests are decoded anew before each pass, so that no string has its hash yet, as in a program that gets them by wire.
"""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

import servicedef
from benchmarks.workload import changed_policy, requests, service_policies
from ranger_cdap.engine import AccessRequest, PolicyEngine, decode_service_policies

SIZES = (100, 1_000, 10_000, 100_000)
REQUESTS = 10_000
PASSES = 5
ROUNDS = 5
DELTAS = 500
DEFINITION = msgspec.json.encode(servicedef.service_definition())


class Asked(msgspec.Struct):
    """A line of the workload."""

    resource: dict[str, str]
    access: str
    user: str
    groups: frozenset[str]


def main() -> None:
    """Print one line a size."""
    print("engine alone, one thread; request object made and decision returned inside the timing")
    columns = ("policies", "load s", "MB", "first/s", "warm/s", "delta ms", "worst ms", "after/s", "of 100")
    print(" ".join(f"{name:>13}" for name in columns))
    base = 0.0
    for size in SIZES:
        row = measure(size)
        base = base or row["warm"]
        figures = (
            f"{size:,}",
            f"{row['load']:.2f}",
            f"{row['memory']:.0f}",
            f"{row['first']:,.0f}",
            f"{row['warm']:,.0f}",
            f"{row['delta']:.2f}",
            f"{row['worst']:.2f}",
            f"{row['after']:,.0f}",
            f"{row['warm'] / base:.0%}",
        )
        print(" ".join(f"{figure:>13}" for figure in figures))
    growth()


def measure(size: int) -> dict[str, float]:
    """The figures of one size."""
    document, lines = service_policies(size), requests(REQUESTS, size)
    gc.collect()
    before = _resident()  # the download itself is counted before
    started = time.perf_counter()
    engine = PolicyEngine.build(decode_service_policies(document))
    _ask(engine, lines, 1)
    load = time.perf_counter() - started
    memory = _resident() - before
    first = _rate(engine, lines)
    warm = max(_rate(engine, lines) for _ in range(PASSES))
    lasted = []
    for version in range(1, DELTAS + 1):
        raw = changed_policy(1 + version % size, size, version)
        started = time.perf_counter()
        engine = with_changed_policy(engine, raw, size + version)
        lasted.append((time.perf_counter() - started) * 1e3)
    after = _rate(engine, lines)
    delta = statistics.median(lasted)
    figures = {"load": load, "memory": memory, "first": first, "warm": warm}
    return {**figures, "delta": delta, "worst": max(lasted), "after": after}


def growth() -> None:
    """Print how much memory is held after ever more deltas, and after requests for ever new resources nobody names."""
    size = 10_000
    engine = PolicyEngine.build(decode_service_policies(service_policies(size)))
    _ask(engine, requests(REQUESTS, size), REQUESTS)
    gc.collect()
    for what, step in (("deltas", _after_deltas), ("requests for resources nobody names", _after_unknown)):
        held = [f"{_resident():.0f}"]
        for round_ in range(ROUNDS):
            engine = step(engine, size, round_)
            gc.collect()
            held.append(f"{_resident():.0f}")
        print(f"MB held at {size:,} policies, before and after each {REQUESTS:,} {what}: {', '.join(held)}")


def _after_deltas(engine: PolicyEngine, size: int, round_: int) -> PolicyEngine:
    for version in range(round_ * REQUESTS, (round_ + 1) * REQUESTS):
        engine = with_changed_policy(engine, changed_policy(1 + version % size, size, version), size + version)
    _ask(engine, requests(REQUESTS, size), REQUESTS)
    return engine


def _after_unknown(engine: PolicyEngine, size: int, round_: int) -> PolicyEngine:
    for n in range(REQUESTS):
        name = f"unknown-{round_}-{n}"
        engine.evaluate(AccessRequest({"instance": "cdap", "namespace": name, "dataset": name}, "read", name))
    return engine


def with_changed_policy(engine: PolicyEngine, raw: bytes, version: int) -> PolicyEngine:
    """The engine with one policy changed, as after a download with one delta."""
    delta = {"changeType": 1, "policiesVersion": version, "policy": msgspec.Raw(raw)}
    document = {
        "serviceName": engine.service_name,
        "policyVersion": version,
        "serviceDef": msgspec.Raw(DEFINITION),
        "policyDeltas": [delta],
    }
    return engine.with_deltas(decode_service_policies(msgspec.json.encode(document)))


def _rate(engine: PolicyEngine, lines: bytes) -> float:
    return REQUESTS / _ask(engine, lines, REQUESTS)


def _ask(engine: PolicyEngine, lines: bytes, count: int) -> float:
    asked = msgspec.json.Decoder(Asked).decode_lines(lines)[:count]
    evaluate: Callable[[AccessRequest], object] = engine.evaluate
    started = time.perf_counter()
    for one in asked:
        evaluate(AccessRequest(one.resource, one.access, one.user, one.groups, access_time=1_700_000_000_000))
    return time.perf_counter() - started


def _resident() -> float:
    """Megabytes of memory in use now, not at the worst moment so far."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


if __name__ == "__main__":
    main()
