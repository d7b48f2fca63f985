"""Speed of `Authorizer` beside the engine that it asks: checks, visibility in batches, the import, and a command.

`python -m benchmarks.authorizer` (in `make bench`) prints a line per row, with the rate of the bare engine in the same
run. Both decide the same questions over the same policies, and every answer is compared: checks with audit records to a
file, in the default profile, each of a privilege on one entity. Their rates are per processor second of the calling
thread, so that other programs on the machine hardly count. Records that the queue of the file has no room for are
lost, as the log then says: such a rate is one of deciding and queueing, not of writing. Visibility is measured inside
the process; `benchmarks.service` measures it through HTTP. The command is `ranger-cdap check` with policies in the
cache, which a server in the place of Ranger Admin confirms.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.workload import requests, roles, service_policies
from ranger_cdap import Authorizer, EntityId, entity_id
from ranger_cdap.audit import open_trail
from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.authz.decider import Decider
from ranger_cdap.cdap.entity import to_resource
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, EngineOptions, MatchingScope
from ranger_cdap.plugins.manager import audit_sinks, plugin_manager
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.fixed import FixedPolicies, documents
from ranger_cdap.ranger.refresh.refresh_state import LastContact

BEFORE = {"checks": 38_000.0, "visible": 63_000.0, "import": 0.305}
WANTED = {"checks": 150_000.0, "visible": 200_000.0, "import": 0.12, "command": 0.4}
"""Rates per second and seconds: measured before this work, visibility through HTTP, and to be reached."""

OPERATION = {"dataset": "dataset.get", "artifact": "artifact.get", "namespace": "namespace.get"}
BATCH = 500
Question = tuple[str, tuple[str, ...], str, EntityId]


def main() -> None:
    """Print the rows."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--policies", type=int, default=1_000)
    options.add_argument("--requests", type=int, default=50_000)
    options.add_argument("--passes", type=int, default=5)
    given = options.parse_args()
    asked = questions(given.requests, given.policies)
    with tempfile.TemporaryDirectory() as directory:
        authorizer = opened(Path(directory), given.policies)
        try:
            differ = checks(authorizer, asked, given.passes) + visible(authorizer, asked, given.passes)
        finally:
            authorizer.close()
        lasted = commanded(Path(directory), given.policies)
    before, wanted = BEFORE["import"], WANTED["import"]
    print(f"import    before {before:.3f} s   now {imported():.3f} s   wanted {wanted:.3f} s: `Authorizer`")
    print(f"command   now {lasted:.3f} s   wanted {WANTED['command']:.3f} s: `ranger-cdap check`, from the cache")
    if differ:
        sys.exit(f"{differ} answers differ from the engine's")


def opened(directory: Path, size: int) -> Authorizer:
    """Return an authorizer over the workload's policies that audits to a file."""
    settings = Settings(audit=AuditSettings(file=directory / "audit.log", spool_dir=directory, sinks=("file",)))
    plugins = plugin_manager(entry_points=False)
    policies = FixedPolicies.of(
        documents(service_policies(size), roles=roles()), service="cdapdev", options=EngineOptions()
    )
    trail = open_trail(settings, audit_sinks(plugins))
    return Authorizer(Decider(policies, AuthorizationConfig.of(settings), audit=trail, plugins=plugins))


def questions(count: int, size: int) -> list[Question]:
    """Return the workload's requests on entities of the types above, as questions about the operation of the type."""
    found: list[Question] = []
    for line in requests(count, size).splitlines():
        request = json.loads(line)
        kind = next(reversed(request["resource"]))
        if kind in OPERATION:
            entity = entity_id(kind, list(request["resource"].values())[1:])
            found.append((request["user"], tuple(request["groups"]), OPERATION[kind], entity))
    return found


def checks(authorizer: Authorizer, asked: Sequence[Question], passes: int) -> int:
    """Print the rate of checks one by one; return how many answers differ from the engine's."""
    allowed: list[bool] = []
    bare: list[bool] = []
    needs = [
        (user, groups, needed.entity, needed.actions)
        for user, groups, operation, entity in asked
        for (needed,) in authorizer.plan(user, operation, entity)
    ]

    def ours() -> None:
        allowed[:] = [authorizer.check(*question).allowed for question in asked]

    def engine() -> None:
        evaluate, instance = authorizer.snapshot.engine.evaluate, "cdap"  # type: ignore[union-attr]
        bare[:] = [
            any(
                evaluate(
                    AccessRequest(
                        resource=to_resource(entity, instance),  # type: ignore[arg-type]
                        access_type=ANY_ACCESS if action == "ANY" else action.lower(),
                        user=user,
                        groups=frozenset(groups),
                    )
                ).allowed
                for action in actions
            )
            for user, groups, entity, actions in needs
        ]

    shown("checks", len(asked), ours, engine, passes)
    return sum(one != other for one, other in zip(allowed, bare, strict=True))


