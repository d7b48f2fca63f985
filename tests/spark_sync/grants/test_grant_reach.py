"""What our policies reach, asked of the engine: that user, that entity and, for an application, its programs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.entity import EntityId, entity_types, to_resource
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.engine import ADMIN_ACCESS, AccessRequest, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_service_policies
from spark_sync.grants.plan import CreateGrant, plan
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State
from tests.spark_sync.planning import planning

# Small alphabets, so that entities and users that are nearly equal come often.
GOOD = st.sampled_from(["a", "aa", "A", "a-", "bob"])
NAMES = GOOD | GOOD | GOOD | st.text(st.sampled_from("aA.$*?{},\\ -_"), min_size=1, max_size=3) | st.text(max_size=4)
USERS = GOOD | NAMES | st.sampled_from(["alice", "Alice", "{USER}", "{OWNER}", "public", "root", "\u200ba"])
TYPES = st.sampled_from(sorted(set(entity_types()) - {"instance"}))


@st.composite
def entities(draw: st.DrawFn) -> EntityId:
    kind = draw(TYPES)
    parts = [draw(NAMES) for _ in entity_types()[kind].path[1:]]
    if kind == "program":
        parts[-1] = f"worker.{parts[-1]}"
    return EntityId(kind, tuple(parts))


@cache
def definition() -> object:
    path = Path(servicedef.__file__).with_name("ranger-servicedef-cdap.json")
    return json.loads(path.read_text(encoding="utf-8"))


def engine_with(*policies: object) -> PolicyEngine:
    """An engine that has these policies alone."""
    download = {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "serviceDef": definition(),
        "policies": [json.loads(msgspec.json.encode(policy)) | {"id": n} for n, policy in enumerate(policies, start=1)],
    }
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(download)))


@given(entity=entities(), user=USERS, asked=st.lists(st.tuples(entities(), USERS), max_size=5), access=st.data())
def test_nobody_else_and_nothing_else(
    entity: EntityId, user: str, asked: list[tuple[EntityId, str]], access: st.DataObject
) -> None:
    life = Life(entity, 1, user, Position(1, False, "s", "1"), State.PENDING, accesses=ACCESS_TYPES)
    (step,) = plan([life], planning("cdapdev", "root"))
    engine = engine_with(step.policy) if isinstance(step, CreateGrant) else engine_with()
    assert not engine.problems
    for target, person in [*asked, (entity, user), (entity, "bob")]:
        wanted = access.draw(st.sampled_from([*ACCESS_TYPES, ADMIN_ACCESS]))
        decision = engine.evaluate(
            AccessRequest(
                resource=to_resource(target, "cdap"),
                access_type=wanted,
                user=person,
                groups=frozenset({user, "public"}),
                owner=person,
            )
        )
        inside = target == entity or (
            entity.type == "application" and target.type == "program" and target.is_within(entity)
        )
        mine = isinstance(step, CreateGrant) and person == user and inside and wanted != ADMIN_ACCESS
        assert decision.allowed is mine, (target, person, wanted)
