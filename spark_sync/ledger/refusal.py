"""Refused checks: the deletion of a namespace ends with one, and leaves the rest as it was. Pure.

Law: a refusal counts only if the decision service journalled it and a record of the same request, sent with another
secret, names it; and only along the order of `deletions.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ranger_cdap.cdap.deletions import DeletionStep, deletion_steps, may_be_refused
from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.request import Interval

_FAILED: Final = " 409"
"""The end of `request` where CDAP could not delete a namespace."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A request to delete: its journalled check, its record (the check, if none is known), and when it took effect."""

    record: EntityEvent
    check: EntityEvent
    interval: Interval

    @property
    def is_open(self) -> bool:
        """Return whether no record says how it ended."""
        return self.record is self.check


@dataclass(frozen=True, slots=True)
class Refusals:
    """The refused checks that both the journal and a record name, about one entity, by the records that name them."""

    entity: EntityId
    named: Sequence[EntityEvent]

    @classmethod
    def of(cls, entity: EntityId, events: Iterable[EntityEvent]) -> Refusals:
        """Return those of the events of `Stage.REFUSED`; a journalled one belongs to no request yet."""
        events = list(events)
        journalled = {event.check: event for event in events if not event.request}
        named = (event for event in events if event.request and may_be_refused(event.refused))
        return cls(entity, [event for event in named if _repeats(journalled.get(event.check), event)])

    def spared(self, deletions: Sequence[Deletion], skew: int) -> set[str]:
        """Return the ids of the checks of those deletions that left the entity as it was, if they did not succeed.

        `deletions`: all that are known of the entity and of what it is in.
        """
        step = deletion_steps().get(self.entity.type)
        if step is None or not self.named:
            return set()
        whole = [each for each in deletions if each.check.entity.type == "namespace"]
        spared = {each.check.check for each in deletions if self._is_refused_first(each)}
        own = [
            each.check for each in deletions if each.check.entity.type != "namespace" and each.check.check not in spared
        ]
        for each in whole:
            if refused := self._end_of(each, whole):
                may_be_own = any(_may_be_during(check, each.interval, skew) for check in own)
                if refused.place < step.place or (refused.place == step.place and not may_be_own):
                    spared.add(each.check.check)
        return spared

    def _is_refused_first(self, deletion: Deletion) -> bool:
        """Return whether its request had checked the entity, and was refused another one before it deleted any."""
        kind = deletion.record.entity.type
        steps = deletion_steps()
        return kind in steps and any(
            steps[each.refused].all_first and each.refused == kind and _is_of_one_record(each, deletion.record)
            for each in self.named
        )

    def _end_of(self, deletion: Deletion, all_: Sequence[Deletion]) -> DeletionStep | None:
        """Return the step in which the deletion of the namespace was refused a check; `None` if that is not certain."""
        found = {each.check: each for each in self.named if _is_of(each, deletion)}
        if len(found) != 1:
            return None
        (refusal,) = found.values()
        return deletion_steps()[refusal.refused] if sum(_is_of(refusal, each) for each in all_) == 1 else None


def _repeats(journalled: EntityEvent | None, named: EntityEvent) -> bool:
    """Return whether a record names the journalled refusal; they must have been sent with different secrets."""
    return (
        journalled is not None
        and journalled.caller != named.caller
        and (journalled.entity, journalled.refused, journalled.user, journalled.clock, journalled.started)
        == (named.entity, named.refused, named.user, named.clock, named.started)
    )


def _is_of(refusal: EntityEvent, deletion: Deletion) -> bool:
    """Return whether a refused check is one of the deletion of a namespace, or of a request that it sent."""
    record = deletion.record
    if not (record.request.endswith(_FAILED) or deletion.is_open):
        return False
    if (refusal.user, refusal.clock, refusal.entity) != (record.user, record.clock, record.entity):
        return False
    if not deletion_steps()[refusal.refused].separate:
        return _is_of_one_record(refusal, record)
    return deletion.check.started <= refusal.requested <= refusal.started <= refusal.ended <= record.ended


def _is_of_one_record(refusal: EntityEvent, record: EntityEvent) -> bool:
    return (refusal.user, refusal.clock, refusal.requested, refusal.ended, refusal.request) == (
        record.user, record.clock, record.requested, record.ended, record.request,
    )  # fmt: skip


def _may_be_during(check: EntityEvent, interval: Interval, skew: int) -> bool:
    """Return whether a check may have been made while a request took effect."""
    at = Interval.of_check(check, check.started, check.source, check.received)
    return not (at.precedes(interval, skew) or interval.precedes(at, skew))
