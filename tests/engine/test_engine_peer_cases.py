"""Ranger's own cases for levels and whole resources, where the reference folder is at hand (Apache License 2.0)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.engine import wire
from ranger_cdap.engine.matcher import compile_element
from ranger_cdap.engine.resource_match import SELF_KINDS, MatchType, compile_resource
from ranger_cdap.engine.service_def import compile_service_def

FOLDER = Path(__file__).parents[3] / "shared" / "reference" / "ranger" / "policyengine"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="Ranger's own cases are not at hand")

MATCHES = {
    "selfOrDescendantMatch": SELF_KINDS | {MatchType.DESCENDANT},
    "descendantMatch": {MatchType.DESCENDANT},
    "exactMatch": SELF_KINDS,
    "selfOrAncestorMatch": SELF_KINDS | {MatchType.ANCESTOR},
    "ancestorMatch": {MatchType.ANCESTOR},
}
ANYWHERE = set(MatchType) - {MatchType.NONE}


def read(name: str) -> Any:
    """The file, which has commas that JSON does not allow."""
    return json.loads(re.sub(r",(\s*[\]}])", r"\1", (FOLDER / name).read_text(encoding="utf-8")))


def tokens(test: Any) -> dict[str, str] | None:
    context = test.get("evalContext") or {}
    return {k.removeprefix("token:"): v for k, v in context.items()} if context else None


def test_levels() -> None:
    for case in read("test_resourcematcher_default.json")["testCases"]:
        definition = wire.ServiceDef(
            name="s", resources=[msgspec.convert({**case["resourceDef"], "name": "x", "parent": ""}, wire.ResourceDef)]
        )
        resource = msgspec.convert(case["policyResource"], wire.PolicyResource)
        element = compile_element(resource.values, resource.isExcludes, compile_service_def(definition).levels["x"])
        for test in case["tests"]:
            assert element.covers(test.get("input") or "", tokens(test)) is test["result"], (case["name"], test)


def test_whole_resources() -> None:
    document = read("test_defaultpolicyresourcematcher.json")
    for case in document["testCases"]:
        model = compile_service_def(msgspec.convert(case.get("serviceDef") or document["serviceDef"], wire.ServiceDef))
        policy = {k: msgspec.convert(v, wire.PolicyResource) for k, v in case["policyResources"].items()}
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
