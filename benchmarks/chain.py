"""Latency from a creation's record handed to CDAP's extension until its creator is allowed, against the targets.

`python -m benchmarks.chain` (in `make bench`) prints quantiles of the whole and of each part, and CPU time. The
extension is the real one for CDAP 6.11 in a JVM of its own: it asks for permission to create, and its audit record is
handed to its `publishAuditLogs`. Decision service, embedded Ranger Admin and `sync run --follow` are processes with
default settings (`benchmarks.deployment`); the creator has WRITE on the namespace, and on the dataset what the sync job
grants. Needs Java and, once, Maven.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.creation_times import Creation, cpu_of, follow_creations, print_cpu, print_parts, uri_of
from benchmarks.deployment import cdap_entity, deployment
from ranger_cdap.cdap.entity import EntityId
from tests.extension.driver import Extension, User

CREATOR, NAMESPACE = "alice", "bench"
TARGETS = {"p95": 3.0, "p99": 5.0}
IDLE_SECONDS = 30


def main() -> None:
    """Print the denial, the table of parts, and CPU seconds."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--creations", type=int, default=200)
    options.add_argument("--gap", type=float, default=2.5, help="average seconds between two creations")
    given = options.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        Extension("6.11") as extension,
        deployment(Path(directory), {CREATOR: [f"WRITE namespace:{NAMESPACE}"]}) as deployed,
        deployed.caller("enforce") as caller,
    ):
        extension.command("initialize", properties=deployed.extension)

        def denial(entity: EntityId) -> str:
            return caller.denial(CREATOR, entity)

        (first,) = follow_creations(1, 0.1, lambda _: create(extension, "first"), denial)
        print(f"the first creation after the start: {first.allowed - first.began:.1f} s")
        print_denial(first)
        print(f"{given.creations} creations, {given.gap:g} s apart on average", flush=True)
        began, before = time.time(), cpu_of(deployed)
        creations = follow_creations(given.creations, given.gap, lambda n: create(extension, f"d{n}"), denial)
        print_parts(deployed, creations, "record handed", "record handed -> received", TARGETS)
        print_cpu(deployed, time.time() - began, before)
        began, before = time.time(), cpu_of(deployed)
        time.sleep(IDLE_SECONDS)
        print("nothing is created:")
        print_cpu(deployed, time.time() - began, before)


def print_denial(creation: Creation) -> None:
    """Print the denial of a creator whose grant is pending; it must say so."""
    assert "the grant to its creator is not in effect yet" in creation.reason, creation.reason
    print(f"the creator's denial meanwhile: {creation.reason}", flush=True)


def create(extension: Extension, name: str) -> tuple[EntityId, float]:
    """Have the extension ask and report as for a created dataset; return when it was handed the record."""
    dataset = EntityId("dataset", (NAMESPACE, name))
    started = _now()
    answer = extension.enforce(User(CREATOR), cdap_entity(dataset), ["STANDARD.CREATE"])
    assert answer["allowed"], answer
    request = {"code": 200, "method_type": "PUT", "uri": uri_of(dataset), "started": started, "ended": _now()}
    handed = time.time()
    published = extension.command("publish", bodies=[answer["audit"]], request=request)
    assert published == {"status": "PUBLISHED"}, published
    return dataset, handed


def _now() -> int:
    return round(time.time() * 1000)


if __name__ == "__main__":
    main()
