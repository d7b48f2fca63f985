"""What is read of a document, and what of it is answered."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.ranger_model.json_repair import without_any_null
from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.testing.admin.model.documents import AdminPolicy, to_json_object
from tests.testing.admin.documents import POLICIES

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
    assert all(found is not None for found in in_objects(without_any_null(value)))
    assert all(
        found is not None and found != "" and found != [] and found != {}
        for found in in_objects(to_json_object(AdminPolicy(options={"sent": value})))
    )


@given(POLICIES)
def test_a_policy_survives_being_answered_and_sent_back(sent: AdminPolicy) -> None:
    assert msgspec.convert(to_json_object(sent), AdminPolicy) == sent


def test_a_response_has_the_defaults_that_a_request_leaves_out() -> None:
    policy = AdminPolicy(resources={"namespace": PolicyResource(values=["ns1"])})
    assert msgspec.to_builtins(policy) == {"resources": {"namespace": {"values": ["ns1"]}}}
    response = to_json_object(policy)
    assert response["isEnabled"] is True
    assert response["resources"] == {"namespace": {"values": ["ns1"], "isExcludes": False, "isRecursive": False}}
