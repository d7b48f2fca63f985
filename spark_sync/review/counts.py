"""Counts of answers by namespace: a task counts those of its part, and sums of parts are those of all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import compress

from ranger_cdap.cdap.profile import ACTIONS
from spark_sync.review.answers import Row, Unit
from spark_sync.review.report import NamespaceSummary


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers by namespace and what is counted, as `NamespaceSummary` names it; users with any access by namespace."""

    numbers: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    users: set[tuple[str | None, str]] = field(default_factory=set)

    def add_row(self, unit: Unit, row: Row) -> None:
        """Count the answers of a unit; its entity counts with the first of its users."""
        (_, _, start), (_, namespace, _, _, _, users, actions, allowed, _, conditional, _) = unit, row
        found = Counter(action.lower() for action in compress(actions, allowed))
        found += Counter(entities=start == 0, answers=len(users), allowed=found.total(), conditional=sum(conditional))
        self.numbers.update({(namespace, name): number for name, number in found.items()})
        self.users.update((namespace, user) for user in compress(users, allowed))

    def add(self, other: Counts) -> None:
        """Count what another part has counted."""
        self.numbers.update(other.numbers)
        self.users.update(other.users)

    def summaries(self) -> tuple[NamespaceSummary, ...]:
        """Return the counts of each namespace, by name; of what is outside of namespaces first."""
        users = Counter(namespace for namespace, _ in self.users)
        names = ("entities", "answers", "allowed", *(action.lower() for action in ACTIONS), "conditional")
        return tuple(
            NamespaceSummary(
                namespace=namespace,
                users=users[namespace],
                **{name: self.numbers[namespace, name] for name in names},
            )
            for namespace in sorted({of for of, _ in self.numbers}, key=lambda of: (of is not None, of))
        )
