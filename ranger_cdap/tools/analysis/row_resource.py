"""The part of an item's resource on which its access changes, by the values that the changed policies name.

A level is narrowed only if a search shows that nothing changes elsewhere, so what is named is never less than what
changes; a search without an answer leaves the item's own level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ranger_cdap.engine.view import Path, ResourceMatcher, compile_element
from ranger_cdap.tools.analysis.comparison import differences
from ranger_cdap.tools.analysis.impact import ChangedAccess, SpacePair
from ranger_cdap.tools.analysis.logic.formula import FALSE, Formula, all_of, any_of, negated
from ranger_cdap.tools.analysis.logic.level_values import find_value, included
from ranger_cdap.tools.analysis.request_search import RequestSearch
from ranger_cdap.tools.analysis.symbols.allowing import levels_of
from ranger_cdap.tools.analysis.symbols.meeting import Elements

MAX_CANDIDATES: Final = 20
"""Values of a level that are tried; a change of policies that names more is not narrowed at that level."""


@dataclass(frozen=True, eq=False)
class RowResource:
    """Narrower of the levels of changed access."""

    pair: SpacePair

    def elements(self, changes: Sequence[ChangedAccess], search: RequestSearch) -> Elements:
        """Return the levels on which all of the changes of one source are; its own where no others are known."""
        region = changes[0].source.region
        named = self._candidates.get(region.path)
        if named is None:
            return region.elements
        levels = zip(region.path, region.elements, named, strict=True)
        return tuple(self._narrowed(changes, search, name, own, values) for name, own, values in levels)

    @cached_property
    def _candidates(self) -> dict[Path, tuple[tuple[str, ...], ...]]:
        """Values that the changed policies name, by path and level."""
        old, new = self.pair.old, self.pair.new
        if old.view.model.levels != new.view.model.levels:
            return {}
        found: dict[Path, tuple[dict[str, None], ...]] = {path: tuple({} for _ in path) for path in new.paths()}
        for space, compared in zip((old, new), differences(old, new), strict=True):
            for entry in (entry for entries in compared.changed.values() for entry in entries):
                for path, named in found.items():
                    for resource in entry.resources:
                        if space.maker.self_match(resource, path, subtree=entry.covers_subtree) is FALSE:
                            continue
                        for values, element in zip(named, levels_of(resource, path), strict=True):
                            if element is not None and not element.excludes and len(values) <= MAX_CANDIDATES:
                                values |= dict.fromkeys(element.values)
        return {path: tuple(map(tuple, named)) for path, named in found.items()}

    def _narrowed(
        self,
        changes: Sequence[ChangedAccess],
        search: RequestSearch,
        name: str,
        own: ResourceMatcher | None,
        values: Sequence[str],
    ) -> ResourceMatcher | None:
        """Return a level of fewest of the values that all changes are within, the level itself if there is none."""
        if not 0 < len(values) <= MAX_CANDIDATES:
            return own
        space = search.space
        options = space.view.model.levels[name]
        inside: dict[str, Formula] = {}
        # Wildcards last: a value is left out if those before it are enough.
        for value in sorted(values, key=lambda one: ("*" in one or "?" in one, one)):
            element = compile_element((value,), False, options)
            if not element.match_any and not element.dynamic and _is_part(element, own):
                formula = space.maker.table.level(name, element)
                if not _is_elsewhere(changes, search, formula):
                    inside[value] = formula
        if not inside or not _is_elsewhere(changes, search, negated(any_of(inside.values()))):
            return own
        for value in reversed(list(inside)):
            rest = [formula for other, formula in inside.items() if other != value]
            if rest and _is_elsewhere(changes, search, negated(any_of(rest))):
                del inside[value]
        return compile_element(inside, False, options)


def _is_part(element: ResourceMatcher, own: ResourceMatcher | None) -> bool:
    """Return True if a level covers all that an element covers, and more."""
    if own is None or (own.match_any and not own.excludes):
        return True
    if own.dynamic or own.match_any:
        return False
    inside, outside = ([element, included(own)], []) if own.excludes else ([element], [own])
    return find_value(inside, outside) is None and (own.excludes or find_value([own], [element]) is not None)


def _is_elsewhere(changes: Sequence[ChangedAccess], search: RequestSearch, formula: Formula) -> bool:
    """Return True if nothing changes where a formula holds."""
    return all(search.finds_none(all_of((one.guard, formula)), one.source) for one in changes)
