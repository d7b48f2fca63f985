"""Our engine, measured in a process of its own on the files of `benchmarks.engine`; prints the figures as JSON.

`benchmarks.engine` starts it for each size: memory of one size must not count for the next.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

import servicedef
from benchmarks.memory import private, resident
from benchmarks.workload import NOW, changed_policy
from ranger_cdap.engine import AccessRequest, Decision, EngineOptions, MatchingScope, PolicyEngine
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.documents import Documents, compile_set
from ranger_cdap.ranger.refresh.refresh_state import LastContact
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags

PASSES = 5
FIRST = 10_000
DELTAS = 5_000
READ_DELTAS = 500
ITEMS = 100_000
_NAP = 0.0005
_MAX_TWICE = 100_000
DEFINITION = msgspec.json.encode(servicedef.service_definition())


class Request(msgspec.Struct):
    """A line of the workload."""

    resource: dict[str, str]
    access: str
    user: str
    groups: frozenset[str]
    scope: MatchingScope = MatchingScope.SELF
    ip: str | None = None


def main() -> None:
    """Print the figures of one size."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("directory", type=Path)
    options.add_argument("size", type=int)
    options.add_argument("--deltas", action="store_true")
    given = options.parse_args()
    print(json.dumps(measure(given.directory, given.size, deltas=given.deltas)))


def measure(directory: Path, size: int, *, deltas: bool) -> dict[str, float]:
    """Return the figures; answers are written beside the requests."""
    document = (directory / "policies.json").read_bytes()
    lines = (directory / "requests.json").read_bytes()
    roles = decode_roles((directory / "roles.json").read_bytes())
    tags = (directory / "tags.json").read_bytes()
    first = decoded(lines)[:FIRST]
    gc.collect()
    before = resident()  # the download itself was counted before
    began = time.perf_counter()
    engine = PolicyEngine.build(
        decode_service_policies(document), roles=roles, tags=None if tags == b"null" else decode_service_tags(tags)
    )
    run_requests(engine, first[:1])
    figures = {"load": time.perf_counter() - began, "memory": resident() - before}
    figures["first"] = len(first) / run_requests(engine, first)
    figures["used"] = resident() - before
    run_requests(engine, decoded(lines))
    figures["warm"] = max(_rate(engine, lines) for _ in range(PASSES))
    figures |= each(engine, decoded(lines), directory / "answers.json")
    figures["loop"] = max(_rate(engine, (directory / "loop.json").read_bytes()) for _ in range(2))
    if size <= _MAX_TWICE:  # another engine, that has not been asked anything
        fresh = PolicyEngine.build(
            decode_service_policies(document), roles=roles, tags=None if tags == b"null" else decode_service_tags(tags)
        )
        figures["cold"] = _rate(fresh, (directory / "cold.json").read_bytes())
        del fresh
    if deltas:
        figures["restart"] = restarted(document, (directory / "roles.json").read_bytes(), decoded(lines)[0])
        figures |= two_processes(engine, lines)
        figures |= with_deltas(engine, lines, size)
    return figures


def restarted(policies: bytes, roles: bytes, asked: Request) -> float:
    """Return the seconds from policies in the cache of a plugin until the first decision."""
    service = decode_service_policies(policies).service_name
    with tempfile.TemporaryDirectory() as directory:
        cache = PolicyCache(Path(directory), service, report=print)
        written, now = Documents(policies, roles, None), time.time()
        cache.write(written, LastContact(now, 0.0, now, compile_set(written, service, EngineOptions()).versions))
        gc.collect()
        began = time.perf_counter()
        found = cache.load(now)
        assert found is not None  # it was just written
        run_requests(found[0].engine, [asked])
        return time.perf_counter() - began


def decoded(lines: bytes) -> list[Request]:
    """Return the requests, with new strings that have no cached hash."""
    return msgspec.json.Decoder(Request).decode_lines(lines)


def run_requests(engine: PolicyEngine, asked: Sequence[Request]) -> float:
    """Return the seconds for all requests, one by one."""
    evaluate = engine.evaluate
    began = time.perf_counter()
    for one in asked:
        evaluate(_request(one))
    return time.perf_counter() - began


