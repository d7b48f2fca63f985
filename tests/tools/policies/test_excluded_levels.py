"""Policies of the predecessor whose lower levels exclude everything decide on what they mean, once rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, entity_type, parse_entity
from ranger_cdap.ranger.files.policy_collection import PolicyCollection, ServiceEntry
from ranger_cdap.tools.policies.excluded_levels import Rewritten, rewrite
from tests.authz.fixtures import engine
from tests.cdap.fixtures import Policies
from tests.docs.case_study import CASE_STUDY, levels
from tests.docs.test_migration_page import definition_of_the_predecessor

Json = dict[str, Any]

PATHS = {kind: entity_type(kind).path for kind in ("program", "dataset", "artifact", "principal")}
ENTITIES = [
    parse_entity(text)
    for text in (
        *("instance:", "namespace:clicks", "namespace:other", "application:clicks.words", "application:other.a"),
        *("program:clicks.words.worker.W", "dataset:clicks.d", "dataset:other.d", "artifact:clicks.a", "principal:svc"),
    )
]


def old(name: str, resource: str, user: str = "alice", **more: Any) -> Json:
    """A policy written as in the case study: `namespace=clicks application=!*`."""
    items = [{"users": [user], "accesses": [{"type": "admin"}]}]
    return {"name": name, "resources": levels(resource), "policyItems": items, **more}


def rewritten(*policies: Json, definition: Json | None = None) -> Rewritten:
    return rewrite(PolicyCollection(ServiceEntry("cdapdev", definition=definition), policies))


@st.composite
def _resource(draw: st.DrawFn) -> str:
    """A path of the old definition down to a leaf, whose lowest levels may exclude everything."""
    path = PATHS[draw(st.sampled_from(sorted(PATHS)))][1:]
    excluded = draw(st.integers(0, len(path)))
    values = st.sampled_from(["clicks", "other,clicks", "*", "?*", "words", "worker.W", "svc*", "!words"])
    kept = [f"{level}={draw(values)}" for level in path[: len(path) - excluded]]
    return " ".join([*kept, *(f"{level}=!*" for level in path[len(path) - excluded :])])


RESOURCES = st.lists(_resource(), min_size=1, max_size=5)


def meant(resource: str, entity: EntityId) -> bool:
    """Whether the policy is about the entity: by the predecessor's README, an excluded `*` ends it above."""
    parts = [part.partition("=") for part in resource.split()]
    while parts and parts[-1][2] == "!*":
        parts.pop()
    below = dict(zip(entity_type(entity.type).path[1:], entity.parts, strict=True))
    named = {level: value for level, _, value in parts}
    # What a policy does not name must be absent; a star matches absence, too.
    return set(below) <= set(named) and all(
        below.get(level) is not None and _matches(value, below[level])
        if level in below or value.lstrip("!") != "*"
        else not value.startswith("!")
        for level, value in named.items()
    )


def _matches(value: str, name: str) -> bool:
    found = any(fnmatchcase(name, one) for one in value.lstrip("!").split(","))
    return found is not value.startswith("!")


@given(resources=RESOURCES)
def test_after_rewriting_policies_decide_on_what_they_mean_and_nothing_else(resources: Sequence[str]) -> None:
    found = rewritten(*(old(f"p{n}", one, f"user{n}") for n, one in enumerate(resources)))
    assert found.left == ()
    numbered = [{**one, "id": n, "version": 1} for n, one in enumerate(found.collection.policies, 1)]
    ask = Policies(engine(numbered))
    for n, resource in enumerate(resources):
        for entity in ENTITIES:
            assert ask(f"user{n}", entity, "ADMIN").allowed is meant(resource, entity), (resource, str(entity))


@given(resources=RESOURCES)
def test_rewriting_twice_is_once_and_no_two_policies_get_one_resource(resources: Sequence[str]) -> None:
    policies = [old(f"p{n}", one) for n, one in enumerate(dict.fromkeys(resources))]
    found = rewritten(*policies)
    again = rewrite(found.collection)
    assert (again.done, again.collection.policies) == ((), found.collection.policies)
    different = {msgspec.json.encode(one["resources"]) for one in found.collection.policies}
    assert len(different) == len(found.collection.policies)
    rewritten_names = {one.name for one in found.done} | {one.merged_into for one in found.done}
    assert [one for one in policies if one["name"] not in rewritten_names] == [
        one for one in found.collection.policies if one["name"] not in rewritten_names
    ]
    assert {u for one in found.collection.policies for item in one["policyItems"] for u in item["users"]} == {"alice"}


def test_the_policies_of_the_case_study_become_what_the_page_says() -> None:
    study = [old(one.name, one.resource, one.user) for one in CASE_STUDY]
    found = rewritten(*study)
    assert [one["resources"] for one in found.collection.policies] == [levels(one.effective) for one in CASE_STUDY]
    assert [(one.name, str(one)) for one in found.done] == [
        ("Alice the Name Spacer", "it ends at its namespace, without application, program"),
        ("Alice the Deployer", "it ends at its application, without program"),
    ]
    zoned = rewritten(*(one | {"zoneName": "finance"} for one in study))
    assert [one.name for one in zoned.done] == [
        "Alice the Name Spacer (zone finance)",
        "Alice the Deployer (zone finance)",
    ]


def test_a_policy_of_a_zone_that_is_left_is_named_with_it() -> None:
    (left,) = rewritten(old("a", "namespace=ns1 application=!* program=x") | {"zoneName": "finance"}).left
    assert left.name == "a (zone finance)"


NAMESPACE, PLAIN = old("a", "namespace=ns1 application=!* program=!*"), old("b", "namespace=ns1", "bob")
LEFT: list[tuple[list[Json], str]] = [
    ([old("a", "namespace=ns1 application=!* program=x")], "a level above one that it names excludes everything"),
    ([NAMESPACE | {"additionalResources": [levels("namespace=ns2")]}], "it has additional resources"),
    ([NAMESPACE, PLAIN | {"allowExceptions": PLAIN["policyItems"]}], "no second policy on the resource of `b`"),
    ([NAMESPACE | {"policyPriority": 1}, PLAIN], "no second policy on the resource of `b`"),
    ([NAMESPACE | {"isEnabled": False}, PLAIN], "no second policy on the resource of `b`"),
]


@pytest.mark.parametrize(("policies", "reason"), LEFT)
def test_what_cannot_be_rewritten_stays_and_is_named(policies: list[Json], reason: str) -> None:
    found = rewritten(*policies)
    assert reason in str(found.left)
    assert found.collection.policies == tuple(policies)


def test_policies_of_one_resource_become_one_that_decides_like_both() -> None:
    deny = {"denyPolicyItems": [{"users": ["eve"], "accesses": [{"type": "read"}]}]}
    artifacts = old("c", "namespace=ns1 artifact=!*", "carol", **deny)
    found = rewritten(NAMESPACE, PLAIN, artifacts)
    (one,) = found.collection.policies
    assert (one["name"], one["resources"]) == ("b", levels("namespace=ns1"))
    assert [user for item in one["policyItems"] for user in item["users"]] == ["bob", "alice", "carol"]
    assert one["denyPolicyItems"] == deny["denyPolicyItems"]
    assert [one.merged_into for one in found.done] == ["b", "b"]


def test_without_setup_the_old_definition_lets_no_policy_end_at_a_namespace() -> None:
    found = rewritten(NAMESPACE, definition=definition_of_the_predecessor())
    assert "run `ranger-cdap setup` first" in str(found.left[0])
