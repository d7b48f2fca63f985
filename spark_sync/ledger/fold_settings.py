"""Inputs of the fold besides events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from spark_sync.ledger.event import NEVER, EntityEvent, Stage
from spark_sync.ledger.request import UNKNOWN


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """The rule's settings; all times are milliseconds.

    `baseline`: when the inventory was taken, `None` without one that still counts. `gives`: the access types a creator
    gets, by entity type; nothing where it has no row. `non_creators`: users who never get anything for it, unless
    `mapped` to somebody who does. `ranks` of sources: the highest names the user where no check does. `impersonated`:
    whether the impersonated user or the requester gets what was created for them. `skew`: by how much the clocks of
    two processes may differ. `unfinished_after`: when an allowed request without an end counts as lost. `journals`:
    the present time of each source that holds the check journal of a decision service. `horizons`: what these sources
    received before that time is decided, because all that could contradict it is known. `until`: what other sources
    tell of later times is not decided yet. `named_elsewhere`: whether other sources may name the user of a request
    that CDAP ran as somebody else. `uncorroborated`: whether requests whose checks nobody journalled count.
    `recordless`: the sources whose CDAP delivers no records, so that no check is ever known to have ended.
    """

    baseline: int | None = None
    gives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    non_creators: frozenset[str] = frozenset()
    mapped: Mapping[str, str] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    impersonated: Literal["owner", "requester"] = "owner"
    skew: int = 2_000
    unfinished_after: int = 600_000
    journals: Mapping[str, int] = field(default_factory=dict)
    horizons: Mapping[str, int] = field(default_factory=dict)
    until: int = NEVER
    named_elsewhere: bool = False
    uncorroborated: bool = False
    recordless: frozenset[str] = frozenset()

    def creator_of(self, event: EntityEvent) -> str:
        """The user who gets something for what the event says, `UNKNOWN` if it names nobody who may."""
        user = event.user
        if self.impersonated == "requester" and event.requester:
            user = event.requester
        user = self.mapped.get(user, user)
        return UNKNOWN if user in self.non_creators else user

    def is_settled(self, event: EntityEvent) -> bool:
        """Whether everything that could contradict the event is known."""
        if event.stage is Stage.ANSWER:
            return event.ended < self.horizons.get(event.clock, self.until)
        if event.source in self.horizons:
            return event.received < self.horizons[event.source]
        return event.started <= self.until

    def is_lost(self, journal: str, lost_at: int) -> bool:
        """Whether a request without an end counts as lost by now, by the clock of its journal; so where it has none."""
        return lost_at <= self.journals.get(journal, lost_at)

    def may_be_named(self, event: EntityEvent) -> bool:
        """Whether another source may still tell who sent a request whose check names no creator."""
        return self.named_elsewhere and event.source in self.horizons and event.received > self.until