def each(engine: PolicyEngine, asked: Sequence[Request], path: Path) -> dict[str, float]:
    """Return the microseconds of single decisions, and write the decisions to a file."""
    lasted: list[float] = []
    decisions: list[Decision] = []
    for one in asked:
        began = time.perf_counter()
        decision = engine.evaluate(_request(one))
        lasted.append((time.perf_counter() - began) * 1e6)
        decisions.append(decision)
    found = {"answers": "".join("01"[d.allowed] for d in decisions), "policies": [d.policy_id for d in decisions]}
    path.write_text(json.dumps(found))
    lasted.sort()
    return {"p50": lasted[len(lasted) // 2], "p99": lasted[len(lasted) * 99 // 100]}


def two_processes(engine: PolicyEngine, lines: bytes) -> dict[str, float]:
    """Return the rate of two processes that share the loaded engine (copy-on-write), and their private megabytes."""
    gc.freeze()  # the garbage collector would write to shared pages
    forking = multiprocessing.get_context("fork")
    together, found = forking.Barrier(2), forking.SimpleQueue()

    def one() -> None:
        asked = decoded(lines)
        run_requests(engine, asked)
        best = 0.0
        for _ in range(PASSES):
            asked = decoded(lines)
            together.wait()
            best = max(best, len(asked) / run_requests(engine, asked))
        del asked
        gc.collect()
        found.put((best, private()))

    processes = [forking.Process(target=one) for _ in range(2)]
    for process in processes:
        process.start()
    rates, own = zip(*(found.get() for _ in processes), strict=True)
    for process in processes:
        process.join()
    gc.unfreeze()
    return {"two": sum(rates), "own": max(own)}


def with_deltas(engine: PolicyEngine, lines: bytes, size: int) -> dict[str, float]:
    """Return the milliseconds until a changed policy is in effect, and the rate right after the last change."""
    lasted = []
    for version in range(1, DELTAS + 1):
        raw = changed_policy(1 + version % size, size, version)
        began = time.perf_counter()
        engine = with_changed_policy(engine, raw, size + version)
        lasted.append((time.perf_counter() - began) * 1e3)
    first = decoded(lines)[:FIRST]
    after = len(first) / run_requests(engine, first)
    return {
        "delta": statistics.median(lasted),
        "worst": max(lasted),
        "after": after,
        "reader": while_reading(engine, lines, size),
        "held": held_up(engine, size),
    }


def while_reading(engine: PolicyEngine, lines: bytes, size: int) -> float:
    """Return the 99th percentile of milliseconds of decisions in another thread, while a delta follows a delta."""
    current, asked, over = [engine], list(map(_request, decoded(lines)[:FIRST])), threading.Event()
    lasted: list[float] = []

    def read() -> None:
        while not over.is_set():
            for request in asked:
                began = time.perf_counter()
                current[0].evaluate(request)
                lasted.append((time.perf_counter() - began) * 1e3)
                if over.is_set():
                    break

    reader = threading.Thread(target=read)
    reader.start()
    for version in range(1, READ_DELTAS + 1):
        raw = changed_policy(1 + version % size, size, version)
        current[0] = with_changed_policy(current[0], raw, size + DELTAS + version)
    over.set()
    reader.join()
    return sorted(lasted)[len(lasted) * 99 // 100]


def held_up(engine: PolicyEngine, size: int) -> float:
    """Return the most milliseconds for which another thread does not run while a policy gets 100,000 items."""
    policy = msgspec.json.decode(changed_policy(1, size, 1))
    policy["policyItems"] = [{**policy["policyItems"][0], "users": [f"another{n}"]} for n in range(ITEMS)]
    raw, ran, over = msgspec.json.encode(policy), [time.perf_counter()], threading.Event()

    def run() -> None:
        while not over.wait(_NAP):
            ran.append(time.perf_counter())

    other = threading.Thread(target=run)
    other.start()
    with_changed_policy(engine, raw, size + 2 * DELTAS)
    over.set()
    other.join()
    return max(later - earlier for earlier, later in pairwise(ran)) * 1e3


def with_changed_policy(engine: PolicyEngine, raw: bytes, version: int) -> PolicyEngine:
    """Return the engine with one policy changed, as after a download with one delta."""
    delta = {"changeType": 1, "policiesVersion": version, "policy": msgspec.Raw(raw)}
    document = {
        "serviceName": engine.service_name,
        "policyVersion": version,
        "serviceDef": msgspec.Raw(DEFINITION),
        "policyDeltas": [delta],
    }
    return engine.with_deltas(decode_service_policies(msgspec.json.encode(document)))


def _request(one: Request) -> AccessRequest:
    return AccessRequest(one.resource, one.access, one.user, one.groups, None, None, NOW, one.scope, one.ip)


def _rate(engine: PolicyEngine, lines: bytes) -> float:
    asked = decoded(lines)
    return len(asked) / run_requests(engine, asked)


if __name__ == "__main__":
    main()
