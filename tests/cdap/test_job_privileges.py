"""Privileges of a job: enough for every recorded check of its user, by the engine, and no additional one is spare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ranger_cdap.cdap.additional_privileges import weakest
from ranger_cdap.cdap.answer import compose, visibility
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.recorded_paths import RecordedCheck, recorded_paths
from ranger_cdap.cdap.entity import EntityId, entity_type, entity_types, parse_entity
from ranger_cdap.cdap.presets import Preset, load_preset, preset_names, preset_profiles
from ranger_cdap.cdap.profile import ANY, VISIBLE
from ranger_cdap.cdap.requirements import requirements_of
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidEntity, UnknownOperation
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.tools.policies.needed_policies import needed_policies
from tests.cdap.checks.test_replay import CHECKS, PROFILES
from tests.cdap.fixtures import Policies
from tests.cdap.job_privileges import JobNeed, JobOperation, JobPrivileges, job_privileges, operations_in

# Some entity of each type in the namespace, by its type.
SOME = {
    name: EntityId(name, ("sales", *("workflow.W" if level == "program" else "one" for level in kind.path[2:])))
    for name, kind in entity_types().items()
    if "namespace" in kind.path
}
ROLE_TYPES = {"datasets": "dataset", "modules": "dataset_module", "types": "dataset_type", "programs": "program"}
ROLE_TYPES |= {"artifact": "artifact", "jar": "artifact", "artifacts": "artifact", "keys": "secure_key"}
JOBS = [(preset, profile) for preset in preset_names() for profile in preset_profiles()]


def operations_of(preset: str, profile: str) -> list[JobOperation]:
    return list(operations_in(load_preset(preset, profile), "sales"))


def policies_of(needs: list[JobNeed]) -> Policies:
    rights = [("ann", weakest(one.actions).lower(), one.entity) for one in needs]
    documents = [one.document() for one in needed_policies(rights, "cdap")]
    download = PolicyCollection.of_document({"policies": documents}).download("cdapdev")
    return Policies(PolicyEngine.build(decode_service_policies(download)))


def checks_of(operations: list[JobOperation]) -> Iterator[tuple[RecordedCheck, EntityId]]:
    """The checks of the user that CDAP makes in these operations, on some entities of the namespace."""
    for one in operations:
        name, namespace, kind = one.operation, one.namespace, one.operation.partition(".")[0]
        entity = EntityId(kind, (namespace, *([one.name] if one.name else SOME[kind].parts[1:])))
        for check in (check for path in recorded_paths(name) for check in path.checks if check.by == "requesting"):
            if check.on in ROLE_TYPES:
                some = SOME[ROLE_TYPES[check.on]]
                yield check, EntityId(some.type, (namespace, *some.parts[1:]))
            elif check.on == "entity" or ":" in check.on:
                yield check, entity if check.on == "entity" else parse_entity(check.on)
            elif above := entity.ancestor(check.on):
                yield check, above


def failing(
    needs: list[JobNeed], operations: list[JobOperation], profile: str, empty: tuple[str, ...] = ()
) -> set[str]:
    """The checks that do not pass, besides those of what is in a list that is empty for the job."""
    ask, table, found = policies_of(needs), CHECKS[profile], set()
    of_empty = [one for one in operations if one.operation in empty]
    listed = {(check, on) for check, on in checks_of(of_empty) if check.visible}
    for check, on in ((check, on) for check, on in checks_of(operations) if (check, on) not in listed):
        if check.visible:
            passed = visibility(table.list_row(on.type), on, "ann", ask).visible
        else:
            asks = CdapCheck(entity_type(on.type).cdap_names[0], on.parts, check.permissions, check.child, check.hint)
            rows = table.resolve(asks).operations
            passed = all(compose(one.operation, one.entity, "ann", ask).allowed for one in rows)
        if not passed:
            found.add(f"{check} on {on}")
    return found


@pytest.mark.parametrize(("preset", "profile"), JOBS)
def test_a_user_with_the_privileges_of_a_job_passes_every_check_of_its_operations(preset: str, profile: str) -> None:
    operations = operations_of(preset, profile)
    found = job_privileges(PROFILES[profile], operations)
    held = [*found.needs, *found.more]

    assert failing(held, operations, profile, found.empty_lists) == set()
    for one in found.more:
        assert failing([other for other in held if other is not one], operations, profile, found.empty_lists), one
        assert one.asked
        assert set(one.operations) <= {one.operation for one in operations}
    needing = {name for one in found.needs for name in one.operations}
    assert needing | set(found.empty_lists) == {one.operation for one in operations}
    assert found.not_recorded == tuple(
        dict.fromkeys(one.operation for one in operations if not recorded_paths(one.operation))
    )


@pytest.mark.parametrize(("preset", "profile"), JOBS)
def test_a_job_reaches_only_its_namespace_and_that_of_cdap(preset: str, profile: str) -> None:
    found = job_privileges(PROFILES[profile], operations_of(preset, profile))
    for one in (*found.needs, *found.more):
        assert one.entity.parts[0] in ("sales", "system")
        assert set(one.entity.parts[1:]) <= {"*"} or str(one.entity) == "application:system.dataprep"


@pytest.mark.parametrize(("preset", "profile"), JOBS)
def test_each_need_names_the_requirements_of_its_operations(preset: str, profile: str) -> None:
    """The ids are those of the rows that need it, and no id of a row is lost."""
    operations, rows = operations_of(preset, profile), PROFILES[profile]
    found = job_privileges(rows, operations)
    for one in found.needs:
        assert set(one.requirements) <= {name for row in one.operations for name in rows.operation(row).requirements}
        assert one.requirements or not any(rows.operation(row).requirements for row in one.operations)
    named = {name for one in found.needs for name in one.requirements}
    for name in (one.operation for one in operations):
        row = rows.operation(name)
        asking = [{*requirements_of(row, one, "requesting")} for each in row.alternatives for one in each]
        assert not asking or name in found.empty_lists or any(ids <= named for ids in asking), name


def lacking(preset: Preset, profile: str) -> list[JobNeed]:
    """The privileges that the job needs and the preset does not give."""
    found = job_privileges(PROFILES[profile], operations_of(preset.name, profile))
    return [one for one in (*found.needs, *found.more) if not gives(preset, one)]


def gives(preset: Preset, need: JobNeed) -> bool:
    below = need.actions == (VISIBLE,)
    held = {
        access.upper()
        for right in preset.rights
        if right.is_system == (need.entity.parts[0] == "system")
        and right.name in ("", need.entity.parts[-1])
        and (right.type == need.entity.type or (below and need.entity.type in entity_type(right.type).path))
        for access in right.accesses
    }
    return bool(held & set(need.actions) or (held and need.actions in ((ANY,), (VISIBLE,))))


@pytest.mark.parametrize(("preset", "profile"), JOBS)
def test_the_role_of_a_job_has_all_that_its_operations_need(preset: str, profile: str) -> None:
    """`roles apply` makes the preset's role, which gives each privilege that the operations and CDAP need."""
    assert lacking(load_preset(preset, profile), profile) == []


