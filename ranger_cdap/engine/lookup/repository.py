"""Policy repository: the policies of a zone, by resource (ranger-semantics.md §3), and deltas on top of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.load import PolicyEntries, PolicyEntry
from ranger_cdap.engine.compiled.matcher import Tokens, Value
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.resource_match import SELF_KINDS, MatchType
from ranger_cdap.engine.compiled.service_def import Path, ServiceModel
from ranger_cdap.engine.lookup.index import ResourceIndex
from ranger_cdap.engine.lookup.resource_policies import ResourcePolicies

_MAX_SHARED = 100_000
_MAX_EVICTABLE = 20_000
_MAX_EVICTABLE_LENGTH = 1_000
"""Maximum length of a resource that is cached although no policy names it."""
_MAX_RECENT = 64
_MAX_PATCHED = 4096
_T = TypeVar("_T", bound=Hashable)


class PolicyRepository(Protocol):
    """Set of policies, searchable by resource."""

    @property
    def ineffective_ids(self) -> frozenset[int]:
        """Ids of policies without any effect."""

    @property
    def count(self) -> int:
        """Number of policies that have an effect."""

    def policies_of(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, *, include_descendants: bool = False
    ) -> ResourcePolicies:
        """Return the policies of a resource with single values: SELF and SELF_AND_ALL_DESCENDANTS.

        With `include_descendants` also those that may match below the resource.
        """

    def lookup(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, *, include_descendants: bool = False
    ) -> tuple[ResourcePolicies, bool]:
        """Return the policies of a resource as `policies_of` does, and whether they are the same for all requests."""

    def cache_of(self, path: Path, *, include_descendants: bool = False) -> Mapping[tuple[str, ...], ResourcePolicies]:
        """Return the live cache of one path, by the values of the resource, of what is the same for all requests."""

    def is_named(self, path: Path, values: tuple[str, ...], *, include_descendants: bool) -> bool:
        """Return True if a policy names exactly this resource; the policies bound the number of such resources."""

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

    def with_id(self, id_: int) -> set[PolicyEntry]:
        """Return the policies with an id."""

    def all(self) -> list[PolicyEntry]:
        """Return all policies that have an effect."""


def is_empty(policies: PolicyRepository) -> bool:
    """Return True if there are no policies at all, not even disabled ones."""
    return not policies.count and not policies.ineffective_ids


def ordered(entries: Iterable[PolicyEntry]) -> tuple[CompiledPolicy, ...]:
    """Return the compiled policies in order of evaluation."""
    return tuple(sorted((entry.compiled for entry in entries), key=lambda p: p.sort_key))


class _SharedPolicies:
    """Cache of `ResourcePolicies` objects by content; cleared as a whole when full."""

    def __init__(self) -> None:
        self._by_content: dict[frozenset[Hashable], ResourcePolicies] = {}

    def of(self, content: frozenset[_T], resolve: Callable[[frozenset[_T]], Iterable[PolicyEntry]]) -> ResourcePolicies:
        """Return the cached policies of a content; `resolve` maps a new content to policy entries."""
        resource_policies = self._by_content.get(content)
        if resource_policies is None:
            if len(self._by_content) >= _MAX_SHARED:
                self._by_content.clear()
            found = frozenset(resolve(content))
            resource_policies = self._by_content[content] = ResourcePolicies(ordered(found), found)
        return resource_policies


class _CachingRepository(ABC):
    """Cache of policies by resource, so that a known resource is a single lookup.

    Resources that policies name are kept. The cache of other resources is bounded: unknown resources are evicted first.
    """

    def __init__(self) -> None:
        self._shared = _SharedPolicies()
        self._caches: dict[tuple[Path, bool], dict[tuple[str, ...], ResourcePolicies]] = {}
        self._evictable: list[tuple[dict[tuple[str, ...], ResourcePolicies], tuple[str, ...]]] = []

    def cache_of(self, path: Path, *, include_descendants: bool = False) -> Mapping[tuple[str, ...], ResourcePolicies]:
        return self._cache(path, include_descendants)

    def policies_of(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, *, include_descendants: bool = False
    ) -> ResourcePolicies:
        return self.lookup(path, values, tokens, include_descendants=include_descendants)[0]

    def lookup(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, *, include_descendants: bool = False
    ) -> tuple[ResourcePolicies, bool]:
        cache = self._cache(path, include_descendants)
        resource_policies = cache.get(values)
        if resource_policies is not None:
            return resource_policies, True
        resource_policies, cacheable = self._find(path, values, tokens, include_descendants)
        if cacheable and self.is_named(path, values, include_descendants=include_descendants):
            cache[values] = resource_policies
        elif cacheable and sum(map(len, values)) <= _MAX_EVICTABLE_LENGTH:
            self._make_evictable(cache, values)
            cache[values] = resource_policies
        return resource_policies, cacheable

    def _make_evictable(self, cache: dict[tuple[str, ...], ResourcePolicies], values: tuple[str, ...]) -> None:
        if len(self._evictable) >= _MAX_EVICTABLE:
            evicted, self._evictable = self._evictable, []
            for others, key in evicted:
                others.pop(key, None)
        self._evictable.append((cache, values))

    @abstractmethod
    def is_named(self, path: Path, values: tuple[str, ...], *, include_descendants: bool) -> bool: ...

    @abstractmethod
    def _find(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, include_descendants: bool
    ) -> tuple[ResourcePolicies, bool]: ...

    def _cache(self, path: Path, include_descendants: bool) -> dict[tuple[str, ...], ResourcePolicies]:
        cache = self._caches.get((path, include_descendants))
        return self._caches.setdefault((path, include_descendants), {}) if cache is None else cache


class IndexedRepository(_CachingRepository):
    """Indexed, immutable set of policies. Its caches never change a result."""

    def __init__(self, loaded: PolicyEntries, model: ServiceModel) -> None:
        super().__init__()
        self.loaded = loaded
        self.model = model
        entries: Sequence[PolicyEntry] = loaded.entries
        self._entries = entries
        self._index = ResourceIndex(
            (
                (slot, r)
                for slot, entry in enumerate(entries)
                if not (entry.covers_subtree or entry.costly)
                for r in entry.resources
            ),
            {name: level.ignore_case for name, level in model.levels.items()},
        )
        self._subtree_entries = tuple(entry for entry in entries if entry.covers_subtree)
        self._costly_entries = tuple(entry for entry in entries if entry.costly and not entry.covers_subtree)
        self._macros = any(e.dynamic for entry in self._costly_entries for r in entry.resources for e in r.elements)
        self._by_id: dict[int, tuple[PolicyEntry, ...]] = {}
        for entry in entries:
            if entry.id is not None:
                self._by_id[entry.id] = (*self._by_id.get(entry.id, ()), entry)

    @property
    def ineffective_ids(self) -> frozenset[int]:
        """Ids of policies without any effect."""
        return self.loaded.ineffective_ids

    @property
    def count(self) -> int:
        """Number of policies that have an effect."""
        return len(self._entries)

    def _find(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, include_descendants: bool
    ) -> tuple[ResourcePolicies, bool]:
        shape = self._index.for_self_and_descendants(path) if include_descendants else self._index.for_self(path)
        slots, cacheable = shape.find(values, tokens) if shape else (set[int](), True)
        if self._subtree_entries or self._costly_entries:
            found = self._entries_of(slots)
            found |= self._subtree_entries_for(path, values, tokens, include_descendants=include_descendants)
            found |= self._costly_entries_for(path, values, tokens, include_descendants=include_descendants)
            return self._shared.of(frozenset(found), _identity), cacheable and not (
                self._subtree_entries or self._macros
            )
        return self._shared.of(frozenset(slots), self._entries_of), cacheable

    def is_named(self, path: Path, values: tuple[str, ...], *, include_descendants: bool) -> bool:
        """Return True if a policy names exactly this resource."""
        shape = self._index.for_self_and_descendants(path) if include_descendants else self._index.for_self(path)
        return shape is not None and shape.is_named(values)

    def _entries_of(self, slots: Iterable[int]) -> set[PolicyEntry]:
        return {self._entries[slot] for slot in slots}

    def candidates(
        self,
        path: Path,
        values: tuple[Value, ...],
        tokens: Tokens,
        *,
        include_descendants: bool,
        depth: int | None = None,
    ) -> set[PolicyEntry]:
        """Return policies that may match."""
        cut, cut_values = (path, values) if depth is None else (path[:depth], values[:depth])
        shape = (
            self._index.for_self_and_descendants(cut)
            if include_descendants or depth is not None
            else self._index.for_self(cut)
        )
        slots = shape.find_any(cut_values, tokens) if shape else set()
        subtree: Iterable[PolicyEntry] = self._subtree_entries
        if depth is None:
            subtree = self._subtree_entries_for(path, values, tokens, include_descendants=include_descendants)
        costly = self._costly_entries_for(path, values, tokens, include_descendants=include_descendants, depth=depth)
        return self._entries_of(slots).union(subtree, costly)

    def with_id(self, id_: int) -> set[PolicyEntry]:
        """Return the policies with an id."""
        return set(self._by_id.get(id_, ()))

    def all(self) -> list[PolicyEntry]:
        """Return all policies that have an effect."""
        return list(self._entries)

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


def _identity(entries: frozenset[PolicyEntry]) -> frozenset[PolicyEntry]:
    return entries


class PatchedRepository(_CachingRepository):
    """Overlay of a delta on a set of policies: some policies removed, some added.

    The base is not modified and keeps its caches, so a delta costs as much as it changes, and engines that still use
    the base are unaffected.
    """

    def __init__(
        self,
        base: PolicyRepository,
        removed: frozenset[PolicyEntry],
        added: IndexedRepository,
        ineffective_ids: frozenset[int],
    ) -> None:
        super().__init__()
        self.base = base
        self.removed = removed
        self._excluded = removed.union(*(entry.substitutes for entry in removed if entry.costly))
        self.added = added
        self._ineffective_ids = ineffective_ids

    @property
    def ineffective_ids(self) -> frozenset[int]:
        """Ids of policies without any effect."""
        return self._ineffective_ids

    @property
    def count(self) -> int:
        """Number of policies that have an effect."""
        return self.base.count - len(self.removed) + self.added.count

    @property
    def size(self) -> int:
        """Number of policies that differ from the base."""
        return len(self.removed) + len(self.added.loaded.entries)

    def is_named(self, path: Path, values: tuple[str, ...], *, include_descendants: bool) -> bool:
        """Return True if a policy names exactly this resource."""
        return self.base.is_named(path, values, include_descendants=include_descendants) or self.added.is_named(
            path, values, include_descendants=include_descendants
        )

    def _find(
        self, path: Path, values: tuple[str, ...], tokens: Tokens, include_descendants: bool
    ) -> tuple[ResourcePolicies, bool]:
        resource_policies, cacheable = self.base.lookup(path, values, tokens, include_descendants=include_descendants)
        more, same = self.added.lookup(path, values, tokens, include_descendants=include_descendants)
        if more.policies or not self._excluded.isdisjoint(resource_policies.entries):
            resource_policies = self._shared.of(resource_policies.entries - self._excluded | more.entries, _identity)
        return resource_policies, cacheable and same

    def candidates(
        self,
        path: Path,
        values: tuple[Value, ...],
        tokens: Tokens,
        *,
        include_descendants: bool,
        depth: int | None = None,
    ) -> set[PolicyEntry]:
        """Return policies that may match."""
        kept = (
            self.base.candidates(path, values, tokens, include_descendants=include_descendants, depth=depth)
            - self._excluded
        )
        return kept | self.added.candidates(path, values, tokens, include_descendants=include_descendants, depth=depth)

    def with_id(self, id_: int) -> set[PolicyEntry]:
        """Return the policies with an id."""
        return (self.base.with_id(id_) - self.removed) | self.added.with_id(id_)

    def all(self) -> list[PolicyEntry]:
        """Return all policies that have an effect."""
        return [entry for entry in self.base.all() if entry not in self.removed] + self.added.all()


def patch(
    policies: PolicyRepository, changed: frozenset[int], added: PolicyEntries, model: ServiceModel
) -> PolicyRepository:
    """Return the policies with those of the `changed` ids replaced by `added`.

    There are at most two overlays, a small one on a large one on the base, so that a delta touches only a few policies;
    an overlay that has grown is merged into the one below.
    """
    ineffective_ids = (policies.ineffective_ids - changed) | added.ineffective_ids
    below = policies.base if isinstance(policies, PatchedRepository) else policies
    if isinstance(policies, PatchedRepository) and policies.size + len(changed) <= _MAX_RECENT:
        return _extended_overlay(below, policies, changed, added, ineffective_ids, model)
    if isinstance(policies, PatchedRepository) and isinstance(below, PatchedRepository):
        if below.size + policies.size <= _MAX_PATCHED:
            merged = _merged_overlays(below, policies, ineffective_ids, model)
            return _new_overlay(merged, changed, added, ineffective_ids, model)
        everything = IndexedRepository(PolicyEntries(tuple(policies.all()), ineffective_ids), model)
        return _new_overlay(everything, changed, added, ineffective_ids, model)
    return _new_overlay(policies, changed, added, ineffective_ids, model)


def _new_overlay(
    base: PolicyRepository,
    changed: frozenset[int],
    added: PolicyEntries,
    ineffective_ids: frozenset[int],
    model: ServiceModel,
) -> PatchedRepository:
    removed = frozenset(entry for id_ in changed for entry in base.with_id(id_))
    return PatchedRepository(
        base, removed, IndexedRepository(PolicyEntries(added.entries, frozenset()), model), ineffective_ids
    )


def _extended_overlay(
    base: PolicyRepository,
    top: PatchedRepository,
    changed: frozenset[int],
    added: PolicyEntries,
    ineffective_ids: frozenset[int],
    model: ServiceModel,
) -> PatchedRepository:
    kept = tuple(entry for entry in top.added.all() if entry.id not in changed)
    removed = top.removed | {entry for id_ in changed for entry in base.with_id(id_)}
    return PatchedRepository(
        base, removed, IndexedRepository(PolicyEntries((*kept, *added.entries), frozenset()), model), ineffective_ids
    )


def _merged_overlays(
    below: PatchedRepository, top: PatchedRepository, ineffective_ids: frozenset[int], model: ServiceModel
) -> PatchedRepository:
    kept = tuple(entry for entry in below.added.all() if entry not in top.removed)
    removed = below.removed | (top.removed - set(below.added.all()))
    return PatchedRepository(
        below.base,
        removed,
        IndexedRepository(PolicyEntries((*kept, *top.added.all()), frozenset()), model),
        ineffective_ids,
    )
