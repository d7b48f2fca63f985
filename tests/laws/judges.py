"""Everything that decides: each path of our engine, the naive engine of the tests, and Ranger's Java engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from ranger_cdap.engine import ElementScope, EngineOptions, PolicyEngine, Verdict
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import load, read_request
from tests.differential.reference_engine import evaluate

Json = dict[str, Any]
Allows = Callable[[Json], Sequence[bool]]

SAFE = EngineOptions()


@dataclass(frozen=True)
class Judge:
    """Something that decides; the flags say which questions it knows."""

    allows: Allows
    tags: bool = True
    any_access: bool = True
    several_access_types: bool = True


def by_fast_path(scenario: Json) -> list[bool]:
    """Decide by `evaluate`; the general evaluator must not be needed."""
    engine = load(scenario, SAFE)
    with patch.object(PolicyEngine, "_general_decision", side_effect=AssertionError("not the fast path")):
        return [engine.evaluate(read_request(request)).allowed for request in scenario["requests"]]


def by_general_path(scenario: Json) -> list[bool]:
    """Decide by `evaluate`; a scope that changes nothing keeps the fast path from deciding."""
    engine = load(scenario, SAFE)
    scopes = {"place": ElementScope.SELF}
    requests = [replace(read_request(request), element_scopes=scopes) for request in scenario["requests"]]
    return [engine.evaluate(request).allowed for request in requests]


def by_explain(scenario: Json) -> list[bool]:
    """Decide by `explain`, which traces every policy."""
    engine = load(scenario, SAFE)
    return [engine.explain(read_request(request)).allowed for request in scenario["requests"]]


def by_who_can(scenario: Json) -> list[bool]:
    """Decide by the table of who can do what."""
    engine = load(scenario, SAFE)
    found = []
    for request in map(read_request, scenario["requests"]):
        table = engine.who_can(request.resource)
        assert request.user is not None
        entry = table.users.get(request.user, table.all_users).get(request.access_type)
        found.append(entry is not None and entry.verdict is Verdict.ALLOWED)
    return found


def by_naive_engine(scenario: Json) -> list[bool]:
    """Decide by every policy of the resource, with code that shares nothing with the engine."""
    download, found = scenario["policies"], []
    of_place: dict[str, list[Json]] = {}
    for policy in download["policies"]:
        of_place.setdefault(policy["resources"]["place"]["values"][0], []).append(policy)
    for request in scenario["requests"]:
        policies = of_place[request["resource"]["place"]]
        found.append(evaluate({**download, "policies": policies}, {}, request)["allowed"])
    return found


OURS = {
    "fast path": Judge(by_fast_path, tags=False, several_access_types=False),
    "general path": Judge(by_general_path),
    "explain": Judge(by_explain),
    "who_can": Judge(by_who_can, any_access=False, several_access_types=False),
    "naive engine": Judge(by_naive_engine, tags=False),
}


def java_judge(java: JavaEngine) -> Judge:
    """Decide by Ranger's own engine."""
    return Judge(lambda scenario: [answer["allowed"] for answer in java.decide(scenario)])
