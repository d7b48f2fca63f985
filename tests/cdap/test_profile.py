"""The default profile, held against the service definition, the entity types and the acceptance ids."""

from pathlib import Path

import pytest

import servicedef
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.profile import Privilege, load_profile, parse_privilege
from ranger_cdap.errors import ConfigError, UnknownEntityType, UnknownOperation

ACCEPTANCE = (Path(__file__).parents[1] / "data" / "acceptance-003.txt").read_text().split()


def test_every_acceptance_id_of_document_003_has_a_row() -> None:
    profile = load_profile("default")
    covered = {
        requirement for row in (*profile.rows.values(), *profile.core.values()) for requirement in row.requirements
    }

    assert covered == set(ACCEPTANCE)


def test_every_action_is_an_access_type_of_the_definition() -> None:
    profile = load_profile("default")
    known = set(servicedef.access_types(servicedef.service_definition()))

    for row in (*profile.rows.values(), *profile.core.values()):
        for alternative in row.alternatives:
            for privilege in alternative:
                assert {action.lower() for action in privilege.actions} <= known
        assert {action.lower() for action in row.gives} <= known


def test_every_target_is_the_entity_a_level_above_it_or_a_related_entity() -> None:
    for row in load_profile("default").rows.values():
        above = entity_type(row.entity).path
        for alternative in row.alternatives:
            for privilege in alternative:
                assert privilege.target in {"entity", "parent", *above, *ROLES}, row.name


def test_creating_can_be_allowed_by_the_parent_or_beforehand_on_the_entity() -> None:
    creating = [row for row in load_profile("default").rows.values() if row.gives]

    assert {row.name for row in creating} == {
        "namespace.create",
        "artifact.add",
        "application.deploy",
        "stream.create",
        "dataset.create",
    }
    for row in creating:
        assert Privilege(("ADMIN",), "entity") in {alternative[0] for alternative in row.alternatives[1:]}
        assert row.alternatives[0][0].actions == ("WRITE",)


@pytest.mark.parametrize(
    ("operation", "needed"),
    [
        ("dataset.get", [["READ entity", "READ namespace"]]),
        ("dataset.truncate", [["ADMIN entity"]]),
        ("program.start", [["EXECUTE entity", "READ namespace"]]),
        ("dataset.list", [["READ|WRITE|ADMIN entity"]]),
        ("secure_key.create", [["WRITE parent"], ["ADMIN entity"]]),
        ("profile.get", [["READ entity", "READ parent"]]),
        ("schedule.delete", [["ADMIN entity"]]),
    ],
)
def test_rows_and_core_policies(operation: str, needed: list[list[str]]) -> None:
    row = load_profile("default").operation(operation)

    assert [[str(privilege) for privilege in alternative] for alternative in row.alternatives] == needed


def test_the_creator_of_anything_below_the_instance_gets_the_four_actions_written_out() -> None:
    profile = load_profile("default")

    for kind in entity_types():
        wanted = () if kind == "instance" else ("read", "write", "admin", "execute")
        assert profile.resultant(kind) == wanted


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        ("dataset.truncat", UnknownOperation, "did you mean `dataset.truncate`"),
        ("dataset", UnknownOperation, "no operation `dataset`"),
        ("", UnknownOperation, "no operation"),
        ("datset.get", UnknownEntityType, "did you mean `dataset`"),
        ("instance.get", UnknownOperation, "no operation `instance.get`"),
    ],
)
def test_an_unknown_operation_names_the_nearest(operation: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_profile("default").operation(operation)


@pytest.mark.parametrize("text", ["", "READ", "FLY dataset", "READ dataset if given", "read dataset", "READ| dataset"])
def test_a_text_that_is_no_privilege_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a privilege"):
        parse_privilege(text)


def test_an_unknown_profile_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="known are default"):
        load_profile("../default")
