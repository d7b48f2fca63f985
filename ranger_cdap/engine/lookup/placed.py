"""Things that lie on resources (zones, tagged resources), found by the resource of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from ranger_cdap.engine.compiled.matcher import Tokens, Value
from ranger_cdap.engine.compiled.resource_match import MatchType, ResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.lookup.index import ResourceIndex

_T = TypeVar("_T")


class Placed(Generic[_T]):
    """Things by resource; without tokens, macros in their resources stay as they are (ranger-semantics.md §13)."""

    def __init__(self, things: Iterable[tuple[ResourceMatcher, _T]], model: ServiceModel) -> None:
        self._things: Sequence[tuple[ResourceMatcher, _T]] = tuple(things)
        self._index = ResourceIndex(
            ((i, matcher) for i, (matcher, _) in enumerate(self._things)),
            {name: level.ignore_case for name, level in model.levels.items()},
        )

    def __bool__(self) -> bool:
        return bool(self._things)

    def touching(self, path: Path, values: tuple[Value, ...], tokens: Tokens = None) -> list[tuple[_T, MatchType]]:
        """Everything on the resource itself, above it or below it, with where it lies."""
        found: set[int] = set()
        for n in range(1, len(path)):
            above = self._index.own(path[:n])
            if above is not None:
                found |= above.find_any(values[:n], tokens)
        here = self._index.wide(path)
        if here is not None:
            found |= here.find_any(values, tokens)
        placed: list[tuple[_T, MatchType]] = []
        for i in sorted(found):
            matcher, thing = self._things[i]
            match_type = matcher.match(path, values, tokens)
            if match_type is not MatchType.NONE:
                placed.append((thing, match_type))
        return placed
