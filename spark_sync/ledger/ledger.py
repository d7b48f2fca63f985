"""Changes of lives, histories, and how far they are decided: the data that the ledger takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.life import PENDING_STATES, Life

FEW_EVENTS: Final = 4_000_000
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


class FoldProgress(msgspec.Struct, frozen=True):
    """Progress of the fold: the last folded round, and how far its rounds are decided.

    Losing it costs only time, because folding is idempotent.
    """

    folded: int = 0
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True)
class Baseline:
    """Time of an inventory, in epoch milliseconds, and the journal of each source at that time."""

    taken: int
    journals: Mapping[str, str]

    def counts_for(self, journals: Mapping[str, str]) -> bool:
        """Return whether the journals are complete since it was taken: one that began later lacks the time before."""
        return all(self.journals.get(source) == journal for source, journal in journals.items())
