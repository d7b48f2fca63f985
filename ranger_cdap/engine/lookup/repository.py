"""Policy repository: the policies of a zone, by resource (ranger-semantics.md §3), and the deltas of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.load import PolicyEntries, PolicyEntry
from ranger_cdap.engine.compiled.matcher import Tokens, Value
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType, PolicyResourceMatcher
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.lookup.index import BELOW_TOP, ResourceIndex, ShapeIndex
from ranger_cdap.engine.lookup.resource_cache import ResourcePoliciesCache
from ranger_cdap.engine.lookup.resource_policies import ResourcePolicies
from ranger_cdap.engine.lookup.shared_map import SharedMap


class PolicyRepository:
    """Immutable set of policies, searchable by resource. Its cache never changes a result.

    A changed set shares the unchanged parts of the index, but none of the cache, which readers of the old one may
    still fill.
    """

    def __init__(self, loaded: PolicyEntries, model: ServiceModel) -> None:
        self.ineffective_ids = loaded.ineffective_ids
        """Ids of policies without any effect."""
        by_id: dict[int, tuple[PolicyEntry, ...]] = {}
        without_id: list[PolicyEntry] = []
        for entry in loaded.entries:
            if entry.id is None:
                without_id.append(entry)
            else:
                by_id[entry.id] = (*by_id[entry.id], entry) if entry.id in by_id else (entry,)
        self.count = len(loaded.entries)
        """Number of policies that have an effect."""
        self.has_doubled_id = len(by_id) + len(without_id) < self.count
        """True if two policies have the same id; deltas are not applied to such a set (§17)."""
        self.condition_steps = sum([entry.condition_steps for entry in loaded.entries])
        """Steps that all custom conditions may take, each evaluated once."""
        self._by_id = SharedMap(by_id)
        self._without_id = tuple(without_id)
        self._set_untabled(loaded.entries)
        self._index = ResourceIndex(
            _pairs(loaded.entries), {name: level.ignore_case for name, level in model.levels.items()}
        )
        self._cache = ResourcePoliciesCache()

    def with_changes(self, changed: frozenset[int], added: PolicyEntries) -> PolicyRepository:
        """Return the policies with those of the `changed` ids replaced by `added`."""
        removed = [entry for id_ in changed for entry in self.with_id(id_)]
        new = PolicyRepository.__new__(PolicyRepository)
        new.has_doubled_id = False
        new.ineffective_ids = self.ineffective_ids
        if added.ineffective_ids or not changed.isdisjoint(self.ineffective_ids):
            new.ineffective_ids = (self.ineffective_ids - changed) | added.ineffective_ids
        new.count = self.count - len(removed) + len(added.entries)
        new.condition_steps = self.condition_steps - sum([entry.condition_steps for entry in removed])
        new.condition_steps += sum([entry.condition_steps for entry in added.entries])
        by_id = self._by_id
        for id_ in changed:
            by_id = by_id.replaced(id_, None)
        for entry in added.entries:
            if entry.id is not None:
                by_id = by_id.replaced(entry.id, (*(by_id.get(entry.id) or ()), entry))
        new._by_id = by_id
        new._without_id = (*self._without_id, *(entry for entry in added.entries if entry.id is None))
        untabled = (*self._subtree_entries, *self._costly_entries)
        gone = set(removed)
        new._set_untabled([*(entry for entry in untabled if entry not in gone), *added.entries])
        new._index = self._index.changed(_pairs(removed), _pairs(added.entries))
        new._cache = ResourcePoliciesCache(self._cache)
        return new

    def _set_untabled(self, entries: Iterable[PolicyEntry]) -> None:
        """Set the few policies that the index cannot find."""
        untabled = [entry for entry in entries if entry.costly or entry.covers_subtree]
        self._subtree_entries = tuple([entry for entry in untabled if entry.covers_subtree])
        self._costly_entries = tuple([entry for entry in untabled if not entry.covers_subtree])
        self._macros = any(e.dynamic for entry in self._costly_entries for r in entry.resources for e in r.elements)

    def policies_of(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, *, include_descendants: bool = False
    ) -> ResourcePolicies:
        """Return the policies of a resource with single values: SELF and SELF_AND_ALL_DESCENDANTS.

        With `include_descendants` also those that may match below the resource.
        """
        cache = self._cache.of(path, include_descendants)
        found = cache.get(values)
        if found is not None:
            return found
        shape = self._shape(path, include_descendants)
        entries, same_for_all, named = shape.find(values, tokens) if shape else (set[PolicyEntry](), True, False)
        if self._subtree_entries or self._costly_entries:
            entries |= self._subtree_entries_for(path, values, tokens, include_descendants=include_descendants)
            entries |= self._costly_entries_for(path, values, tokens, include_descendants=include_descendants)
            same_for_all = same_for_all and not (self._subtree_entries or self._macros)
        found = self._cache.resource_policies(entries)
        if same_for_all:
            self._cache.add(cache, values, found, named=named)
        return found

    def cache_of(self, path: Path, *, include_descendants: bool = False) -> Mapping[tuple[str, ...], ResourcePolicies]:
        """Return the live cache of one path, by the values of the resource, of what is the same for all requests."""
        return self._cache.of(path, include_descendants)

    def candidates(
        self,
        path: Path,
        values: tuple[Value, ...],
        tokens: Tokens,
        *,
        include_descendants: bool,
        depth: int | None = None,
    ) -> set[PolicyEntry]:
        """Return policies that may match, with `include_descendants` also below the resource.

        `depth` limits the number of levels compared.
        """
        cut, cut_values = (path, values) if depth is None else (path[:depth], values[:depth])
        shape = self._shape(cut, include_descendants or depth is not None)
        found = shape.find_any(cut_values, tokens) if shape else set[PolicyEntry]()
        subtree: Iterable[PolicyEntry] = self._subtree_entries
        if depth is None:
            subtree = self._subtree_entries_for(path, values, tokens, include_descendants=include_descendants)
        costly = self._costly_entries_for(path, values, tokens, include_descendants=include_descendants, depth=depth)
        return found.union(subtree, costly)

    def with_id(self, id_: int) -> set[PolicyEntry]:
        """Return the policies with an id."""
        return set(self._by_id.get(id_) or ())

    def all(self) -> list[PolicyEntry]:
        """Return all policies that have an effect, ordered by id."""
        with_id = [entry for entries in self._by_id.values() for entry in entries]
        with_id.sort(key=lambda entry: entry.id or 0)
        return [*self._without_id, *with_id]

    def prepare(self) -> None:
        """Build what decisions would otherwise build on first use, if that takes more than a few milliseconds."""
        if not self.is_prepared:
            self._index.build_below(lambda: _pairs(self.all()), BELOW_TOP)

    @property
    def is_prepared(self) -> bool:
        """Return True if no decision builds more than a few milliseconds take."""
        return self.count <= cost.MAX_CROWD or self._index.is_built(BELOW_TOP)

    @property
    def is_crowded(self) -> bool:
        """Return True if a resource other than one of the highest level may match a crowd of policies."""
        return len(self._subtree_entries) > cost.MAX_CROWD or self._index.is_crowded(BELOW_TOP)

    def _shape(self, path: Path, include_descendants: bool) -> ShapeIndex[PolicyEntry] | None:
        if include_descendants:
            return self._index.for_self_and_descendants(path, lambda: _pairs(self.all()))
        return self._index.for_self(path)

    def _subtree_entries_for(
        self, path: Path, values: tuple[Value, ...], tokens: Tokens, *, include_descendants: bool
    ) -> set[PolicyEntry]:
        irrelevant = (MatchType.NONE,) if include_descendants else (MatchType.NONE, MatchType.DESCENDANT)
        return {
            entry
            for entry in self._subtree_entries
            if any(not r.path or r.match(path, values, tokens) not in irrelevant for r in entry.resources)
        }

    def _costly_entries_for(
        self,
        path: Path,
        values: tuple[Value, ...],
        tokens: Tokens,
        *,
        include_descendants: bool,
        depth: int | None = None,
    ) -> set[PolicyEntry]:
        """Return the costly policies that match, or their substitutes where matching takes too many steps."""
        found: set[PolicyEntry] = set()
        for entry in self._costly_entries:
            spent = sum(r.steps(values, tokens) for r in entry.resources)
            for one in (entry,) if spent <= cost.MAX_STEPS else entry.substitutes:
                kinds = (r.match(path, values, tokens) for r in one.resources)
                if depth is not None or any(
                    k in SELF_KINDS or (include_descendants and k is MatchType.DESCENDANT) for k in kinds
                ):
                    found.add(one)
        return found


def is_empty(policies: PolicyRepository) -> bool:
    """Return True if there are no policies at all, not even disabled ones."""
    return not policies.count and not policies.ineffective_ids


def _pairs(entries: Iterable[PolicyEntry]) -> Iterator[tuple[PolicyEntry, PolicyResourceMatcher]]:
    """Yield the entries that the index can find, with each of their resources."""
    return (
        (entry, resource)
        for entry in entries
        if not (entry.covers_subtree or entry.costly)
        for resource in entry.resources
    )
