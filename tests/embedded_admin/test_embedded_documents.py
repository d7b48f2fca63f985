"""What is read of a document, and what of it is answered."""

from __future__ import annotations

from typing import Any

import msgspec
from embedded_documents import POLICIES
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.embedded_admin.model.documents import Policy, to_json_object, without_empties, without_nulls

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def in_objects(value: Any) -> list[Any]:
    """All values of all objects, at any depth."""
    if isinstance(value, dict):
        return [found for inner in value.values() for found in (inner, *in_objects(inner))]
    return [found for inner in value for found in in_objects(inner)] if isinstance(value, list) else []


@given(JSON)
def test_nothing_null_is_read_and_nothing_empty_answered(value: Any) -> None:
    assert all(found is not None for found in in_objects(without_nulls(value)))
    assert all(
        found is not None and found != "" and found != [] and found != {}
        for found in in_objects(without_empties(value))
    )


@given(POLICIES)
def test_a_policy_survives_being_answered_and_sent_back(sent: Policy) -> None:
    assert msgspec.convert(to_json_object(sent), Policy) == sent
