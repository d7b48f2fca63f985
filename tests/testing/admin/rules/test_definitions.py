"""What becomes of a service definition: which are accepted, their hierarchies, and what is added."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.testing.admin.model.documents import AdminAccessTypeDef, AdminServiceDef
from ranger_cdap.testing.admin.rules.definitions import check_definition, complete, hierarchies, markers
from servicedef import service_definition
from tests.servicedef.definition_facts import hierarchies as hierarchies_of
from tests.testing.admin.documents import OURS


def test_our_definition_breaks_no_rule_and_keeps_its_hierarchies() -> None:
    assert list(check_definition(OURS, [])) == []
    assert set(hierarchies(OURS.resources)) == hierarchies_of(service_definition())


def test_completing_twice_is_completing_once() -> None:
    assert complete(OURS) == OURS


ACCESS_TYPES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["CREATE", "READ", "UPDATE", "DELETE", "MANAGE", None])),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row[0],
)


@given(ACCESS_TYPES, st.data())
def test_markers_imply_their_category_and_what_it_implies(rows: list[tuple[str, str | None]], data: Any) -> None:
    names = [name for name, _ in rows]
    implied = {name: data.draw(st.lists(st.sampled_from(names), max_size=3, unique=True)) for name in names}
    types = [
        AdminAccessTypeDef(item_id=n, name=name, category=category, implied_grants=implied[name])
        for n, (name, category) in enumerate(rows, start=1)
    ]
    made = {marker.name: marker for marker in markers(types)}
    assert [marker.item_id for marker in made.values()] == list(range(len(rows) + 1, len(rows) + 7))
    assert set(made["_ALL"].implied_grants) == set(names)
    for name, category in rows:
        if category:
            assert {name, *implied[name]} <= set(made[f"_{category}"].implied_grants)


BROKEN_DEFINITIONS = [
    ({"name": ""}, 2006),
    ({"accessTypes": []}, 2002),
    ({"resources": []}, 2002),
    ({"accessTypes": [{"name": "a", "impliedGrants": ["b"]}]}, 2009),
    ({"resources": [{"name": "a", "level": 1, "parent": "b"}]}, 2016),
    ({"resources": [{"name": "a", "level": 1}, {"name": "b", "level": 1, "parent": "a"}]}, 2021),
    ({"resources": [{"name": "a", "level": 2, "parent": "b"}, {"name": "b", "level": 1, "parent": "a"}]}, 2021),
    ({"resources": [{"name": "a"}, {"name": "a"}]}, 0),
]


@pytest.mark.parametrize(("fields", "code"), BROKEN_DEFINITIONS)
def test_a_broken_definition_is_told_which_rule(fields: dict[str, Any], code: int) -> None:
    whole = {"name": "d", "accessTypes": [{"name": "a"}], "resources": [{"name": "r"}]}
    found = check_definition(msgspec.convert({**whole, **fields}, AdminServiceDef), [])
    assert [row.code for row in found] == [code]
