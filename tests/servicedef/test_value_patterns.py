"""`validationRegEx`: Ranger refuses to save a value that no CDAP entity of the level can have, and no other value."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.entity import PROGRAM_TYPES, entity_type
from ranger_cdap.engine.compiled.compile_level import compile_element
from ranger_cdap.engine.compiled.service_def import compile_service_def
from ranger_cdap.ranger_model.service_def import ServiceDef

DEFINITION = servicedef.service_definition()
MODEL = compile_service_def(msgspec.convert(DEFINITION, ServiceDef))
ROWS = {row["name"]: row for row in DEFINITION["resources"]}
LEVELS = sorted(ROWS.keys() - {"instance"})
LONGEST_COLUMN = 1024
"""Characters, of the columns of Ranger's database (`x_resource_def`, `x_service_config_def`)."""
TOKENS = {"USER": "ann", "OWNER": "bob"}


def accepts(level: str, value: str) -> bool:
    """As Ranger's `isValidResourceValues`: the whole value, in a dialect that Java, JavaScript and Python share."""
    return servicedef.value_patterns()[level].accepts(value)


def is_name(level: str, value: str) -> bool:
    known = entity_type(level).patterns[-1].fullmatch(value) is not None
    return known and (level != "program" or value.partition(".")[0] in PROGRAM_TYPES)


def names(level: str) -> st.SearchStrategy[str]:
    if level == "program":
        rest = st.from_regex(r"[$.a-zA-Z0-9_-]{1,8}", fullmatch=True)
        return st.builds("{}.{}".format, st.sampled_from(sorted(PROGRAM_TYPES)), rest)
    return st.from_regex(entity_type(level).patterns[-1], fullmatch=True).map(lambda name: name[:12])


@st.composite
def patterns(draw: st.DrawFn, level: str) -> str:
    """A name, or a part of it, with wildcards, macros and what people mistype put in."""
    name = draw(names(level))
    mistyped = (" ", "\t", ",", "\\", "\\{", "}", "/", ":", "é", "\n", "Ω")
    inserted = st.sampled_from(("*", "?", "**", "?*", "{USER}", "{OWNER}", "{TEAM}", *mistyped, ""))
    for _ in range(draw(st.integers(0, 3))):
        start, end = sorted((draw(st.integers(0, len(name))), draw(st.integers(0, len(name)))))
        name = name[:start] + draw(inserted) + name[end:]
    return name


@pytest.mark.parametrize("level", LEVELS)
@given(st.data())
def test_a_value_is_refused_only_if_no_entity_can_match_it(level: str, data: st.DataObject) -> None:
    """Law: the engine, which knows nothing of the pattern, finds no name of CDAP that a refused value matches."""
    value = data.draw(patterns(level))
    if not value.strip() or accepts(level, value):
        return  # Ranger drops blank values before it looks at the pattern
    matcher = compile_element([value], False, MODEL.levels[level])
    hidden = "".join(data.draw(st.sampled_from("aZ0_-.$/@")) if c == "?" else c for c in value)
    likely = [hidden.replace("*", filler) for filler in ("", "a", data.draw(names(level)))]
    for name in [*likely, data.draw(names(level)), *(f"{kind}.a" for kind in PROGRAM_TYPES)]:
        assert not (is_name(level, name) and matcher.covers(name, TOKENS)), name


@pytest.mark.parametrize("level", LEVELS)
@given(st.data())
def test_a_name_is_accepted_with_wildcards_and_macros_too(level: str, data: st.DataObject) -> None:
    name = data.draw(names(level))
    at = data.draw(st.integers(0, len(name)))
    for value in (name, name[:at] + "*", "*" + name[at:], f"?{name[1:]}", f"{name[:at]}{{USER}}", "*", "?*", "{OWNER}"):
        assert accepts(level, value), value


@pytest.mark.parametrize("level", LEVELS)
@given(st.data())
def test_a_value_without_wildcards_and_macros_is_accepted_exactly_if_it_is_a_name(
    level: str, data: st.DataObject
) -> None:
    value = data.draw(st.one_of(patterns(level), st.text(max_size=8)))
    if not set(value) & set("*?{"):
        assert accepts(level, value) is is_name(level, value), value


MISTYPED = [
    ("namespace", "sales "),
    ("namespace", "sales-emea"),
    ("dataset", "orders, customers"),
    ("dataset", "sales/orders"),
    ("program", "DataPipelineWorkflow"),
    ("program", "workflows.Daily"),
    ("secure_key", "DB_PASSWORD"),
    ("credential_profile", "1st"),
]


@pytest.mark.parametrize(("level", "value"), MISTYPED)
def test_what_people_mistype_is_refused(level: str, value: str) -> None:
    assert not accepts(level, value)


def test_an_instance_has_any_name() -> None:
    assert ROWS["instance"]["validationRegEx"] == ""
    assert sorted(servicedef.value_patterns()) == LEVELS


@pytest.mark.parametrize("level", LEVELS)
def test_each_pattern_has_a_message_for_people(level: str) -> None:
    assert ROWS[level]["validationMessage"]


def test_every_text_fits_into_its_column() -> None:
    rows: list[dict[str, Any]] = [*DEFINITION["resources"], *DEFINITION["configs"], *DEFINITION["accessTypes"]]
    for row in rows:
        assert all(len(text) <= LONGEST_COLUMN for text in row.values() if isinstance(text, str)), row["name"]
