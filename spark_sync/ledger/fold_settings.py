"""Inputs of the fold besides events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ranger_cdap.engine import AS_GIVEN, NameTransformation, UncertainName
from ranger_cdap.wire.record_events import UNFINISHED_AFTER
from spark_sync.ledger.event import NEVER, EntityEvent, Stage
from spark_sync.ledger.life import GrantTerms
from spark_sync.ledger.request import UNKNOWN


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """Settings of the fold; all times are milliseconds.

    `baseline`: when the inventory was taken; `None` without a valid one. `gives`: the access types of a creator, by
    entity type, `terms`: the settings that decide them. `non_creators`: users who never receive grants, unless `mapped`
    to another user; both are by the names that `names` makes of CDAP's. `ranks` of sources:
    the highest names the user if no check does. `impersonated`: whether the impersonated user or the requester is the
    creator. `skew`: the greatest difference between the clocks of two processes. `unfinished_after`: when an allowed
    request without an end counts as lost. `journals`: the current time of each source that holds the check journal of
    a decision service. `horizons`: events that these sources received before that time are decided, because every check
    that could contradict them is known. `held`: for events of these sources received until then the hold-back is over,
    by the clock that stamped them, so that the lines of all other sources are known too. `until`: later events of other
    sources are not decided yet. `latest`: later times of reception are of a clock that is wrong. `named_elsewhere`:
    whether other sources may name the user of a request that CDAP ran as another user. `uncorroborated`: whether
    requests without a journalled check count. `recordless`: sources whose CDAP delivers no records, so that the end of
    a check is never known.
    """

    baseline: int | None = None
    gives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    terms: GrantTerms | None = None
    non_creators: frozenset[str] = frozenset()
    mapped: Mapping[str, str] = field(default_factory=dict)
    names: NameTransformation = AS_GIVEN
    ranks: Mapping[str, int] = field(default_factory=dict)
    impersonated: Literal["owner", "requester"] = "owner"
    skew: int = 2_000
    unfinished_after: int = round(UNFINISHED_AFTER * 1000)
    journals: Mapping[str, int] = field(default_factory=dict)
    horizons: Mapping[str, int] = field(default_factory=dict)
    held: Mapping[str, int] = field(default_factory=dict)
    until: int = NEVER
    latest: int = NEVER
    named_elsewhere: bool = False
    uncorroborated: bool = False
    recordless: frozenset[str] = frozenset()

    @property
    def decided(self) -> int:
        """Return the time before which every event is decided, whatever its source."""
        return min([self.until, *self.horizons.values(), *self.held.values()])

    def creator_of(self, event: EntityEvent) -> str:
        """Return the creator that the event names; `UNKNOWN` if it names no user who may be one."""
        is_sent = self.impersonated == "requester" and event.requester
        return self.creator_named(event.requester if is_sent else event.user)

    def creator_named(self, user: str) -> str:
        """Return the creator whom a user of CDAP is; `UNKNOWN` if no possible one."""
        try:
            user = self.names.user(user)
        except UncertainName:
            return UNKNOWN
        user = self.mapped.get(user, user)
        return UNKNOWN if user in self.non_creators else user

    def received(self, event: EntityEvent) -> int:
        """Return when the event was received; by CDAP's clock, plus the skew, if that of the service is wrong."""
        if event.received <= self.latest:
            return event.received
        return self.skew + (event.started if event.ended == NEVER else max(event.started, event.ended))

    def is_settled(self, event: EntityEvent) -> bool:
        """Return whether everything that could contradict the event is known, if its checks are journalled."""
        if event.stage is Stage.ANSWER:
            return event.ended < self.horizons.get(event.clock, self.until)
        if event.source in self.horizons:
            return self.received(event) < self.horizons[event.source]
        return event.started <= self.until

    def is_held_back(self, event: EntityEvent) -> bool:
        """Return whether sources without a journal may still report what contradicts the event."""
        if event.source in self.horizons:
            return self.received(event) > self.held.get(event.source, self.until)
        return event.started > self.until

    def is_lost(self, journal: str, lost_at: int) -> bool:
        """Return whether a request without an end counts as lost, by its journal's clock; true without a journal."""
        return lost_at <= self.journals.get(journal, lost_at)

    def may_be_named(self, event: EntityEvent) -> bool:
        """Return whether a source may still name another sender of a request whose check names no creator.

        A line that is there already may be of a later request, whose check no watermark has passed.
        """
        return self.named_elsewhere and self.is_held_back(event)
