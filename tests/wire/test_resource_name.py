"""Ranger's names of resources: written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.service_def import ResourceDef, ServiceDef
from ranger_cdap.wire.resource_name import NameTemplate, parse_resource, parse_sub_resource
from tests.service.record_services import records

TABLE = NameTemplate(("database", "table", "column"))

READ = [
    ("db/t/c", "db", "t", "c"),
    ("db/t/c/d/e", "db", "t", "c/d/e"),
    (r"d\/b/t/c", "d/b", "t", "c"),
    (r"d\\b/t/c", "d\\b", "t", "c"),
    (r"d\b/t/c", "db", "t", "c"),  # a lone backslash is lost
    (r"db/t/c\d", "db", "t", "cd"),
    (r"db/t/c\\d", "db", "t", r"c\d"),
    ("db/t/c\\", "db", "t", "c"),
    (r"db\\/t/c", "db\\", "t", "c"),
    ("//", "", "", ""),
    (" /t/c", " ", "t", "c"),
]


@pytest.mark.parametrize(("text", "database", "table", "column"), READ)
def test_what_a_name_stands_for(text: str, database: str, table: str, column: str) -> None:
    assert TABLE.parse(text) == {"database": database, "table": table, "column": column}


@pytest.mark.parametrize("text", ["db", "db/t", r"db\/t/c", r"db/t\/c"])
def test_a_name_with_too_few_values_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        TABLE.parse(text)
    assert str(refused.value) == (
        f'AUTHZ-400-00-017: invalid resource "{text}" - does not match template "database/table/column"'
    )


@pytest.mark.parametrize("text", ["", " ", "\t\n"])
def test_a_blank_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="AUTHZ-400-00-016: invalid resource - empty"):
        TABLE.parse(text)


VALUE = st.text(st.sampled_from("ab/\\:. "), max_size=6)


@given(st.tuples(VALUE, VALUE, VALUE), st.sampled_from("/:."))
def test_every_resource_is_read_back_from_its_name(values: tuple[str, str, str], separator: str) -> None:
    template = NameTemplate(TABLE.levels, separator)
    resource = dict(zip(TABLE.levels, values, strict=True))
    assert template.parse(template.format(resource)) == resource


@given(st.tuples(VALUE, VALUE, VALUE))
def test_a_name_as_ranger_writes_it_loses_backslashes_and_nothing_else(values: tuple[str, str, str]) -> None:
    plain = [value.replace("\\", "") for value in values]
    database, table, column = plain
    written = "/".join([database.replace("/", r"\/"), table.replace("/", r"\/"), column])
    assert list(TABLE.parse(written).values()) == plain


@given(st.text(st.sampled_from("abc/"), min_size=1, max_size=8), st.integers(0, 8))
def test_a_backslash_before_what_needs_none_is_lost(name: str, place: int) -> None:
    value = name[:place] + "\\" + name[place:]
    assert NameTemplate(("path",)).parse(value) == {"path": name}


def test_templates_are_those_of_the_definition() -> None:
    definition = ServiceDef(
        name="store",
        options={"rrnResourceSepChar": "|x"},
        resources=[ResourceDef(name="key", parent="bucket"), ResourceDef(name="bucket")],
    )
    assert str(NameTemplate.of(definition, "key")) == "bucket|key"
    assert parse_resource(definition, "key:b|k:/1|2") == {"bucket": "b", "key": "k:/1|2"}
    with pytest.raises(InvalidInput, match="AUTHZ-400-00-009: tree: resource type not found"):
        parse_resource(definition, "tree:oak")


def test_cdaps_resources_have_names() -> None:
    definition = ServiceDef(
        name="cdap",
        resources=[
            ResourceDef(name=resource["name"], parent=resource["parent"] or "")
            for resource in servicedef.service_definition()["resources"]
        ],
    )
    name = "program:cdap/default/app1/workflow.W"
    assert list(parse_resource(definition, name).values()) == ["cdap", "default", "app1", "workflow.W"]


def test_a_sub_resource_lies_directly_below_and_its_value_is_taken_as_it_is() -> None:
    definition = records().service_def
    assert parse_sub_resource(definition, {"record": "r"}, r"field:a\/b:c") == {"record": "r", "field": r"a\/b:c"}


@pytest.mark.parametrize("name", ["record:other", "field:", "field", "field: ", "", "colour:red"])
def test_nothing_else_is_a_sub_resource(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"AUTHZ-400-00-0(09|10): "):
        parse_sub_resource(records().service_def, {"record": "r"}, name)
