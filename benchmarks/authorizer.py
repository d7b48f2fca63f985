"""Speed of `Authorizer` beside the engine that it asks: checks, visibility in batches, and the import.

`python -m benchmarks.authorizer` (in `make bench`) prints a line per row, with the rate of the bare engine in the same
run. Both decide the same questions over the same policies, and every answer is compared: checks with audit records to a
file, in the default profile, each of a privilege on one entity. Records that the queue of the file has no room for are
lost, as the log then says: such a rate is one of deciding and queueing, not of writing. Visibility is measured inside
the process; `benchmarks.service` measures it through HTTP.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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
from ranger_cdap.policies.refresh.fixed import FixedPolicies, documents

WANTED = {"checks": 150_000.0, "visible": 200_000.0, "import": 0.12}
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
    print(f"import    {imported():>9.3f} s   wanted {WANTED['import']:.3f} s: `from ranger_cdap import Authorizer`")
    if differ:
        sys.exit(f"{differ} answers differ from the engine's")


def opened(directory: Path, size: int) -> Authorizer:
    """Return an authorizer over the workload's policies that audits to a file."""
    settings = Settings(audit=AuditSettings(file=directory / "audit.log", spool_dir=directory, sinks=("file",)))
    plugins = plugin_manager(entry_points=False)
    policies = FixedPolicies.of(
        documents(service_policies(size), roles=roles()), service="cdapdev", options=EngineOptions()
    )
    trail = open_trail(settings.audit, audit_sinks(plugins))
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
    """Print the best rates of both, taken in turns."""
    times = [(_timed(ours), _timed(engine)) for _ in range(passes)]
    rate, bare = count / min(one for one, _ in times), count / min(other for _, other in times)
    told = f"wanted {WANTED[name]:>7,.0f}/s   engine {bare:>9,.0f}/s   ratio {rate / bare:.2f}   {count:,} compared"
    print(f"{name:<9} {rate:>9,.0f}/s   {told}", flush=True)


def imported() -> float:
    """Return the seconds that the import adds to an interpreter's start: the median of eleven."""

    def started(code: str) -> float:
        times = sorted(_timed(lambda: subprocess.run([sys.executable, "-c", code], check=True)) for _ in range(11))
        return times[5]

    return started("from ranger_cdap import Authorizer") - started("")


def _timed(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
