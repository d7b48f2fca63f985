"""Latency from CDAP's answer to a creating request until CDAP allows the creator on the entity, against the targets.

`python -m benchmarks.cdap_chain` (in `make bench`) prints quantiles of the whole and of each part: a real CDAP 6.11 in
memory, with our extension, which hands it audit records every `auditlog.messaging.poll.delay.millis` (4 s unless set);
a second pass has that at 500 ms. Decision service, embedded Ranger Admin and `sync run --follow` are processes with
default settings (`benchmarks.deployment`). A creation ends with CDAP's answer 200 to its creator's GET, which is sent
when the decision service allows it. Needs what `make test-cdap` builds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ranger_cdap.extension
from benchmarks.chain import print_denial
from benchmarks.creation_times import cpu_of, follow_creations, print_cpu, print_parts, uri_of
from benchmarks.deployment import Deployment, ServiceCaller, deployment
from ranger_cdap.cdap.entity import EntityId
from tests.cdap_master.in_memory_cdap import CdapUser, InMemoryCdap, missing_part

CREATOR = "alice"
TARGETS = {4000: {"p95": 7.0}, 500: {"p95": 3.5}}
"""Targets in seconds, by CDAP's poll in milliseconds."""
JAR = Path(ranger_cdap.extension.__file__).with_name("ranger-cdap-extension-6.11.jar")
TABLE = {"typeName": "keyValueTable", "properties": {}}


def main() -> None:
    """Print a table for each poll."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--creations", type=int, default=30, help="of each pass")
    options.add_argument("--gap", type=float, default=3.0, help="average seconds between two creations")
    given = options.parse_args()
    if sentence := missing_part():
        options.error(sentence)
    with (
        tempfile.TemporaryDirectory() as directory,
        deployment(Path(directory), {CREATOR: ["WRITE instance:"]}) as deployed,
        deployed.caller("enforce") as caller,
    ):
        for poll, targets in TARGETS.items():
            with started(deployed, Path(directory, f"cdap{poll}"), poll) as cdap:
                print(f"CDAP's poll {poll} ms, {given.creations} creations, {given.gap:g} s apart on average")
                measure(deployed, caller, cdap, f"bench{poll}", given.creations, given.gap, targets)


def measure(
    deployed: Deployment,
    caller: ServiceCaller,
    cdap: InMemoryCdap,
    namespace: str,
    count: int,
    gap: float,
    targets: dict[str, float],
) -> None:
    """Print the table of one pass."""
    writes, reads = cdap.user(CREATOR), CdapUser(cdap.url, CREATOR)  # one for each thread

    def create(entity: EntityId) -> tuple[EntityId, float]:
        writes.must(f"PUT {uri_of(entity)}", TABLE if entity.type == "dataset" else {})
        return entity, time.time()

    def denial(entity: EntityId) -> str:
        reason = caller.denial(CREATOR, entity)
        if not reason:
            reads.must(f"GET {uri_of(entity)}")
        return reason

    (first,) = follow_creations(1, 0.1, lambda _: create(EntityId("namespace", (namespace,))), denial)
    print(f"its namespace: {first.allowed - first.began:.1f} s")
    print_denial(first)
    began, before = time.time(), cpu_of(deployed)
    creations = follow_creations(count, gap, lambda n: create(EntityId("dataset", (namespace, f"d{n}"))), denial)
    print_parts(deployed, creations, "CDAP's answer", "CDAP's answer -> received (its poll)", targets)
    print_cpu(deployed, time.time() - began, before)
    reads.session.close()


@contextmanager
def started(deployed: Deployment, directory: Path, poll: int) -> Iterator[InMemoryCdap]:
    """Run a CDAP with our extension; `poll` is its own for audit records, in milliseconds."""
    prefix = "security.authorization.extension"
    site = {f"{prefix}.config.{name}": value for name, value in deployed.extension.items()}
    site |= {f"{prefix}.jar.path": str(JAR), "auditlog.messaging.poll.delay.millis": str(poll)}
    with InMemoryCdap(directory, site, {"security.store.file.password": "benchmark-key-store"}) as cdap:
        yield cdap


if __name__ == "__main__":
    main()
