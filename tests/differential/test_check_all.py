"""The corpus put through what a program embeds: `Authorizer.check_all`, where a case can be said in CDAP's words.

A question to Ranger becomes an operation that needs just that action on the entity of the same resource. Left out is
what `check` has no words for: resources that are no entity, several access types, contexts, other times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_types
from ranger_cdap.cdap.profile import ACTIONS, Operation, Privilege, Profile
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import InvalidInput
from tests.authz.fixtures import authorizer
from tests.differential.corpus import Case, cases
from tests.differential.our_engine import load

Json = dict[str, Any]

SAID = {"resource", "user", "groups", "accessType", "accessTime", "matchingScope", "id"}
CASES = list(cases())


def profile() -> Profile:
    """A row `<type>.<action>` for every entity type and action, which asks for that action on the entity."""
    rows = {
        name: Operation(name, kind, ("test",), ((Privilege((action,), "entity"),),))
        for kind in entity_types()
        for action in ACTIONS
        for name in (f"{kind}.{action.lower()}",)
    }
    return Profile(name="test", title="Ranger's own words", rows=rows, core={})


def in_cdaps_words(request: Json) -> tuple[str, EntityId] | None:
    """The operation and entity of a request; None where there are none."""
    plain = request.get("accessType") in {action.lower() for action in ACTIONS}
    if not plain or not request.get("user") or request.get("matchingScope", "SELF") != "SELF":
        return None
    if {key for key, value in request.items() if value} - SAID:
        return None
    entity = entity_of(request["resource"])
    return (f"{entity.type}.{request['accessType']}", entity) if entity else None


def entity_of(resource: Json) -> EntityId | None:
    """The entity of a resource, if it is one with a name that CDAP allows."""
    kind = next((name for name, kind in entity_types().items() if set(kind.path) == set(resource)), None)
    if kind is None or not all(isinstance(value, str) for value in resource.values()):
        return None
    try:
        return entity_id(kind, [resource[level] for level in entity_types()[kind].path[1:]])
    except InvalidInput:
        return None


def answerable(case: Case) -> Iterator[tuple[Json, tuple[str, EntityId], bool]]:
    for ask, expected in zip(case.asks, case.expected(by_us=True), strict=True):
        question = in_cdaps_words(ask["request"])
        if question is not None and "allowed" in expected:
            yield ask["request"], question, expected["allowed"]


ASKED = [case for case in CASES if any(answerable(case))]


@pytest.mark.parametrize("case", ASKED, ids=str)
def test_check_all_answers_as_the_corpus_says(case: Case) -> None:
    engine, rows = load(case.scenario, EngineOptions()), profile()
    wrong = []
    for request, question, allowed in answerable(case):
        asked = authorizer(engine, profile=rows, instance=request["resource"]["instance"])
        (answer,) = asked.check_all(request["user"], request.get("groups") or (), [question])
        if answer.allowed is not allowed:
            wrong.append((request, allowed, answer.reason))
    assert wrong == []


def test_much_of_the_corpus_can_be_said_in_cdaps_words() -> None:
    assert len({case.file for case in ASKED}) >= 10
    assert sum(1 for case in ASKED for _ in answerable(case)) >= 100
