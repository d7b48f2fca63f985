"""Profiles: their rows are well-formed, unlisted types follow the core policies, disagreements are settled by name."""

import pytest

import servicedef
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import (
    ACTIONS,
    ANY,
    VISIBLE,
    Operation,
    Privilege,
    load_profile,
    parse_privilege,
    profile_names,
)
from ranger_cdap.errors import ConfigError, UnknownEntityType, UnknownOperation
from tests.servicedef.definition_facts import access_types

PROFILES = pytest.mark.parametrize("profile", profile_names())


def all_rows(profile: str) -> list[Operation]:
    table = load_profile(profile)
    return [*table.rows.values(), *table.core.values()]


def needs(profile: str, operation: str) -> list[list[str]]:
    """What a row asks, as it is written."""
    row = load_profile(profile).operation(operation)
    return [[str(privilege) for privilege in alternative] for alternative in row.alternatives]


def test_there_is_a_profile_for_each_document_and_a_default() -> None:
    assert profile_names() == ("default", "000", "001", "001-prose", "002", "003", "004", "cdap-6")


@PROFILES
def test_rows_are_well_formed(profile: str) -> None:
    known_actions = set(access_types(servicedef.service_definition()))

    for row in all_rows(profile):
        above = () if row.entity == "entity" else entity_type(row.entity).path
        assert row.requirements, row.name
        assert row.alternatives, row.name
        assert {action.lower() for action in row.gives} <= known_actions, row.name
        assert all(t.type == ROLES[role] for role, templates in row.names.items() for t in templates), row.name
        for privilege in (p for alternative in row.alternatives for p in alternative):
            assert {action.lower() for action in privilege.actions} <= {*known_actions, "visible"}, row.name
            assert privilege.target in {"entity", "parent", *above, *ROLES}, row.name


@PROFILES
def test_a_list_asks_each_entity_or_only_what_is_above_it(profile: str) -> None:
    for row in all_rows(profile):
        targets = {privilege.target for alternative in row.alternatives for privilege in alternative}
        assert bool(row.lists) is (row.name.rpartition(".")[2] == "list"), row.name
        if row.lists == "each":
            # In 004 an artifact is seen with any privilege: CDAP asks that of whoever deploys from it.
            any_privilege = [["READ|WRITE|ADMIN|EXECUTE entity"]] * (
                row.name == "artifact.list" and profile in ("default", "004")
            )
            asked = [list(map(str, alternative)) for alternative in row.alternatives]
            if any(requirement.startswith("S005") for requirement in row.requirements):
                assert asked in ([["READ|WRITE|ADMIN|EXECUTE entity"]], [["VISIBLE entity"]]), row.name
            else:
                assert asked == [["READ|WRITE|ADMIN entity"], *any_privilege], row.name
        if row.lists == "parent":
            assert "entity" not in targets, row.name


@PROFILES
def test_details_need_read_and_an_option_adds_write_and_admin_on_the_entity_alone(profile: str) -> None:
    seen = 0
    for row in all_rows(profile):
        widened = Options(view_details=True).applied_to(row)
        if row.shows != "details":
            assert widened == row
            continue
        seen += 1
        assert Privilege(("READ",), "entity") in row.alternatives[0]
        assert Privilege(("READ", "WRITE", "ADMIN"), "entity") in widened.alternatives[0]
        assert [p for p in widened.alternatives[0] if p.target != "entity"] == [
            p for p in row.alternatives[0] if p.target != "entity"
        ]
    assert seen > 10


