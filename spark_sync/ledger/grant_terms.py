"""`GrantTerms`: the settings a grant was decided by, and whether they differ from those of today. Pure.

Only settings are compared here, so that lives can be counted in groups; `spark_sync.grants.regrant` compares contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from spark_sync.ledger.life import MANUAL_TERMS, GrantTerms, Life, State

NO_ACCESS_BY_PROFILE: Final = "the profile grants its creator no access"
NO_ACCESS_BY_PLUGIN: Final = "a plugin grants its creator no access"
NO_ACCESS_TO_TYPE: Final = "the profile grants creators no access to this entity type"

_GRANTED: Final = (State.APPLIED, State.PENDING, State.FAILED)


@dataclass(frozen=True, slots=True)
class GrantGroup:
    """Lives that are alike in everything settings decide.

    `terms`: `None` if they are not recorded. `has_creator`: they have a creator.
    """

    state: State
    type: str
    accesses: tuple[str, ...]
    terms: GrantTerms | None
    has_creator: bool

    @classmethod
    def of(cls, life: Life) -> GrantGroup:
        """Return the group of a life."""
        return cls(
            life.state,
            life.entity.type,
            life.accesses,
            life.terms,
            has_creator=life.creator is not None,
        )

    @property
    def follows_settings(self) -> bool:
        """Return whether settings decide the grant: no manual override, doubt or conflict does."""
        without = self.state is State.KNOWN and self.terms is not None
        return self.has_creator and self.terms != MANUAL_TERMS and (self.state in _GRANTED or without)

    def is_outdated(self, wanted: tuple[str, ...], now: GrantTerms) -> bool:
        """Return whether the settings of today would grant otherwise; `wanted`: the profile's access types.

        Settings that are not recorded count as unchanged.
        """
        if not self.follows_settings:
            return False
        if set(self.accesses) != set(wanted):
            return True
        if self.terms is None or not wanted:
            return False
        if self.terms.plugins != now.plugins and self.state in (State.APPLIED, State.KNOWN):
            return True
        return self.state is State.APPLIED and self.terms.delegate_admin is not now.delegate_admin


def counts_of(groups: Iterable[tuple[GrantGroup, int]]) -> Counter[State]:
    """Return the number of lives in each state."""
    counts: Counter[State] = Counter()
    for group, size in groups:
        counts[group.state] += size
    return counts


@dataclass(frozen=True, slots=True)
class OutdatedGrants:
    """Numbers of lives whose grant is by former settings, by those settings; `now`: the settings of today."""

    now: GrantTerms
    former: Mapping[GrantTerms | None, int]

    @property
    def total(self) -> int:
        """Return the number of lives."""
        return sum(self.former.values())


def outdated_grants(
    groups: Iterable[tuple[GrantGroup, int]], gives: Mapping[str, tuple[str, ...]], now: GrantTerms
) -> OutdatedGrants:
    """Return how many lives of these groups, each with its size, the settings of today would grant otherwise."""
    former: Counter[GrantTerms | None] = Counter()
    for group, size in groups:
        if group.type in gives and group.is_outdated(gives[group.type], now):
            former[group.terms] += size
    return OutdatedGrants(now, dict(former))
