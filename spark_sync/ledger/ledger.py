"""`Ledger`: the memory of the sync job: events, lives, baseline. An interface, so that the job knows no tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.grant_terms import GrantGroup
from spark_sync.ledger.life import PENDING_STATES, Life, State

FEW_EVENTS: Final = 50_000
"""New events up to which the fold needs no Spark."""


@dataclass(frozen=True, slots=True)
class History:
    """Inputs of the fold for one entity: the events that may still change something, and its lives in the ledger."""

    entity: EntityId
    events: tuple[EntityEvent, ...]
    lives: tuple[Life, ...]


class Right(StrEnum):
    """Which of ledger and Ranger is right about a life: the other one is brought to it."""

    LEDGER = "ledger"
    RANGER = "ranger"


class LedgerChange(NamedTuple):
    """A life as the ledger has it, and as it has it from now on: by events, by what is in Ranger, by a person.

    `before` is `None` if the ledger lacks the life, `after` if its row is dropped. `policy`: the life's policy that
    Ranger has. The reason of the life says why.
    """

    before: Life | None
    after: Life | None
    policy: Policy | None = None

    @property
    def life(self) -> Life:
        """Return the life that is written, or the one that is dropped."""
        life = self.after or self.before
        assert life is not None  # a row is written or dropped
        return life

    @property
    def right(self) -> Right:
        """Return which is right: the ledger, if the next push brings Ranger to it; else nothing is sent."""
        is_sent = self.after and (self.after.state in PENDING_STATES or self.after.revoke)
        return Right.LEDGER if is_sent else Right.RANGER


def differences(before: Iterable[Life], after: Iterable[Life]) -> list[LedgerChange]:
    """Return the changes from some lives of an entity to others."""
    old, new = ({life.number: life for life in lives} for lives in (before, after))
    found = (LedgerChange(old.get(number), new.get(number)) for number in old | new)
    return [change for change in found if change.before != change.after]


Decide = Callable[[History], Sequence[LedgerChange]]
"""Returns what the events of an entity change."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Extent of a fold, in epoch milliseconds.

    Events at or after `decided` are folded again by a later run, and so are checks received after `closed`, whose
    requests may not have ended. The rest says which of these were decided already, as in `FoldSettings`.
    """

    decided: int = 0
    closed: int = 0
    horizons: Mapping[str, int] = field(default_factory=dict)
    until: int = 0
    latest: int = 0
    skew: int = 0


@dataclass(frozen=True, slots=True)
class Baseline:
    """Time of an inventory, in epoch milliseconds, and the journal of each source at that time."""

    taken: int
    journals: Mapping[str, str]

    def counts_for(self, journals: Mapping[str, str]) -> bool:
        """Return whether the journals are complete since it was taken: one that began later lacks the time before."""
        return all(self.journals.get(source) == journal for source, journal in journals.items())


class Ledger(Protocol):
    """Ledger of one CDAP instance. All writes are idempotent."""

    def add_events(self, events: Sequence[EntityEvent]) -> int:
        """Store the events whose (source, id) is new, CDAP's answers among them, and return their number."""

    def fold(self, decide: Decide) -> None:
        """Apply `decide` to each entity with events that are not folded yet, and record the changes in one step.

        `decide` may run on another machine.
        """

    def mark_folded(self, scope: Scope) -> None:
        """Note that everything in that scope is folded and recorded."""

    def record(self, changes: Iterable[LedgerChange]) -> None:
        """Write and drop lives by (entity, number), all or none."""

    def lives(self, states: Collection[State]) -> list[Life]:
        """Return the lives in one of those states, by entity and number."""

    def lives_of(self, entity: EntityId) -> list[Life]:
        """Return all lives of one entity, by number."""

    def find_lives(self, *, entities: Collection[EntityId]) -> list[Life]:
        """Return all lives of these entities, by entity and number; with none of all."""

    def lives_with_rights_left(self) -> list[Life]:
        """Return the closed lives on whose entities others have rights, or may have (`RIGHTS_LEFT`)."""

    def grant_groups(self) -> list[tuple[GrantGroup, int]]:
        """Return the groups of lives that are alike in everything settings decide, each with its size."""

    def baseline(self) -> Baseline | None:
        """Return the newest inventory; `None` without one."""

    def enter_baseline(
        self,
        taken: int,
        entities: Iterable[EntityId],
        versions: Mapping[EntityId, tuple[str, ...]],
        journals: Mapping[str, str],
    ) -> int:
        """Enter an inventory: entities without an open life become known; return how many. All events are folded again.

        `journals`: the journal of each source at that time.
        """
