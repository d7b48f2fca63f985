"""Where something lies whose resource cannot be read: at the last level that is sure, or anywhere below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ranger_cdap.engine.compiled.cost import LONGEST_VALUE
from ranger_cdap.engine.compiled.matcher import compile_element, has_expression
from ranger_cdap.engine.compiled.resource_match import ResourceMatcher, last_specific
from ranger_cdap.engine.compiled.service_def import ServiceModel
from ranger_cdap.engine.model.problem import Doubt, ProblemCode
from ranger_cdap.engine.model.wire import PolicyResource

EVERYWHERE = ResourceMatcher((), (), -1)
"""The ancestor of all resources."""


def doubts_of_resource(resources: Mapping[str, PolicyResource], model: ServiceModel, place: str) -> Iterator[Doubt]:
    """Why a resource cannot be matched; nothing where it can."""
    sure = True
    for name, resource in resources.items():
        if doubt := _doubt_of_level(name, resource, model, place):
            sure = False
            yield doubt
    if sure and resources and model.path_of(frozenset(resources)) is None:
        yield Doubt(ProblemCode.NO_HIERARCHY, place, "it fits no hierarchy of the service definition")


def smallest_readable_ancestor(resources: Mapping[str, PolicyResource], model: ServiceModel) -> ResourceMatcher:
    """The longest path, from the root on, of levels that can be read and that no other branch contradicts."""
    readable = {
        name: resource for name, resource in resources.items() if _doubt_of_level(name, resource, model, "") is None
    }
    paths = [p for n in readable if (p := model.paths.get(n)) and readable.keys() >= set(p)]
    longest = max(map(len, paths), default=0)
    deepest = [p for p in paths if len(p) == longest]
    shared = next((n for n in range(longest, 0, -1) if len({p[:n] for p in deepest}) == 1), 0)
    path = deepest[0][:shared] if deepest else ()
    elements = tuple(compile_element(readable[n].values, readable[n].isExcludes, model.levels[n]) for n in path)
    return ResourceMatcher(path, elements, last_specific(elements))


def _doubt_of_level(name: str, resource: PolicyResource, model: ServiceModel, place: str) -> Doubt | None:
    if name not in model.levels:
        code, message = ProblemCode.UNKNOWN_RESOURCE, "the service definition has no such resource"
    elif has_expression(resource.values, model.levels[name]):
        code, message = ProblemCode.RESOURCE_EXPRESSION, "a value holds an expression that only JavaScript can evaluate"
    elif any(len(value) > LONGEST_VALUE for value in resource.values):
        code, message = ProblemCode.VALUE_TOO_LONG, f"a value is longer than {LONGEST_VALUE} characters"
    else:
        return None
    return Doubt(code, f"{place}.{name}", message)
