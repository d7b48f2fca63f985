"""Cache of the policies of resources."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from ranger_cdap.engine.compiled.load import PolicyEntry
from ranger_cdap.engine.compiled.policy import CompiledPolicy
from ranger_cdap.engine.compiled.service_def import Path
from ranger_cdap.engine.lookup.resource_policies import NO_POLICIES, ResourcePolicies

_MAX_SHARED = 100_000
_MAX_EVICTABLE = 20_000
_MAX_EVICTABLE_LENGTH = 1_000
"""Maximum length of a resource that is cached although no policy names it."""
_RELEASED_AT_ONCE = 250
_RELEASED_PER_ADDED = 2
"""Items of a retired cache that are released by a delta, and for each item added: no fewer, so that it ends."""

_Cache = dict[tuple[str, ...], ResourcePolicies]


def ordered(entries: Collection[PolicyEntry]) -> tuple[CompiledPolicy, ...]:
    """Return the compiled policies in order of evaluation."""
    if len(entries) <= 1:
        return tuple([entry.compiled for entry in entries])
    return tuple(sorted([entry.compiled_with_order for entry in entries], key=lambda p: p.sort_key))


class ResourcePoliciesCache:
    """Cache of policies by resource, so that a known resource is a single lookup.

    Resources that policies name are kept. Of all others the oldest are evicted first, so ever new ones fill no memory.
    Resources with the same policies share one object.

    The cache of the policies before a delta is released in small steps, as this one fills: to release it at once would
    stop all readers for a tenth of a second. A reader that still uses it misses what is gone, no more.
    """

    def __init__(self, before: ResourcePoliciesCache | None = None) -> None:
        self._shared: dict[PolicyEntry | frozenset[PolicyEntry], ResourcePolicies] = {}
        self._caches: dict[tuple[Path, bool], _Cache] = {}
        self._evictable: deque[tuple[_Cache, tuple[str, ...]]] = deque()
        self._retired: list[dict[Any, ResourcePolicies]] = []
        if before is not None:
            self._retired = [before._shared, *before._caches.values(), *before._retired]
            self._release(_RELEASED_AT_ONCE)

    def of(self, path: Path, include_descendants: bool) -> _Cache:
        """Return the live cache of one path."""
        cache = self._caches.get((path, include_descendants))
        return self._caches.setdefault((path, include_descendants), {}) if cache is None else cache

    def add(self, cache: _Cache, values: tuple[str, ...], found: ResourcePolicies, *, named: bool) -> None:
        """Add the policies of a resource to the cache of its path; `named` if a policy names exactly this resource."""
        if not named:
            if len("".join(values)) > _MAX_EVICTABLE_LENGTH:
                return
            evictable = self._evictable
            if len(evictable) >= _MAX_EVICTABLE:
                others, key = evictable.popleft()
                others.pop(key, None)
            evictable.append((cache, values))
        cache[values] = found
        if self._retired:
            self._release(_RELEASED_PER_ADDED)

    def resource_policies(self, entries: set[PolicyEntry]) -> ResourcePolicies:
        """Return the policies of a resource that these entries match."""
        if not entries:
            return NO_POLICIES
        content = frozenset(entries) if len(entries) > 1 else next(iter(entries))
        found = self._shared.get(content)
        if found is None:
            if len(self._shared) >= _MAX_SHARED:
                self._shared = {}
            found = self._shared[content] = ResourcePolicies(ordered(entries))
            self._release(_RELEASED_PER_ADDED)
        return found

    def _release(self, items: int) -> None:
        """Release some items of the retired dictionaries; several threads may do so at once."""
        if not self._retired:
            return
        with suppress(IndexError):  # another thread has released the last one
            while items and self._retired:
                retired = self._retired[-1]
                with suppress(KeyError):
                    while items:
                        retired.popitem()
                        items -= 1
                if not retired:
                    with suppress(ValueError):  # another thread has removed it
                        self._retired.remove(retired)  # an empty one: one that is full would be released at once
