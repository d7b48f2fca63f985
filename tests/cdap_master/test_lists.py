"""What CDAP lists: what the row for listing shows a person, here READ, WRITE or ADMIN on each (document 003)."""

from __future__ import annotations

import pytest

from tests.cdap_master.builder import build
from tests.cdap_master.fixtures import World

PEOPLE = {
    "lists-nobody": [],
    "lists-app": ["READ application:lists.First"],
    "lists-namespace": ["READ namespace:lists"],
    "lists-data": [
        "WRITE dataset:lists.purchases",
        "ADMIN application:lists.Second",
        "EXECUTE application:lists.First",
        "EXECUTE namespace:lists",
    ],
}
NAMESPACES = {
    "lists-nobody": [],
    "lists-app": [],
    "lists-namespace": ["lists"],
    "lists-data": [],
}
APPLICATIONS = {"lists-app": ["First"], "lists-namespace": [], "lists-data": ["Second"]}
SEARCH = {
    "lists-nobody": set(),
    "lists-app": {"application First"},
    "lists-namespace": set(),
    "lists-data": {"application Second", "dataset purchases"},
}


@pytest.fixture(scope="module")
def lists(cdap_world: World) -> World:
    build(cdap_world, "lists", "First", "Second")
    cdap_world.people(PEOPLE)
    return cdap_world


@pytest.mark.parametrize("person", NAMESPACES)
def test_namespaces(lists: World, person: str) -> None:
    answer = lists.user(person).must("GET /v3/namespaces")

    assert [namespace["name"] for namespace in answer.json()] == NAMESPACES[person]


@pytest.mark.parametrize("person", APPLICATIONS)
def test_applications(lists: World, person: str) -> None:
    answer = lists.user(person).must("GET /v3/namespaces/lists/apps")

    assert [application["name"] for application in answer.json()] == APPLICATIONS[person]


def test_the_applications_of_a_namespace_nobody_may_see(lists: World) -> None:
    assert lists.user("lists-nobody").ask("GET /v3/namespaces/lists/apps").status_code == 403


@pytest.mark.parametrize("person", SEARCH)
def test_search(lists: World, person: str) -> None:
    answer = lists.user(person).must("GET /v3/namespaces/lists/metadata/search?query=*")

    found = [entity["metadataEntity"] for entity in answer.json()["results"]]
    assert {f"{one['type']} {one['details'][one['type']]}" for one in found} == SEARCH[person]
