"""Resources below one, as policies and tags name them: the places where a user may have a right. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from ranger_cdap.engine.compiled.matcher import ResourceMatcher, Tokens, expand
from ranger_cdap.engine.compiled.resource_match import MatchType, PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path

_BELOW = (MatchType.DESCENDANT, MatchType.SELF_AND_ALL_DESCENDANTS)


def resources_below(
    path: Path, values: tuple[str, ...], tokens: Tokens, matchers: Iterable[PolicyResourceMatcher]
) -> Iterator[dict[str, str]]:
    """Yield the resources of these matchers that are below the resource of these values, which are part of each.

    On the other levels they have the values of the matcher, with macros replaced, wildcards and all.
    """
    for matcher in matchers:
        if matcher.match(path, values, tokens) in _BELOW:
            others = [_values(element, tokens) for element in matcher.elements[len(path) :]]
            yield from (dict(zip(matcher.path, (*values, *each), strict=True)) for each in product(*others))


def _values(element: ResourceMatcher, tokens: Tokens) -> Iterable[str]:
    found = element.values or ("*",)
    return [expand(one, element.options, tokens) for one in found] if element.dynamic and tokens else found