def of(*operations: str) -> JobPrivileges:
    return job_privileges(PROFILES["default"], [JobOperation(name, "ns1") for name in operations])


def test_what_another_operation_of_the_job_needs_anyway_is_not_additional() -> None:
    (more,) = of("dataset.truncate").more
    assert (more.actions, str(more.entity), more.operations) == (("READ",), "dataset:ns1.*", ("dataset.truncate",))
    assert of("dataset.truncate", "dataset.get").more == ()


def test_a_privilege_that_serves_for_another_takes_its_place() -> None:
    artifacts = [one for one in of("artifact.list", "artifact.get").needs if one.entity.type == "artifact"]
    assert [(one.actions, one.operations) for one in artifacts] == [(("READ",), ("artifact.list", "artifact.get"))]


def test_entities_that_take_part_are_those_of_the_namespace() -> None:
    assert {f"{'|'.join(one.actions)} {one.entity}" for one in of("application.schedule").more} == {
        "READ program:ns1.*.*",
        "READ application:ns1.*",
    }
    jars = [str(check.check) for one in of("application.deploy").more for check in one.asked]
    assert jars == ["GET"]


def test_operations_that_were_not_recorded_are_named() -> None:
    assert of("namespace.enable_wrangler", "dataset.get").not_recorded == ("namespace.enable_wrangler",)


def test_a_list_is_no_reason_for_a_privilege_on_what_it_lists() -> None:
    assert [of("dataset.list").needs, of("dataset.list").empty_lists] == [(), ("dataset.list",)]
    both = of("dataset.list", "dataset.get")
    assert both.empty_lists == ()
    assert [(one.actions, one.operations) for one in both.needs if one.entity.type == "dataset"] == [
        (("READ",), ("dataset.list", "dataset.get"))
    ]


def test_what_is_no_operation_or_no_namespace_is_refused() -> None:
    with pytest.raises(UnknownOperation):
        of("dataset.gte")
    with pytest.raises(InvalidEntity):
        job_privileges(PROFILES["default"], [JobOperation("dataset.get", "a b")])
