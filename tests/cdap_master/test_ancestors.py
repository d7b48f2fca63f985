"""`cdap.list_ancestors` on a real CDAP: the way to what one may see is listed, with nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ranger_cdap.testing import EmbeddedRanger
from tests.cdap_master.builder import build
from tests.cdap_master.fixtures import World, world

PEOPLE = {
    "way-nobody": [],
    "way-data": ["READ dataset:way.purchases"],
    "way-app": ["READ application:way.First"],
    "way-both": ["READ dataset:way.purchases", "READ application:beside.Second"],
}
NAMESPACES = {"way-nobody": [], "way-data": ["way"], "way-app": ["way"], "way-both": ["beside", "way"]}
APPLICATIONS = {"way-data": [], "way-app": ["First"], "way-both": []}


@pytest.fixture(scope="module")
def way(ranger: EmbeddedRanger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("way")
    with world(ranger, directory, "ranger-cdap-extension-6.11.jar", list_ancestors=True) as made:
        build(made, "way", "First", "Second")
        build(made, "beside", "First", "Second")
        made.people(PEOPLE)
        yield made


@pytest.mark.parametrize("person", NAMESPACES)
def test_the_namespaces_of_what_one_may_see_are_listed_and_no_others(way: World, person: str) -> None:
    answer = way.user(person).must("GET /v3/namespaces")

    assert sorted(namespace["name"] for namespace in answer.json()) == NAMESPACES[person]


@pytest.mark.parametrize("person", APPLICATIONS)
def test_in_a_namespace_on_the_way_one_sees_only_ones_own(way: World, person: str) -> None:
    answer = way.user(person).must("GET /v3/namespaces/way/apps")

    assert [application["name"] for application in answer.json()] == APPLICATIONS[person]


@pytest.mark.parametrize("person", ["way-data", "way-app"])
def test_a_listed_namespace_is_not_opened(way: World, person: str) -> None:
    user = way.user(person)

    assert user.ask("GET /v3/namespaces/way").status_code == 403
    assert user.ask("DELETE /v3/unrecoverable/namespaces/way").status_code == 403
    assert user.ask("PUT /v3/namespaces/way/apps/Third", {}).status_code in (403, 500)


def test_cdap_lists_a_namespace_with_its_description(way: World) -> None:
    """An extension answers by names; what CDAP puts beside a name is CDAP's."""
    way.people({"way-owner": ["ADMIN namespace:way", "WRITE namespace:way"]})
    way.user("way-owner").must("PUT /v3/namespaces/way/properties", {"description": "what the owner wrote"})
    (listed,) = way.user("way-data").must("GET /v3/namespaces").json()

    assert set(listed) == {"name", "identity", "description", "generation", "config"}
    assert listed["description"] == "what the owner wrote"