def visible(authorizer: Authorizer, asked: Sequence[Question], passes: int) -> int:
    """Print the rate of entities shown in batches; return how many answers differ from the engine's."""
    batches = [asked[at : at + BATCH] for at in range(0, len(asked), BATCH)]
    seen: list[set[EntityId]] = []
    bare: list[set[EntityId]] = []

    def ours() -> None:
        seen[:] = [set(authorizer.visible(batch[0][0], batch[0][1], [one[3] for one in batch])) for batch in batches]

    def engine() -> None:
        evaluate = authorizer.snapshot.engine.evaluate  # type: ignore[union-attr]
        bare.clear()
        for batch in batches:
            user, groups = batch[0][0], frozenset(batch[0][1])
            bare.append(
                {
                    entity
                    for _, _, _, entity in batch
                    if evaluate(
                        AccessRequest(
                            resource=to_resource(entity, "cdap"),
                            access_type=ANY_ACCESS,
                            user=user,
                            groups=groups,
                            matching_scope=MatchingScope.SELF_OR_DESCENDANTS,
                        )
                    ).allowed
                }
            )

    shown("visible", len(asked), ours, engine, passes)
    return sum(one != other for one, other in zip(seen, bare, strict=True))


def shown(name: str, count: int, ours: Callable[[], None], engine: Callable[[], None], passes: int) -> None:
    """Print the best rates of both per processor second, taken in turns."""
    times = [(_timed(ours, time.thread_time), _timed(engine, time.thread_time)) for _ in range(passes)]
    rate, bare = count / min(one for one, _ in times), count / min(other for _, other in times)
    goals = f"before {BEFORE[name]:>7,.0f}/s   now {rate:>9,.0f}/s   wanted {WANTED[name]:>7,.0f}/s"
    print(f"{name:<9} {goals}   engine {bare:>9,.0f}/s   ratio {rate / bare:.2f}   {count:,} compared", flush=True)


def imported() -> float:
    """Return the seconds that the import adds to an interpreter's start: the median of eleven."""

    def started(code: str) -> float:
        return _median(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    return started("from ranger_cdap import Authorizer") - started("")


def commanded(directory: Path, size: int) -> float:
    """Return the seconds of `ranger-cdap check` with policies in the cache that are current: the median of eleven."""
    now = time.time()
    cache = PolicyCache(directory / "cache", "cdapdev", report=print)
    versions = {"policies": 1, "roles": 1, "tags": -1, "users": -1}
    policies = {**json.loads(service_policies(size)), "policyVersion": 1}
    made = documents(
        json.dumps(policies).encode(), roles=json.dumps({**json.loads(roles()), "roleVersion": 1}).encode()
    )
    cache.write(made, LastContact(at=now, age=0, noted=now, versions=Versions(**versions)))
    with ThreadingHTTPServer(("127.0.0.1", 0), _NothingNew) as ranger:
        threading.Thread(target=ranger.serve_forever, daemon=True).start()
        settings = {
            "ranger.url": f"http://127.0.0.1:{ranger.server_port}",
            "ranger.service": "cdapdev",
            "plugin.username": "plugin",
            "plugin.password": "env:RANGER_PASSWORD",
            "plugin.cache_dir": str(directory / "cache"),
            "plugin.use_ranger_groups": "false",
            "audit.file": str(directory / "command.log"),
            "audit.spool_dir": str(directory),
        }
        given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        command = [sys.executable, "-m", "ranger_cdap", *given, "check", "user1", "dataset.get", "dataset:ns1.ds1"]
        environment = {**os.environ, "RANGER_PASSWORD": "benchmark"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 2) or done.stderr:
            sys.exit(f"`ranger-cdap check` failed: {done.stderr}")
        lasted = _median(lambda: subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False))
        ranger.shutdown()
    return lasted


class _NothingNew(BaseHTTPRequestHandler):
    """Ranger Admin's answer to a plugin that has all there is."""

    def do_GET(self) -> None:
        self.send_response(304)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def _median(do: Callable[[], object]) -> float:
    return sorted(_timed(do) for _ in range(11))[5]


def _timed(do: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    do()
    return clock() - began


if __name__ == "__main__":
    main()
