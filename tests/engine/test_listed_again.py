"""A policy that lists its resource again, as the sync job's do, decides the same and costs no more."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from msgspec.json import encode

from ranger_cdap.engine.compiled.policy import PolicyCompiler
from ranger_cdap.engine.compiled.service_def import compile_service_def
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.policy import Policy
from tests.engine.fixtures import RANGER, SAFE, Json, asks, document, engine
from tests.engine.test_decision_cost import policies, wanted


@given(policies(), st.integers(1, 3), st.lists(wanted, min_size=1, max_size=4), st.sampled_from([SAFE, RANGER]))
def test_listing_the_resource_again_changes_neither_decision_nor_matchers(
    listed: list[Json], times: int, asked: list[Any], options: Any
) -> None:
    again = [{**one, "additionalResources": one["additionalResources"] + [one["resources"]] * times} for one in listed]
    once, twice = engine(*listed, options=options), engine(*again, options=options)
    for where, access, scope in asked:
        question = asks(where, access=access, matching_scope=scope)
        assert twice.evaluate(question) == once.evaluate(question)


@given(policies())
def test_of_resources_listed_again_one_is_compiled(listed: list[Json]) -> None:
    compiler = PolicyCompiler(compile_service_def(decode_service_policies(encode(document())).service_def), True, {})
    for one in listed:
        again = {**one, "additionalResources": [one["resources"]] * 3}
        assert len(compiler.resources(convert(again, Policy))) == len(
            compiler.resources(convert({**one, "additionalResources": []}, Policy))
        )