# What the documents disagree about, and how it is settled: id, profile, operation, what is asked.
DISAGREEMENTS = [
    ("D1", "default", "namespace.create", [["WRITE instance"], ["ADMIN entity"]]),
    ("D1", "001", "namespace.create", [["ADMIN instance"]]),
    ("D1", "001-prose", "namespace.create", [["WRITE instance"]]),
    ("D1", "004", "namespace.create", [["ADMIN entity"]]),
    ("D2", "default", "namespace.update", [["ADMIN entity"]]),
    ("D2", "default", "namespace.delete", [["ADMIN entity"]]),
    ("D2", "001-prose", "namespace.delete", [["WRITE instance"]]),
    ("D4", "default", "dataset.list", [["READ|WRITE|ADMIN entity"]]),
    ("D4", "000", "dataset.list", [["READ namespace"]]),
    ("D4", "001", "stream_view.list", [["READ namespace", "READ stream"]]),
    ("D4", "002", "topic.list", [["READ|WRITE|ADMIN parent"]]),
    ("D5", "default", "namespace.list", [["READ|WRITE|ADMIN entity"]]),
    ("D5", "000", "namespace.list", [["READ instance"]]),
    ("D6", "default", "program.list", [["READ|WRITE|ADMIN entity"]]),
    ("D6", "000", "program.list", [["READ application"]]),
    ("D6", "001", "program.list", [["READ namespace"]]),
    ("D7", "003", "dataset.get", [["READ entity"]]),
    ("D7", "003", "namespace.get", [["READ entity"]]),
    ("D7", "003", "stream.get", [["READ entity", "READ namespace"]]),
    ("D7", "003", "secure_key.get", [["READ entity", "READ parent"]]),
    ("D7", "002", "dataset.get", [["READ entity"]]),
    ("D9", "003", "program.start", [["EXECUTE entity", "READ namespace"]]),
    ("D9", "002", "program.start", [["EXECUTE entity"]]),
    ("D9", "001-prose", "program.start", [["READ namespace", "READ application", "EXECUTE entity"]]),
    ("D10", "default", "program.set_runtime_args", [["ADMIN entity"]]),
    ("D10", "001", "program.set_runtime_args", [["EXECUTE entity"]]),
    ("D11", "default", "program.set_preference", [["WRITE entity"]]),
    ("D11", "default", "stream.set_preferences", [["WRITE entity"]]),
    ("D11", "001", "stream.set_preferences", [["ADMIN entity"]]),
    ("D12", "default", "program.get_runtime_args", [["READ entity"]]),
    ("D12", "000", "program.get_status", [["READ entity"]]),
    ("D13", "default", "program.emit_logs", [["WRITE namespace"]]),
    ("D13", "001", "stream.emit_metrics", [["WRITE entity"]]),
    ("D14", "default", "namespace.search", [["READ entity"]]),
    ("D15", "003", "application.deploy", [["WRITE namespace", "READ artifact if given"]]),
    ("D15", "002", "application.deploy", [["WRITE namespace"]]),
    ("D16", "default", "stream.enqueue", [["WRITE entity", "READ namespace"]]),
    ("D16", "001", "stream.read_events", [["READ entity"]]),
    ("D17", "default", "dataset.exists", [["READ entity"]]),
    ("D17", "001", "dataset.exists", [["ADMIN entity"]]),
    ("D21", "default", "artifact.refresh", [["WRITE instance"]]),
    ("D22", "default", "dataset.create", [["WRITE namespace"], ["ADMIN entity"]]),
    ("D22", "003", "dataset.create", [["WRITE namespace"]]),
    ("D22", "004", "dataset.create", [["ADMIN entity"]]),
]


@pytest.mark.parametrize(("_", "profile", "operation", "asked"), DISAGREEMENTS)
def test_disagreements_are_settled_by_profile(_: str, profile: str, operation: str, asked: list[list[str]]) -> None:
    assert needs(profile, operation) == asked


def test_every_disagreement_is_settled_here_or_elsewhere() -> None:
    elsewhere = {"D3": "what creating gives", "D8": "options", "D18": "options", "D19": "entities", "D20": "setup"}

    assert {case[0] for case in DISAGREEMENTS} | set(elsewhere) == {f"D{number}" for number in range(1, 23)}


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        ("secure_key.create", [["WRITE parent"], ["ADMIN entity"]]),
        ("profile.get", [["READ entity", "READ parent"]]),
        ("schedule.delete", [["ADMIN entity"]]),
        ("topic.delete_all", [["ADMIN entity"]]),
        ("topic.list", [["READ|WRITE|ADMIN entity"]]),
        ("stream_view.create", [["WRITE namespace", "ADMIN stream"], ["ADMIN entity"]]),
        ("dataset_type.get", [["READ entity", "READ namespace"], ["ADMIN entity"]]),
        ("system_service.restart", [["EXECUTE entity"]]),
        ("system_service.set_instances", [["ADMIN entity"]]),
        ("principal.set_owner", [["ADMIN entity"]]),
    ],
)
def test_what_document_003_does_not_list(operation: str, asked: list[list[str]]) -> None:
    assert needs("default", operation) == asked


