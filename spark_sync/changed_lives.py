"""`ChangedLives`: what a run changed, also of a million lives."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec

from spark_sync.grants.writer import StepOutcome
from spark_sync.ledger.life import RIGHTS_LEFT, Life, State

_PACKED: Final = 1_000


class PackedLives(Collection[Life]):
    """Lives in the order in which they were added; all but the last few are compressed."""

    def __init__(self) -> None:
        self._packs: list[bytes] = []
        self._last: list[Life] = []

    def add(self, life: Life) -> None:
        """Add one."""
        self._last.append(life)
        if len(self._last) == _PACKED:
            self._packs.append(zlib.compress(msgspec.json.encode(self._last), 1))
            self._last = []

    def extend(self, lives: Iterable[Life]) -> None:
        """Add several."""
        for life in lives:
            self.add(life)

    def __iter__(self) -> Iterator[Life]:
        for pack in self._packs:
            yield from msgspec.json.decode(zlib.decompress(pack), type=list[Life])
        yield from self._last

    def __len__(self) -> int:
        return len(self._packs) * _PACKED + len(self._last)

    def __contains__(self, life: object) -> bool:
        return any(life == each for each in self)


@dataclass(frozen=True, slots=True)
class ChangedLives:
    """Lives whose grant was written or revoked, and those that wait or have something to be told."""

    granted: PackedLives = field(default_factory=PackedLives)
    revoked: PackedLives = field(default_factory=PackedLives)
    waiting: PackedLives = field(default_factory=PackedLives)

    def add(self, outcome: StepOutcome) -> None:
        """Add what a step changed."""
        life = outcome.life
        if outcome.revoked:
            self.revoked.add(outcome.step.life)
        match life.state:
            case State.APPLIED:
                self.granted.add(life)
            case State.KNOWN | State.BLOCKED:
                pass  # settled; what is blocked is listed in every run
            case State.CLOSED if not life.reason or RIGHTS_LEFT in life.reason:
                pass
            case _:
                self.waiting.add(life)
