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


@dataclass(eq=False, slots=True)
class PackedLives(Collection[Life]):
    """Lives in the order in which they were added; all but the last few are compressed."""

    _packs: list[bytes] = field(default_factory=list)
    _last: list[Life] = field(default_factory=list)

    def extend(self, lives: Iterable[Life]) -> None:
        """Add some."""
        for life in lives:
            self._last.append(life)
            if len(self._last) == _PACKED:
                self._packs.append(zlib.compress(msgspec.json.encode(self._last), 1))
                self._last = []

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
            self.revoked.extend([outcome.step.life])
        match life.state:
            case State.APPLIED:
                self.granted.extend([life])
            case State.KNOWN | State.BLOCKED:
                pass  # settled; what is blocked is listed in every run
            case State.CLOSED if not life.reason or RIGHTS_LEFT in life.reason:
                pass
            case _:
                self.waiting.extend([life])
