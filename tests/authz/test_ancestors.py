"""`list_ancestors`: a list also shows what contains an entity that one may see; the engine is the judge of both."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.authz import decider
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.checks.checks import CheckTable
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_types, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.authz.fixtures import Json, authorizer

NAMES = ("kv", "day", "kx", "x", "xx")
"""The names in policies, and those that are put for their wildcards."""
PATHS = {kind.path: kind for kind in entity_types().values() if kind.path[:2] == ("instance", "namespace")}
ANCESTORS = ("namespace:ns1", "namespace:ns2", "application:ns1.kv", "application:ns1.day", "stream:ns1.kv")


def universe() -> list[EntityId]:
    found = []
    for namespace, kind in product(("ns1", "ns2"), PATHS.values()):
        for names in product(NAMES, repeat=max(len(kind.path) - 2, 0)):
            types = ("custom.", "workflow.") if kind.name == "program" else ("",)
            for last in [(f"{one}{name}",) for one in types for name in names[-1:]] or [()]:
                with suppress(InvalidInput):
                    found.append(entity_id(kind.name, (namespace, *names[:-1], *last)))
    return found


UNIVERSE = universe()


def listed(asked: Authorizer, entities: list[EntityId], profile: str = "default") -> list[EntityId]:
    rows = CheckTable(load_profile(profile)).list_row
    found = asked.decider.visibility_of("alice", (), entities, rows)
    return [entity for entity, one in zip(entities, found, strict=True) if one.visible]


def is_below(one: EntityId, other: EntityId) -> bool:
    return one != other and one.parts[: len(other.parts)] == other.parts and other.type in entity_types()[one.type].path


def world(policies: list[Json], zones: dict[str, Any], **rules: Any) -> Authorizer:
    numbered = [{"id": n, "version": 1, "name": str(n), **one} for n, one in enumerate(policies, 1)]
    layout = {
        name: {
            "zoneName": name,
            "resources": [resource],
            "policies": [one for one in numbered if one.get("zoneName") == name],
        }
        for name, resource in zones.items()
    }
    document = {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "serviceDef": servicedef.service_definition(),
        "policies": [one for one in numbered if not one.get("zoneName")],
        "securityZones": layout,
    }
    engine = PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))
    return authorizer(engine, **rules)


def values(level: str) -> st.SearchStrategy[str]:
    if level == "instance":
        return st.just("cdap")
    if level == "namespace":
        return st.sampled_from(["ns1", "ns1", "*", "?*"])
    if level == "program":
        return st.sampled_from(["workflow.kv", "workflow.*", "*"])
    return st.sampled_from(["kv", "kv", "day", "k*", "*", "?*"])


resources = st.sampled_from(sorted(PATHS)).flatmap(
    lambda path: st.fixed_dictionaries({level: values(level) for level in path})
)
accesses = st.lists(st.sampled_from(["read", "write", "admin", "execute"]), min_size=1, max_size=2, unique=True)


@st.composite
def policies(draw: st.DrawFn) -> Json:
    item = {"users": [draw(st.sampled_from(["alice", "alice", "alice", "bob"]))]}
    item |= {"accesses": [{"type": access} for access in draw(accesses)]}
    side = draw(st.sampled_from(["policyItems", "policyItems", "policyItems", "denyPolicyItems"]))
    levels = {level: {"values": [value]} for level, value in draw(resources).items()}
    zone = draw(st.sampled_from(["", "", "finance"]))
    return {"resources": levels, side: [item], "policyPriority": draw(st.sampled_from([0, 0, 1])), "zoneName": zone}


zones = st.dictionaries(
    st.just("finance"),
    st.sampled_from([("namespace",), ("namespace", "dataset"), ("namespace", "application")]).flatmap(
        lambda path: st.fixed_dictionaries({one: values(one).map(lambda value: [value]) for one in ("instance", *path)})
    ),
)


def reading(zone: str = "", **levels: str) -> Json:
    of_ns1 = {"instance": "cdap", "namespace": "ns1", **levels}
    items = [{"users": ["alice"], "accesses": [{"type": "read"}]}]
    found = {level: {"values": [value]} for level, value in of_ns1.items()}
    return {"resources": found, "policyItems": items, "policyPriority": 0, "zoneName": zone}


KV_ALONE = {"finance": {"instance": ["cdap"], "namespace": ["ns1"], "application": ["kv"]}}


@settings(max_examples=150)
@given(
    st.sampled_from(["default", *profile_names()]),
    st.builds(Options, list_by_parent=st.booleans(), visible_only=st.booleans()),
    st.lists(policies(), min_size=1, max_size=5),
    zones,
)
# Programs list the schedules beside them; a zone has one of what a policy names; a row asks for two rights.
@example("001-prose", Options(list_by_parent=True), [reading(application="kv", program="*")], {})
@example("default", Options(), [reading("finance", application="k*")], KV_ALONE)
@example("000", Options(), [reading(application="kv"), reading(application="k*", program="workflow.kv")], {})
def test_an_ancestor_is_listed_exactly_if_an_entity_below_it_is(
    profile: str, options: Options, held: list[Json], zones: dict[str, Any]
) -> None:
    held = [one for one in held if not one["zoneName"] or one["zoneName"] in zones]
    off = world(held, zones, profile=profile, options=options)
    on = world(held, zones, profile=profile, options=replace(options, list_ancestors=True))
    shown = set(listed(off, UNIVERSE, profile))
    for ancestor in map(parse_entity, ANCESTORS):
        below = {one for one in shown if is_below(one, ancestor)}
        assert bool(listed(on, [ancestor], profile)) == (ancestor in shown or bool(below)), below


KV = {"instance": "cdap", "namespace": "ns1", "dataset": "kv"}
READ_KV = {"resources": {level: {"values": [value]} for level, value in KV.items()}}
ALICE = {"policyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}]}
CONTAINING = ["namespace:ns1", "namespace:ns2", "dataset:ns1.kv", "dataset:ns1.other", "application:ns1.kv"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(), ["dataset:ns1.kv"]),
        (Options(list_ancestors=True), ["namespace:ns1", "dataset:ns1.kv"]),
    ],
)
def test_only_the_way_to_what_one_may_see_is_listed_and_nothing_may_be_read(
    options: Options, expected: list[str]
) -> None:
    asked = world([READ_KV | ALICE], {}, options=options)
    entities = [parse_entity(text) for text in CONTAINING]
    assert list(map(str, listed(asked, entities))) == expected
    for operation in ("namespace.get", "namespace.list", "dataset.create"):
        entity = entities[2] if operation == "dataset.create" else entities[0]
        assert not asked.explain("alice", (), operation, entity).allowed


def test_a_condition_below_makes_the_answer_one_of_the_moment() -> None:
    conditions = [{"type": "ip-range", "values": ["10.0.0.1"]}]
    limited = [ALICE["policyItems"][0] | {"conditions": conditions}]
    asked = world([READ_KV | {"policyItems": limited}], {}, options=Options(list_ancestors=True))
    rows = CheckTable(load_profile("default")).list_row
    (found,) = asked.decider.visibility_of("alice", (), [parse_entity("namespace:ns1")], rows)
    assert (found.visible, found.lasting) == (False, False)


def test_without_policies_and_beyond_the_limit_nothing_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    on = Options(list_ancestors=True)
    assert listed(authorizer(None, options=on), [parse_entity("namespace:ns1")]) == []
    monkeypatch.setattr(decider, "MOST_DESCENDANTS", 3)
    assert listed(world([READ_KV | ALICE], {}, options=on), [parse_entity("namespace:ns1")]) == []
