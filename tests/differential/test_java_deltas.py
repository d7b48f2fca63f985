"""Documents with changes in disorder, on an engine that decides in between: as Java, or refused and all is loaded."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from ranger_cdap.engine import AccessRequest, EngineOptions, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import AS_RANGER
from tests.differential.small_documents import DEFINITION, item

pytestmark = pytest.mark.java

Json = dict[str, Any]

SEQUENCES = 150
USERS = ("alice", "bob", "carol")
KINDS = ["create", "update", "delete", "unknown change", "no policy", "no id", "other type", "not about access"]
CHANGE = {"update": 1, "delete": 2, "unknown change": 9}


def drawn_policy(draw: Random, id_: int | None) -> Json:
    """A policy on the one resource; `service`, which no engine reads, may be of any name."""
    items = [item(users=draw.sample(USERS, draw.randint(1, 2)), groups=[]) for _ in range(2)]
    return {
        "id": id_,
        "name": f"policy {draw.randrange(10**6)}",
        "version": draw.choice([1, 2, 7, None]),
        "service": draw.choice(["shop1", "another", "", None]),
        "serviceType": DEFINITION["name"],
        "policyType": 0,
        "isEnabled": draw.random() < 0.9,
        "policyPriority": draw.choice([0, 0, 1]),
        "resources": {"r0": {"values": [draw.choice(["a", "a*", "*"])]}},
        "policyItems": items[: draw.randint(0, 2)],
        "denyPolicyItems": items[:1] if draw.random() < 0.25 else [],
    }


def drawn_delta(draw: Random, seen: Counter[str]) -> Json:
    """A change of one of few policies, which need not exist or may be changed again."""
    kind = draw.choices(KINDS, [30, 30, 30, 1, 1, 1, 2, 2])[0]
    seen[kind] += 1
    policy: Json | None = drawn_policy(draw, None if kind == "no id" else draw.randint(1, 4))
    assert policy is not None
    if kind == "delete":
        policy = {name: policy[name] for name in ("id", "serviceType", "policyType", "version")}
    if kind == "no policy":
        policy = None
    if kind == "other type" and policy is not None:
        policy["serviceType"] = draw.choice(["another", None])
    if kind == "not about access" and policy is not None:
        policy["policyType"] = 1
    version = draw.choice([1, 2, 3, 9])
    return {"id": draw.randrange(9), "changeType": CHANGE.get(kind, 0), "policiesVersion": version, "policy": policy}


def document(version: int, **more: Any) -> Json:
    return {"serviceName": "shop1", "policyVersion": version, "serviceDef": DEFINITION, **more}


def allowed_by_ours(engine: PolicyEngine) -> list[tuple[bool, int]]:
    found = [engine.evaluate(AccessRequest({"r0": "a"}, "read", user)) for user in USERS]
    return [(decision.allowed, decision.policy_id) for decision in found]


def allowed_by_java(java: JavaEngine) -> list[tuple[bool, int]]:
    asked = [{"resource": {"r0": "a"}, "accessType": "read", "user": user} for user in USERS]
    return [(answer["allowed"], answer["policyId"]) for answer in java.evaluate(asked)]


def read(document: Json) -> Any:
    return decode_service_policies(msgspec.json.encode(document))


def compare(seed: int, options: EngineOptions, java: JavaEngine, seen: Counter[str]) -> str:
    """One sequence; the difference, if there is one. It ends with the first document that ours refuses."""
    draw = Random(seed)
    ids = draw.sample(range(1, 5), draw.randint(1, 4))
    ids += draw.choices(ids, k=draw.random() < 0.2)
    whole = document(5, policies=[drawn_policy(draw, id_) for id_ in ids])
    java.load({"policies": whole})
    engine, history = PolicyEngine.build(read(whole), options=options), [whole]
    for _ in range(draw.randint(1, 4)):
        deltas = [drawn_delta(draw, seen) for _ in range(draw.randint(1, 6))]
        history.append(document(draw.choice([1, 4, 5, 6, 9]), policyDeltas=deltas))
        try:
            engine = engine.with_deltas(read(history[-1]))
        except PolicySetError:
            seen["refused"] += 1
            break
        seen["applied"] += 1
        java.apply_deltas(history[-1])
        ours, theirs = allowed_by_ours(engine), allowed_by_java(java)
        seen["allowed"] += sum(allowed for allowed, _ in ours)
        if ours != theirs:
            return f"seed {seed}: {ours} but {theirs}: {history}"
    return ""


@pytest.mark.parametrize("options", [EngineOptions(), AS_RANGER], ids=["safe", "ranger"])
def test_changes_in_disorder_are_decided_as_java_decides_or_refused(java: JavaEngine, options: EngineOptions) -> None:
    seen = Counter[str]()
    found = [difference for seed in range(SEQUENCES) if (difference := compare(seed, options, java, seen))]
    assert not found, (len(found), found[:2])
    assert min(seen["applied"], seen["allowed"]) > SEQUENCES
    assert set(seen) == {*KINDS, "applied", "allowed", "refused"}
