"""Delete all (core policy 3): what one may delete is told apart from the rest, and for the rest why not."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.errors import InvalidEntity
from tests.authz.fixtures import Memory, authorizer, policy

OWN, OTHERS, NOBODYS = (entity_id("dataset", ["ns1", name]) for name in ("own", "others", "nobodys"))
POLICIES = [
    policy(1, {"namespace": "ns1", "dataset": "own"}, ["alice"], ["read", "admin"]),
    policy(2, {"namespace": "ns1", "dataset": "others"}, ["alice"], ["read"]),
]


def test_what_is_allowed_and_an_error_for_each_of_the_others() -> None:
    memory = Memory()
    found = authorizer(POLICIES, memory).partition("alice", (), "dataset.drop", [OTHERS, OWN, NOBODYS])

    assert found.allowed == (OWN,)
    assert [(answer.entity, answer.reason) for answer in found.refused] == [
        (OTHERS, "alice needs ADMIN on dataset:ns1.others"),
        (NOBODYS, "alice needs ADMIN on dataset:ns1.nobodys"),
    ]
    assert [(r.resource, r.result) for r in memory.records] == [("cdap/ns1/others", 0), ("cdap/ns1/own", 1)]


def test_nothing_to_delete_and_nothing_allowed() -> None:
    assert authorizer(POLICIES).partition("alice", (), "dataset.drop", []).refused == ()
    assert authorizer(POLICIES).partition("eve", (), "dataset.drop", [OWN, OTHERS]).allowed == ()
    unready = authorizer(None).partition("alice", (), "dataset.drop", [OWN])
    assert (unready.allowed, unready.refused[0].reason) == ((), "not ready: no policies yet")


def test_a_wildcard_among_the_entities_is_an_error_and_deletes_nothing() -> None:
    with pytest.raises(InvalidEntity):
        authorizer(POLICIES).partition("alice", (), "dataset.drop", [OWN, EntityId("dataset", ("ns1", "*"))])
