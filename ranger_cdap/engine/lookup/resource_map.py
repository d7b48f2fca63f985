"""Map from resources to values (zones, tags), searched by the resource of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

from ranger_cdap.engine.compiled.matcher import Tokens, Value
from ranger_cdap.engine.compiled.resource_match import MatchType, PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.lookup.index import BELOW_TOP, ResourceIndex
from ranger_cdap.engine.model.request import ElementScope, first_scoped_level

_MAX_RESOURCES: Final = 20_000
_MAX_LENGTH: Final = 1_000
_T = TypeVar("_T")
Matching = Sequence[tuple[_T, MatchType]]


class ResourceMap(Generic[_T]):
    """Values by resource; without tokens, macros in their resources are not replaced (ranger-semantics.md §13)."""

    def __init__(self, items: Iterable[tuple[PolicyResourceMatcher, _T]], model: ServiceModel) -> None:
        self.items: Sequence[tuple[PolicyResourceMatcher, _T]] = tuple(items)
        """All resources with their values."""
        self._index = ResourceIndex(
            self._pairs(),
            {name: level.ignore_case for name, level in model.levels.items()},
        )
        self._index.build_same_levels(self._pairs)
        self._index.build_below(self._pairs, 1)
        self._depends_on_request = any(element.dynamic for matcher, _ in self.items for element in matcher.elements)
        self._cache: dict[tuple[Path, tuple[Value, ...]], Matching[_T]] = {}

    @property
    def is_crowded(self) -> bool:
        """Return True if a resource other than one of the highest level may have, or have below it, a crowd."""
        return self._index.is_crowded(BELOW_TOP)

    def _pairs(self) -> Iterable[tuple[int, PolicyResourceMatcher]]:
        return ((i, matcher) for i, (matcher, _) in enumerate(self.items))

    def __bool__(self) -> bool:
        return bool(self.items)

    def at_or_below(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens = None
    ) -> Iterator[PolicyResourceMatcher]:
        """Yield the resources that may be this one or below it."""
        here = self._index.for_self_and_descendants(path, self._pairs)
        for i in here.find_any(values, tokens) if here is not None else ():
            yield self.items[i][0]

    def matching(
        self,
        path: Path,
        values: tuple[Value, ...],
        tokens: Tokens = None,
        scopes: Mapping[str, ElementScope] | None = None,
    ) -> Matching[_T]:
        """Return the values on the resource, above it and below it, each with its match type; cached, bounded."""
        if scopes or self._depends_on_request:
            return self._matching(path, values, tokens, scopes)
        found = self._cache.get((path, values))
        if found is None:
            found = self._matching(path, values, tokens, scopes)
            if len(repr(values)) <= _MAX_LENGTH:
                if len(self._cache) >= _MAX_RESOURCES:
                    self._cache.clear()
                self._cache[path, values] = found
        return found  # not to be changed

    def _matching(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, scopes: Mapping[str, ElementScope] | None
    ) -> Matching[_T]:
        found: set[int] = set()
        depth = first_scoped_level(path, scopes)
        depth = len(path) if depth is None else depth
        for n in range(1, depth):
            above = self._index.for_same_levels(path[:n], self._pairs)
            if above is not None:
                found |= above.find_any(values[:n], tokens)
        here = self._index.for_self_and_descendants(path[:depth], self._pairs)
        if here is not None:
            found |= here.find_any(values[:depth], tokens)
        matching: list[tuple[_T, MatchType]] = []
        for i in sorted(found):
            matcher, item = self.items[i]
            match_type = matcher.match(path, values, tokens, scopes)
            if match_type is not MatchType.NONE:
                matching.append((item, match_type))
        return matching
