"""Records and the journalled checks that they repeat: one request, reported by witnesses with different secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ranger_cdap.keyed import grouped
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.refusal import Deletion, Refusals
from spark_sync.ledger.request import Interval


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request by its record, and its journalled check; `records`: source and id of all its records.

    `agreed`: whether all of them report the same outcome.
    """

    record: EntityEvent
    check: EntityEvent | None
    outcome: Outcome
    ended: int
    stored: int
    records: frozenset[tuple[str, str]]
    agreed: bool = True

    @property
    def interval(self) -> Interval:
        """Return when it took effect, if it did."""
        record, check = self.record, self.check
        if check is None:
            return Interval(record.started, self.ended, store=record.source, stored=self.stored)
        return Interval.of_check(check, max(self.ended, check.started), record.source, self.stored)


def match_checks(
    checks: Sequence[EntityEvent], requests: Sequence[EntityEvent], settings: FoldSettings
) -> tuple[list[RecordedRequest], list[EntityEvent], list[EntityEvent]]:
    """Return requests with a check (journalled or claimed by a record), checks without a record, and other requests."""
    journalled = {name: first for name, (first, *_) in grouped((check.check, check) for check in checks).items()}
    recorded: dict[str, list[EntityEvent]] = {}
    forged: list[RecordedRequest] = []
    unchecked: list[EntityEvent] = []
    for record in requests:
        known = journalled.get(record.check)
        if not record.check:
            unchecked.append(record)
        elif known is not None and _repeats(known, record):
            recorded.setdefault(record.check, []).append(record)
        else:
            reported_by = frozenset({(record.source, record.id)})
            forged.append(RecordedRequest(record, None, record.outcome, record.ended, record.received, reported_by))
    corroborated = [_united(journalled[name], records) for name, records in recorded.items()]
    without_end = [check for name, check in journalled.items() if name not in recorded]
    return corroborated + forged, without_end, unchecked


def _repeats(check: EntityEvent, record: EntityEvent) -> bool:
    """Return whether the record repeats the journalled check; they must have been sent with different secrets."""
    return (
        (check.user, check.clock) == (record.user, record.clock)
        and check.caller != record.caller
        and (check.entity == record.entity or check.child == record.entity.type)
        and (check.kind is record.kind or bool(check.child))
    )


def _united(check: EntityEvent, records: Sequence[EntityEvent]) -> RecordedRequest:
    """Return the request of a check; if its records disagree, the outcome is unclear."""
    of_us = [record for record in records if record.entity != check.entity] or list(records)
    outcomes = {record.outcome for record in of_us}
    agreed = len(outcomes) == 1
    outcome = outcomes.pop() if agreed else Outcome.UNCLEAR
    record = of_us[0]
    return RecordedRequest(
        record,
        check,
        outcome,
        ended=max(each.ended for each in of_us),
        stored=max(each.received for each in of_us),
        records=frozenset((each.source, each.id) for each in of_us),
        agreed=agreed,
    )


def without_spared(
    checked: Sequence[RecordedRequest],
    open_checks: Sequence[EntityEvent],
    refusals: Refusals,
    settings: FoldSettings,
) -> list[RecordedRequest]:
    """Return the requests; a deletion that a refused check ended before it reached the entity changed nothing."""
    deletions = [
        Deletion(each.record, each.check, each.interval)
        for each in checked
        if each.check and each.record.kind is ChangeKind.DELETE
    ]
    opened = (each for each in open_checks if each.kind is ChangeKind.DELETE)
    deletions += [Deletion(each, each, Interval.of_check(each, NEVER)) for each in opened]
    spared = refusals.spared(deletions, settings.skew)

    def is_spared(each: RecordedRequest) -> bool:
        failed = each.agreed and each.outcome is Outcome.UNCLEAR and settings.is_settled(each.record)
        return failed and each.check is not None and each.check.check in spared

    return [replace(each, outcome=Outcome.NOTHING) if is_spared(each) else each for each in checked]
