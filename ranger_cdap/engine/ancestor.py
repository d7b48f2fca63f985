"""Where something lies whose resource can't be read: at the last level that is sure, or anywhere below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ranger_cdap.engine.matcher import compile_element, has_expression
from ranger_cdap.engine.problem import Doubt, ProblemCode
from ranger_cdap.engine.resource_match import ResourceMatcher
from ranger_cdap.engine.service_def import ServiceModel
from ranger_cdap.engine.wire import PolicyResource

EVERYWHERE = ResourceMatcher((), (), -1)
"""The ancestor of all resources."""


def doubts_of_resource(resources: Mapping[str, PolicyResource], model: ServiceModel, place: str) -> Iterator[Doubt]:
    """Why a resource can't be matched; nothing where it can."""
    levels = model.levels
    sure = True
    for name, resource in resources.items():
        if name not in levels:
            sure = False
            yield Doubt(ProblemCode.UNKNOWN_RESOURCE, f"{place}.{name}", "the service definition has no such resource")
        elif has_expression(resource.values, levels[name]):
            sure = False
            message = "a value holds an expression that only JavaScript can evaluate"
            yield Doubt(ProblemCode.RESOURCE_EXPRESSION, f"{place}.{name}", message)
    if sure and resources and model.path_of(frozenset(resources)) is None:
        yield Doubt(ProblemCode.NO_HIERARCHY, place, "it fits no hierarchy of the service definition")


def smallest_readable_ancestor(resources: Mapping[str, PolicyResource], model: ServiceModel) -> ResourceMatcher:
    """The longest path, from the root on, of levels that can be read and that no other branch contradicts."""
    readable = {
        name: resource
        for name, resource in resources.items()
        if name in model.levels and not has_expression(resource.values, model.levels[name])
    }
    paths = [p for n in readable if (p := model.paths.get(n)) and readable.keys() >= set(p)]
    longest = max(map(len, paths), default=0)
    deepest = [p for p in paths if len(p) == longest]
    shared = next((n for n in range(longest, 0, -1) if len({p[:n] for p in deepest}) == 1), 0)
    path = deepest[0][:shared] if deepest else ()
    elements = tuple(compile_element(readable[n].values, readable[n].isExcludes, model.levels[n]) for n in path)
    specific = [i for i, e in enumerate(elements) if not e.match_any]
    return ResourceMatcher(path, elements, specific[-1] if specific else -1)
