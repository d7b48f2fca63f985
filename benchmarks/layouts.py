"""Policies per entity against policies of several entities: what `sync.layout` changes at many grants.

`python -m benchmarks.layouts` (in `make bench`) prints a table of both layouts: policies, size of the download,
time until the first decision, and the time of a decision, the second ones as ratios to the first. Grants are those of
`--creators` users in `--namespaces`, most of them of datasets. Then it measures, against an embedded Ranger Admin in a
process of its own, what one creation costs where a policy already holds so many entities; the bound of a policy is
chosen by it.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from statistics import median

import msgspec

import servicedef
from benchmarks.ranger import ACCOUNT, INSTANCE, PASSWORD, SERVICE, prepare, server
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES, grant_for
from ranger_cdap.cdap.shared_policy import MOST_ENTITIES, SharedPolicy, SharedTerms, shared_policy
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.policies.client.connection import AdminConnection
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.plan import CreateGrant, PlanSettings, plan
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State

SIZES = (1, 25, 50, 100, 200, 400, 800)
DECISIONS = 20_000
TYPES = ("dataset", "dataset", "dataset", "application", "artifact")
SETTINGS = PlanSettings(INSTANCE, SERVICE)
BEGUN = Position(1, False, "benchmark", "1")


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--grants", type=int, default=100_000)
    options.add_argument("--creators", type=int, default=200)
    options.add_argument("--namespaces", type=int, default=50)
    given = options.parse_args()
    grants = list(some_grants(given.grants, given.creators, given.namespaces))
    print(f"{given.grants:,} grants of {given.creators} users in {given.namespaces} namespaces")
    rows = [measured(layout, policies, grants) for layout, policies in both(grants)]
    print(f"{'':>28} {'entity':>12} {'creator':>12} {'ratio':>8}")
    for what, one, other in ((what, rows[0][what], rows[1][what]) for what in rows[0]):
        print(f"{what:>28} {one:>12,.2f} {other:>12,.2f} {other / one:>8.3f}")
    print("\none more entity in a policy of so many, embedded Ranger Admin, median of 20:")
    print(f"{'entities':>10} {'policy, kB':>11} {'PUT, ms':>9} {'download of all after it, ms':>30}")
    for size, kilobytes, put, download in changes():
        print(f"{size:>10} {kilobytes:>11.1f} {put:>9.1f} {download:>30.1f}")


def some_grants(count: int, creators: int, namespaces: int) -> Iterator[tuple[EntityId, str]]:
    """Yield entities and their creators; a user works in few namespaces."""
    random = Random(7)
    homes = [[random.randrange(namespaces) for _ in range(3)] for _ in range(creators)]
    for n in range(count):
        user = random.randrange(creators)
        kind = random.choice(TYPES)
        yield EntityId(kind, (f"ns{random.choice(homes[user])}", f"{kind}-of-project-{n}")), f"user{user}"


def both(grants: list[tuple[EntityId, str]]) -> Iterator[tuple[str, list[Policy]]]:
    """Yield the policies of both layouts, as the sync job writes them."""
    lives = (Life(entity, 1, user, BEGUN, State.PENDING, accesses=ACCESS_TYPES) for entity, user in grants)
    yield "entity", [step.policy for step in plan(lives, SETTINGS) if isinstance(step, CreateGrant)]
    shared: dict[SharedTerms, list[EntityId]] = {}
    for entity, user in grants:
        grant = grant_for(entity, user, INSTANCE, ACCESS_TYPES, non_creators=())
        shared.setdefault(SharedTerms.of(entity, grant, delegate_admin=False), []).append(entity)
    yield (
        "creator",
        [
            shared_policy(SharedPolicy(terms, number, frozenset(entities[start : start + MOST_ENTITIES])), SERVICE)
            for terms, entities in shared.items()
            for number, start in enumerate(range(0, len(entities), MOST_ENTITIES), 1)
        ],
    )


def measured(layout: str, policies: list[Policy], grants: list[tuple[EntityId, str]]) -> dict[str, float]:
    """Return the figures of one layout."""
    download = downloaded(policies)
    asked = Random(11).sample(grants, min(DECISIONS, len(grants)))
    requests = [request(entity, user) for entity, user in asked]
    gc.collect()
    began = time.perf_counter()
    engine = PolicyEngine.build(decode_service_policies(download))
    assert engine.evaluate(requests[0]).allowed
    loaded = time.perf_counter() - began
    began = time.perf_counter()
    assert all(engine.evaluate(each).allowed for each in requests)
    first = time.perf_counter() - began
    began = time.perf_counter()
    assert all(engine.evaluate(each).allowed for each in requests)
    again = time.perf_counter() - began
    strangers = [request(entity, "nobody") for entity, _ in asked]
    began = time.perf_counter()
    assert not any(engine.evaluate(each).allowed for each in strangers)
    denied = time.perf_counter() - began
    return {
        "policies": len(policies),
        "download, MB": len(download) / 1e6,
        "until the first decision, s": loaded,
        "first decision each, µs": first / len(requests) * 1e6,
        "decision again, µs": again / len(requests) * 1e6,
        "denial of another user, µs": denied / len(requests) * 1e6,
    }


def request(entity: EntityId, user: str) -> AccessRequest:
    """Return a request to read an entity."""
    return AccessRequest(resource=to_resource(entity, INSTANCE), access_type="read", user=user, groups=frozenset())


def downloaded(policies: Iterable[Policy]) -> bytes:
    """Return a download of these policies."""
    definition = Path(servicedef.__file__).with_name("ranger-servicedef-cdap.json")
    document = {
        "serviceName": SERVICE,
        "policyVersion": 1,
        "serviceDef": json.loads(definition.read_text(encoding="utf-8")),
        "policies": [replaced(policy, id=n, version=1) for n, policy in enumerate(policies, 1)],
    }
    return msgspec.json.encode(document)


def changes() -> Iterator[tuple[int, float, float, float]]:
    """Yield for each size of a policy: its kilobytes, and the milliseconds of a change and of a download after it."""
    with (
        server(None) as (url, password),
        RangerAdmin(AdminConnection(url, username="admin", password=password)) as admin,
    ):
        prepare(admin)
        with RangerAdmin(AdminConnection(url, username=ACCOUNT, password=PASSWORD)) as sync:
            for size in SIZES:
                policy = sync.create_policy(of_size(size))
                puts, downloads = [], []
                for more in range(1, 21):
                    wanted = replaced(of_size(size + more), id=policy.id, version=policy.version)
                    began = time.perf_counter()
                    policy = sync.update_policy(wanted)
                    puts.append(time.perf_counter() - began)
                    began = time.perf_counter()
                    admin.list_policies(SERVICE)
                    downloads.append(time.perf_counter() - began)
                kilobytes = len(msgspec.json.encode(of_size(size))) / 1e3
                assert policy.id is not None
                sync.delete_policy(policy.id)
                yield size, kilobytes, median(puts) * 1e3, median(downloads) * 1e3


def of_size(count: int) -> Policy:
    """Return a policy of so many datasets."""
    entities = [EntityId("dataset", ("bench", f"dataset-of-project-{n}")) for n in range(count)]
    grant = grant_for(entities[0], ACCOUNT, INSTANCE, ACCESS_TYPES, non_creators=())
    terms = SharedTerms.of(entities[0], grant, delegate_admin=False)
    return shared_policy(SharedPolicy(terms, 1, frozenset(entities)), SERVICE)


if __name__ == "__main__":
    main()
