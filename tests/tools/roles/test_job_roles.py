"""Which role and policies a job gets: names, resources and members, and what is refused before Ranger is asked."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.entity import parse_entity, to_resource
from ranger_cdap.cdap.presets import load_preset, preset_names, preset_profiles
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.role_members import RoleMembers
from ranger_cdap.ranger.setup.setup_policies import EVERY_NAME
from ranger_cdap.tools.roles.job_roles import job_role, role_name
from ranger_cdap.tools.roles.role_plan import WantedRole

NAMES = [
    ("developer", "sales", "cdap", "sales_developer"),
    ("pipeline-runner", "sales", "cdap", "sales_pipeline_runner"),
    ("viewer", "sales", "dev", "dev_sales_viewer"),
]


def job(
    preset: str = "developer",
    namespace: str = "sales",
    *,
    service: str = "s",
    instance: str = "cdap",
    profile: str = "default",
    members: RoleMembers = RoleMembers(),  # noqa: B008 a frozen value
) -> WantedRole:
    found = load_preset(preset, profile)
    return job_role(found, namespace, service=service, instance=instance, members=members)


@pytest.mark.parametrize(("preset", "namespace", "instance", "name"), NAMES)
def test_a_role_is_named_after_namespace_and_job(preset: str, namespace: str, instance: str, name: str) -> None:
    assert role_name(preset, namespace, instance) == name


def test_two_jobs_differ_in_their_description_wherever_their_names_meet() -> None:
    jobs = [
        job(),
        job("viewer"),
        job(service="t"),
        job(instance="dev"),
        job(namespace="sales2"),
        job(namespace="b_c", instance="a"),
        job(namespace="c", instance="a_b"),
    ]
    assert jobs[5].name == jobs[6].name
    for one in jobs:
        assert [other for other in jobs if other.made_for.startswith(one.made_for)] == [one]


@pytest.mark.parametrize("profile", preset_profiles())
@pytest.mark.parametrize("preset", preset_names())
def test_no_policy_reaches_above_its_level(preset: str, profile: str) -> None:
    for one in job(preset, profile=profile).rights:
        levels = dict(one.resource)
        assert levels["namespace"] in ("sales", "system")
        assert set(levels.values()) - {"cdap", "sales", "system", "pipeline", "dataprep"} <= {EVERY_NAME}
        assert one.accesses


def test_each_policy_has_a_name_and_a_resource_of_its_own() -> None:
    for preset in preset_names():
        rights = [*job(preset).rights, *job(preset, "hr").rights]
        of_namespaces = [one for one in rights if one.resource["namespace"] != "system"]
        assert len({one.policy_name for one in of_namespaces}) == len(of_namespaces)
        shared = {one.policy_name: dict(one.resource) for one in rights}
        assert all(shared[one.policy_name] == one.resource for one in rights)


def test_the_levels_are_those_of_the_service_definition() -> None:
    levels = {tuple(one.resource) for one in job("administrator").rights}
    known = ("namespace:n", "application:n.a", "program:n.a.worker.w", "dataset:n.d", "secure_key:n.k", "profile:n.p")
    assert {tuple(to_resource(parse_entity(one), "cdap")) for one in known} <= levels


REFUSED = [
    ("a namespace that CDAP would refuse", {"namespace": "sa-les"}, "namespace"),
    ("a wildcard", {"namespace": "*"}, "namespace"),
    ("nothing", {"namespace": ""}, "namespace"),
    ("two levels", {"namespace": "a.b"}, "namespace"),
    ("CDAP's own namespace", {"namespace": "system"}, "CDAP's own"),
    ("everyone", {"members": RoleMembers(groups=("public",))}, "everyone"),
    ("a macro as user", {"members": RoleMembers(users=("{USER}",))}, "does not identify a single user"),
    ("a user with a control character", {"members": RoleMembers(users=("a\x1b[2J",))}, "Ranger may interpret"),
    ("a profile without presets", {"profile": "001"}, "`cdap.profile` is `001`"),
]


@pytest.mark.parametrize(("given", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_refused_before_ranger_is_asked(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        job(**given)  # type: ignore[arg-type]
