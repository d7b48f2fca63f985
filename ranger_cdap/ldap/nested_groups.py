"""Groups in groups, level by level; pure, with the search as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ranger_cdap.errors import GroupLookupFailed

MOST_GROUPS: Final = 5_000
"""Groups of one user, beyond which they are not known."""
AT_ONCE: Final = 50
"""Groups whose parents are searched with one filter."""


@dataclass(frozen=True, slots=True)
class DirectoryGroup:
    """A group by its distinguished name, and its name in policies."""

    dn: str
    name: str


ParentSearch = Callable[[Sequence[str]], Iterable[DirectoryGroup]]
"""Return the groups that have any of these groups, by distinguished name, as a member."""


def with_parents(direct: Iterable[DirectoryGroup], parents: ParentSearch, *, depth: int) -> frozenset[str]:
    """Return the names of the groups and of those around them, up to `depth` levels; each group is searched once.

    Raises:
        GroupLookupFailed: there are more than `MOST_GROUPS`.
    """
    level = _by_identity(direct)
    seen = dict(level)
    for _ in range(depth):
        _refuse_too_many(seen)
        dns = [group.dn for group in level.values()]
        batches = (dns[n : n + AT_ONCE] for n in range(0, len(dns), AT_ONCE))
        found = _by_identity(group for batch in batches for group in parents(batch))
        level = {key: group for key, group in found.items() if key not in seen}
        if not level:
            break
        seen |= level
    _refuse_too_many(seen)
    return frozenset(group.name for group in seen.values())


def _by_identity(groups: Iterable[DirectoryGroup]) -> dict[str, DirectoryGroup]:
    return {group.dn.casefold(): group for group in groups}


def _refuse_too_many(seen: dict[str, DirectoryGroup]) -> None:
    if len(seen) > MOST_GROUPS:
        raise GroupLookupFailed(f"a user is in more than {MOST_GROUPS:,} groups of the directory")
