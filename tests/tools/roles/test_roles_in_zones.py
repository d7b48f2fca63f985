"""Roles and security zones: after a plan, the engine decides for a member what the role says in any layout."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.entity import parse_entity, to_resource
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger.changes.role_members import RoleMembers
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.tools.roles.role_plan import RoleRights, WantedRole, plan, removal
from tests.ranger.changes.value_ranger import Json, ValueRanger

SALES = {"instance": "cdap", "namespace": "sales"}
EVERY = {kind: {**SALES, kind: "?*"} for kind in ("dataset", "application")}
PLACES = {"namespace": SALES, **EVERY, "program": {**EVERY["application"], "program": "?*"}}
ENTITIES = (
    "namespace:sales",
    "namespace:hr",
    "dataset:sales.kv",
    "dataset:sales.day",
    "dataset:hr.kv",
    "application:sales.shop",
    "program:sales.shop.workflow.W",
)
ACCESSES = ("read", "write")


def role(given_in: dict[str, frozenset[str]]) -> WantedRole:
    rights = tuple(RoleRights(f"roles: {kind}", PLACES[kind], accesses) for kind, accesses in given_in.items())
    return WantedRole("sales_job", "Made here.", RoleMembers(groups=("clerks",)), rights)


def allowed(ranger: ValueRanger, layout: dict[str, list[Json]]) -> set[tuple[str, str]]:
    """What a member of the role may do, by the engine, with the policies where Ranger sends them."""
    zones = {
        name: {
            "zoneName": name,
            "resources": resources,
            "policies": [one for one in ranger.policies if one.get("zoneName") == name],
        }
        for name, resources in layout.items()
    }
    outside = [one for one in ranger.policies if not one.get("zoneName")]
    definition = servicedef.service_definition()
    document = {"serviceName": "s", "policyVersion": 1, "serviceDef": definition, "policies": outside}
    roles = {"rangerRoles": [{"name": "sales_job", "groups": [{"name": "clerks"}]}]}
    engine = PolicyEngine.build(
        decode_service_policies(msgspec.json.encode({**document, "securityZones": zones})),
        roles=decode_roles(msgspec.json.encode(roles)),
    )
    return {
        (entity, access)
        for entity in ENTITIES
        for access in ACCESSES
        if engine.evaluate(
            AccessRequest(to_resource(parse_entity(entity), "cdap"), access, "ann", frozenset({"clerks"}))
        ).allowed
    }


def in_zones(ranger: ValueRanger, layout: dict[str, list[Json]]) -> ValueRanger:
    ranger.zones = {name: SecurityZoneInfo(zone_name=name, resources=resources) for name, resources in layout.items()}
    return ranger


names = st.lists(st.sampled_from(["sales", "hr", "s*", "*", "kv", "k*", "shop", "day"]), min_size=1, max_size=2)
paths = st.sampled_from(
    [
        ("instance", "namespace"),
        ("instance", "namespace", "dataset"),
        ("instance", "namespace", "application"),
        ("instance", "namespace", "application", "program"),
    ]
)
resources = paths.flatmap(
    lambda path: st.fixed_dictionaries({"instance": st.just(["cdap"])} | dict.fromkeys(path[1:], names))
)
layouts = st.dictionaries(st.sampled_from(["finance", "lab"]), st.lists(resources, min_size=1, max_size=2))
jobs = st.dictionaries(
    st.sampled_from(sorted(PLACES)), st.frozensets(st.sampled_from(ACCESSES), min_size=1), min_size=1
)


@given(jobs, layouts, layouts)
def test_after_a_plan_the_engine_decides_what_the_role_says_in_any_layout(
    job: dict[str, frozenset[str]], before: dict[str, list[Any]], now: dict[str, list[Any]]
) -> None:
    ranger = in_zones(ValueRanger(), before)
    ranger.carry_out(plan([role(job)], ranger.found))
    expected = allowed(in_zones(ValueRanger(ranger.roles, _unzoned(job)), {}), {})
    assert allowed(ranger, before) == expected

    ranger = in_zones(ranger, now)  # the zones changed; one that is gone takes its policies along
    ranger.policies = [one for one in ranger.policies if not one.get("zoneName") or one["zoneName"] in now]
    ranger.carry_out(plan([role(job)], ranger.found))
    assert allowed(ranger, now) == expected
    assert not [step for step in plan([role(job)], ranger.found) if step.change is not StepChange.KEEP]

    ranger.carry_out(removal([role(job)], ranger.found))
    assert (ranger.policies, allowed(ranger, now)) == ([], set())


def _unzoned(job: dict[str, frozenset[str]]) -> list[Json]:
    alone = ValueRanger()
    alone.carry_out(plan([role(job)], alone.found))
    return alone.policies


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ({}, ["create policy `roles: dataset`: give read to role sales_job"]),
        (
            {"finance": [{"instance": ["cdap"], "namespace": ["s*"]}]},
            ["create policy `roles: dataset` in zone `finance`: give read to role sales_job"],
        ),
        (
            {"finance": [{"instance": ["cdap"], "namespace": ["sales"], "dataset": ["kv"]}]},
            [
                f"create policy `roles: dataset`{zone}: give read to role sales_job; "
                "part of the resource is in security zone `finance`, with a policy of its own"
                for zone in ("", " in zone `finance`")
            ],
        ),
    ],
)
def test_the_plan_names_the_zone_and_what_is_only_partly_in_one(
    layout: dict[str, list[Json]], expected: list[str]
) -> None:
    found = in_zones(ValueRanger(), layout).found
    steps = plan([role({"dataset": frozenset({"read"})})], found)
    assert [str(step) for step in steps if step.kind == "policy"] == expected
