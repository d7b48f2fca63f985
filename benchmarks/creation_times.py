"""Latency from a creation until its creator is allowed on the entity, with its parts, as a table of quantiles.

Creations begin at random times (exponential gaps), whatever becomes of the ones before: they are in step with no
interval, and a slow one is not hidden by the next one waiting for it. While a creator is not allowed, the decision
service is asked for them every 25 ms. The parts cost nothing to measure: they are read afterwards from what the
programs write anyway (`received` of the stored record, the time of the published file, and when Ranger created the
policy), all by the clock of this machine.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import msgspec
import requests

from benchmarks.deployment import INSTANCE, Deployment
from benchmarks.processes import cpu_seconds
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.grant import CREATORS_LABEL
from ranger_cdap.testing import EmbeddedRanger

PATIENCE: Final = 300.0
QUANTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "worst": 1.0}

_EVERY: Final = 0.025
_EVERY_OF_MANY: Final = 0.01
"""Seconds between two rounds, and at least this per creator waiting: asking must not become the load."""
_SEED: Final = 20261121


@dataclass(frozen=True, slots=True)
class Creation:
    """Creation that was followed until its creator was allowed; times in seconds since 1970.

    The creator became allowed between `denied`, the last denial, with its `reason`, and `allowed`.
    """

    entity: EntityId
    began: float
    denied: float
    allowed: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Pending:
    began: float
    denied: float
    reason: str


def follow_creations(
    count: int, gap: float, create: Callable[[int], tuple[EntityId, float]], denial: Callable[[EntityId], str]
) -> list[Creation]:
    """Return `count` creations that begin `gap` seconds apart on average.

    `create` returns the entity, and when the measured time began; `denial` is empty once the creator is allowed. They
    are called in two threads.

    Raises:
        TimeoutError: a creator is not allowed within `PATIENCE` seconds.
    """
    draw = random.Random(_SEED)
    pending: dict[EntityId, _Pending] = {}
    creating: list[Future[tuple[EntityId, float]]] = []
    done: list[Creation] = []
    due, submitted = time.time() + draw.expovariate(1 / gap), 0
    with ThreadPoolExecutor(1) as creator:
        while len(done) < count:
            turn = time.time()
            if submitted < count and turn >= due:
                creating.append(creator.submit(create, submitted))
                due, submitted = due + draw.expovariate(1 / gap), submitted + 1
            while creating and creating[0].done():
                entity, began = creating.pop(0).result()
                pending[entity] = _Pending(began, began, "")
            for entity, waiting in list(pending.items()):
                asked = time.time()
                reason = denial(entity)
                if not reason:
                    done.append(Creation(entity, waiting.began, waiting.denied, time.time(), waiting.reason))
                    del pending[entity]
                elif asked - waiting.began > PATIENCE:
                    raise TimeoutError(f"no grant within {PATIENCE:g} s: {reason}")
                else:
                    pending[entity] = _Pending(waiting.began, asked, reason)
            time.sleep(max(0.0, turn + max(_EVERY, _EVERY_OF_MANY * len(pending)) - time.time()))
    return done


def print_parts(
    deployed: Deployment, creations: Collection[Creation], begins: str, before: str, targets: Mapping[str, float]
) -> None:
    """Print the quantiles of each part and of the whole, against the targets of the whole.

    `begins` names what the measured time begins with, and `before` the part until the record is received.
    """
    stored, granted = _stored(deployed), grant_times(deployed.ranger)
    parts: dict[str, list[float]] = {before: [], "received -> in a file": [], "in a file -> granted in Ranger": []}
    parts |= {"granted -> creator allowed": [], f"{begins} -> creator allowed": []}
    for creation in creations:
        received, published = stored[creation.entity]
        times = (creation.began, received, published, granted[creation.entity], creation.allowed)
        whole = creation.allowed - creation.began
        lasted = [later - earlier for earlier, later in pairwise(times)]
        for seconds, part in zip([*lasted, whole], parts.values(), strict=True):
            part.append(seconds)
    width = max(map(len, parts))
    print(f"{'seconds':>{width}} " + "".join(f"{name:>8}" for name in QUANTILES))
    for name, part in parts.items():
        print(f"{name:>{width}} " + "".join(f"{quantile(part, share):8.2f}" for share in QUANTILES.values()))
    reached = {name: quantile(parts[f"{begins} -> creator allowed"], QUANTILES[name]) for name in targets}
    for name, target in targets.items():
        print(f"{f'target of {name}':>{width}}  {target:g} s: {'reached' if reached[name] <= target else 'MISSED'}")
    uncertain = sorted(creation.allowed - creation.denied for creation in creations)
    print(
        f"the creator became allowed within the last {quantile(uncertain, 0.5) * 1000:.0f} ms (median; most"
        f" {uncertain[-1] * 1000:.0f} ms) of each time",
        flush=True,
    )


def print_cpu(deployed: Deployment, seconds: float, before: Mapping[str, float]) -> None:
    """Print the CPU seconds that each process has used since `before`, `seconds` ago."""
    used = {name: now - before[name] for name, now in cpu_of(deployed).items()}
    shares = ", ".join(f"{name} {cpu:.1f} s ({cpu / seconds:.0%} of a core)" for name, cpu in used.items())
    print(f"CPU in {seconds:.0f} s: {shares}", flush=True)


def cpu_of(deployed: Deployment) -> dict[str, float]:
    """Return the CPU seconds of each process so far."""
    return {name: cpu_seconds(process.pid) for name, process in deployed.processes.items()}


def quantile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


class _StoredBody(msgspec.Struct):
    uri: str
    method: str


class _StoredLine(msgspec.Struct):
    received: int
    record: _StoredBody | None = None


def _stored(deployed: Deployment) -> dict[EntityId, tuple[float, float]]:
    """Return when the first record of each creation was received, and when its file was published."""
    found: dict[EntityId, tuple[float, float]] = {}
    for file in sorted(deployed.events.glob("*.jsonl")):
        published = file.stat().st_ctime  # of its move into the directory
        for line in file.read_bytes().splitlines():
            stored = msgspec.json.decode(line, type=_StoredLine)
            if stored.record is not None and stored.record.method == "PUT":
                found.setdefault(entity_of(stored.record.uri), (stored.received / 1000, published))
    return found


def grant_times(ranger: EmbeddedRanger) -> dict[EntityId, float]:
    """Return when Ranger created the policy of each creator."""
    found: dict[EntityId, float] = {}
    with requests.Session() as session:
        session.auth = ("admin", ranger.password.reveal())
        for policy in ranger.admin.list_policies(ranger.service):
            if CREATORS_LABEL in policy.policy_labels:
                answer = session.get(f"{ranger.url}/service/public/v2/api/policy/{policy.id}", timeout=30)
                answer.raise_for_status()
                names = {level: resource.values[0] for level, resource in policy.resources.items()}
                kind = next(reversed(names))
                entity = EntityId(kind, tuple(name for level, name in names.items() if level != "instance"))
                assert to_resource(entity, INSTANCE) == names, policy.name
                found[entity] = answer.json()["createTime"] / 1000
    return found


def uri_of(entity: EntityId) -> str:
    """Return CDAP's address of a namespace or dataset."""
    namespace, *dataset = entity.parts
    return "/".join([f"/v3/namespaces/{namespace}", *(f"data/datasets/{name}" for name in dataset)])


def entity_of(uri: str) -> EntityId:
    """Return the namespace or dataset at an address."""
    _, _, _, namespace, *rest = uri.split("/")
    return EntityId("dataset", (namespace, rest[-1])) if rest else EntityId("namespace", (namespace,))
