"""Ranger's own cases for levels and whole resources, where its files are available (`tests/ranger_source.py`)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.engine.compiled.compile_level import compile_element
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType, compile_resource
from ranger_cdap.engine.compiled.service_def import compile_service_def
from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.ranger_model.service_def import ResourceDef, ServiceDef
from tests.ranger_source import MISSING, ranger_file, read_ranger_file

LEVELS = "resourcematcher/test_resourcematcher_default.json"  # the others of this kind are about paths
RESOURCES = (
    "resourcematcher/test_defaultpolicyresourcematcher.json",
    "resourcematcher/test_defaultpolicyresourcematcher_quoted.json",
)
MATCHES = {
    "selfOrDescendantMatch": SELF_KINDS | {MatchType.DESCENDANT},
    "descendantMatch": {MatchType.DESCENDANT},
    "exactMatch": SELF_KINDS,
    "selfOrAncestorMatch": SELF_KINDS | {MatchType.ANCESTOR},
    "ancestorMatch": {MatchType.ANCESTOR},
}
ANYWHERE = set(MatchType) - {MatchType.NONE}


def tokens(test: Any) -> dict[str, str] | None:
    context = test.get("evalContext") or {}
    return {k.removeprefix("token:"): v for k, v in context.items()} if context else None


def available(name: str) -> Any:
    return pytest.param(name, marks=pytest.mark.skipif(ranger_file(name) is None, reason=MISSING))


@pytest.mark.skipif(ranger_file(LEVELS) is None, reason=MISSING)
def test_levels() -> None:
    for case in read_ranger_file(LEVELS)["testCases"]:
        definition = ServiceDef(
            name="s", resources=[msgspec.convert({**case["resourceDef"], "name": "x", "parent": ""}, ResourceDef)]
        )
        resource = msgspec.convert(case["policyResource"], PolicyResource)
        element = compile_element(resource.values, resource.is_excludes, compile_service_def(definition).levels["x"])
        for test in case["tests"]:
            assert element.covers(test.get("input") or "", tokens(test)) is test["result"], (case["name"], test)


@pytest.mark.parametrize("name", [available(name) for name in RESOURCES])
def test_whole_resources(name: str) -> None:
    document = read_ranger_file(name)
    for case in document["testCases"]:
        model = compile_service_def(msgspec.convert(case.get("serviceDef") or document["serviceDef"], ServiceDef))
        policy = {k: msgspec.convert(v, PolicyResource) for k, v in case["policyResources"].items()}
        matcher = compile_resource(policy, model)
        for test in case["tests"]:
            elements = test["resource"]["elements"]
            path = model.path_of(frozenset(elements)) if elements else ()
            found = MatchType.NONE
            if matcher is not None and path is not None:
                found = matcher.match(path, tuple(_value(elements[n]) for n in path), {})
            assert (found in MATCHES.get(test["type"], ANYWHERE)) is test["result"], (case["name"], test)


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