# A type without a row, in each document: the core policies that the document has, or those of its sister page.
@PROFILES
@pytest.mark.parametrize("verb", ["create", "delete", "delete_all", "list", "get", "update", "add_metadata"])
def test_unlisted_types_follow_the_core_policies(profile: str, verb: str) -> None:
    table = load_profile(profile)
    row = table.operation(f"topic.{verb}")

    assert (row.name, row.entity) == (f"topic.{verb}", "topic")
    assert row.alternatives == table.core[verb].alternatives
    assert all("-CORE-" in requirement or requirement == "S004-R4" for requirement in row.requirements)


# Document 000, 002, 003 give ALL, 001 gives ADMIN, 004 and 005 nothing.
@pytest.mark.parametrize(
    ("profile", "given"),
    [
        ("default", ("read", "write", "admin", "execute")),
        ("000", ("read", "write", "admin", "execute")),
        ("001", ("admin",)),
        ("001-prose", ("admin",)),
        ("002", ("read", "write", "admin", "execute")),
        ("003", ("read", "write", "admin", "execute")),
        ("004", ()),
        ("cdap-6", ()),
    ],
)
def test_the_creator_of_anything_below_the_instance_gets_what_the_document_gives(
    profile: str, given: tuple[str, ...]
) -> None:
    table = load_profile(profile)

    for kind in entity_types():
        assert table.resultant(kind) == (() if kind == "instance" else given)


def test_in_document_004_nothing_is_made_by_a_privilege_on_a_parent() -> None:
    before, table = load_profile("default"), load_profile("004")
    making = [name for name, row in before.rows.items() if row.gives]

    assert set(making) > {"namespace.create", "artifact.add", "application.deploy", "stream.create", "dataset.create"}
    assert not [row.name for row in (*table.rows.values(), *table.core.values()) if row.gives]
    for row in (*(table.operation(name) for name in making), table.core["create"]):
        for alternative in row.alternatives:
            assert alternative[0] == Privilege(("ADMIN",), "entity")
            assert all(privilege.target in {"entity", *ROLES} for privilege in alternative), row.name


@pytest.mark.parametrize(
    ("operation", "error", "message"),
    [
        ("dataset.truncat", UnknownOperation, "did you mean `dataset.truncate`"),
        ("topic.delet", UnknownOperation, "did you mean `topic.delete`"),
        ("dataset", UnknownOperation, "no operation `dataset`"),
        ("", UnknownOperation, "no operation"),
        ("datset.get", UnknownEntityType, "did you mean `dataset`"),
        ("instance.create", UnknownOperation, "no operation `instance.create`"),
        ("instance.updat", UnknownOperation, "did you mean `instance.update`"),
        ("instance.delete", UnknownOperation, "no operation `instance.delete`"),
        ("entity.see", UnknownEntityType, "no entity type `entity`"),
        ("application.creat", UnknownOperation, "did you mean `application.create`"),
    ],
)
def test_an_unknown_operation_names_the_nearest(operation: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        load_profile("default").operation(operation)


@pytest.mark.parametrize(
    "text",
    [
        "READ entity",
        "READ|WRITE|ADMIN|EXECUTE artifact if given",
        "ANY entity",
        "VISIBLE namespace",
        "ADMIN datasets by effective if given and impersonated",
        "WRITE namespace by effective if impersonated",
        "READ local_datasets by executing",
        "READ dataset by master",
    ],
)
def test_a_privilege_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_privilege(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "READ",
        "FLY dataset",
        "READ planet",
        "read dataset",
        "READ| dataset",
        f"READ|{ANY} dataset",
        f"{VISIBLE}|{ACTIONS[0]} dataset",
        "READ dataset if given",
        "READ artifact if",
        "READ artifact if rainy",
        "READ artifact if given and",
        "READ artifact by",
        "READ artifact by somebody",
        "READ artifact by effective master",
    ],
)
def test_a_text_that_is_no_privilege_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a privilege"):
        parse_privilege(text)


@pytest.mark.parametrize("name", ["../default", "", "005", "Default"])
def test_an_unknown_profile_is_named_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match="known are default, 000, 001, 001-prose, 002, 003, 004"):
        load_profile(name)
