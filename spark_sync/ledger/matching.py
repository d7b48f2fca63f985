"""From the lines of all sources to requests: one request is seen by several of them, and is one request.

A check that the decision service journalled and the record that repeats its id are one request, seen by witnesses with
different secrets. A line of the router's log, or a message of CDAP, that fits such a request names its user only where
its check names nobody who may be a creator: CDAP runs some requests as its master user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import NEVER, EntityEvent, Kind, Outcome, Stage
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.request import UNKNOWN, Interval, Request

_SECOND: Final = 1_000
"""A log that does not say when a request ended knows its beginning to the second, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of an entity: requests that may have created or deleted it, and what CDAP answered about it.

    A request that changed nothing is left out. `exists`, `gone`: when CDAP was asked; with the author and the time of
    the oldest version that it named, if it did.
    """

    creations: tuple[Request, ...]
    deletions: tuple[Request, ...]
    exists: tuple[Answer, ...]
    gone: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What CDAP answered; `author` of its oldest version, created at `authored` (0: not named)."""

    interval: Interval
    position_id: str
    author: str = ""
    authored: int = 0


def concerns(entity: EntityId, event: EntityEvent) -> bool:
    """Whether an event says something about the entity: its own, of what it is in, or a check of what it is in."""
    if event.entity == entity:
        return not event.child
    if event.child:
        return event.child == entity.type and entity.is_within(event.entity)
    if event.stage is Stage.ANSWER or not entity.is_within(event.entity):
        return False
    return event.kind is Kind.DELETE or entity.type in load_creations().replaced.get(event.entity.type, ())


def _as_of(entity: EntityId, event: EntityEvent) -> EntityEvent:
    """The event as the entity sees it: what creates the one it is in once more deletes it."""
    if event.kind is Kind.CREATE and event.entity != entity and not event.child:
        return replace(event, kind=Kind.DELETE, version="")
    return event


def evidence_of(entity: EntityId, events: Iterable[EntityEvent], settings: FoldSettings) -> Evidence:
    """What the events say about the entity; order, number and batches of the events do not matter."""
    mine = sorted(
        {(event.source, event.id): _as_of(entity, event) for event in events if concerns(entity, event)}.values(),
        key=lambda event: (event.position, event.stage),
    )
    by_stage: dict[Stage, list[EntityEvent]] = {stage: [] for stage in Stage}
    for event in mine:
        by_stage[event.stage].append(event)
    checked, open_checks, unchecked = _join(by_stage[Stage.CHECK], by_stage[Stage.REQUEST], settings)
    requests = _name(checked, [*unchecked, *by_stage[Stage.MESSAGE]], open_checks, settings)
    known = {check.check for check in by_stage[Stage.CHECK]}
    requests += [_rejected(event) for event in by_stage[Stage.REJECTED] if event.check not in known]
    answers = [event for event in by_stage[Stage.ANSWER] if settings.is_settled(event)]
    return Evidence(
        creations=tuple(request for request in requests if request.kind is Kind.CREATE),
        deletions=tuple(request for request in requests if request.kind is Kind.DELETE),
        exists=tuple(_answer(event) for event in answers if event.kind is Kind.CREATE),
        gone=tuple(_answer(event) for event in answers if event.kind is Kind.DELETE),
    )


@dataclass(frozen=True, slots=True)
class _Seen:
    """A request as a record tells it, and its check as the journal has it; `told`: source and id of all its records."""

    record: EntityEvent
    check: EntityEvent | None
    outcome: Outcome
    ended: int
    stored: int
    told: frozenset[tuple[str, str]]

    @property
    def interval(self) -> Interval:
        record, check = self.record, self.check
        if check is None:
            return Interval(record.started, self.ended, store=record.source, stored=self.stored)
        return Interval(
            check.started, max(self.ended, check.started), check.clock, check.source, check.received, record.source,
            self.stored,
        )  # fmt: skip


def _join(
    checks: Sequence[EntityEvent], requests: Sequence[EntityEvent], settings: FoldSettings
) -> tuple[list[_Seen], list[EntityEvent], list[EntityEvent]]:
    """Requests that the journal or a record tells of, checks without a record, and requests without a check."""
    journalled: dict[str, EntityEvent] = {}
    for check in checks:
        journalled.setdefault(check.check, check)
    told: dict[str, list[EntityEvent]] = {}
    forged: list[_Seen] = []
    unchecked: list[EntityEvent] = []
    for record in requests:
        known = journalled.get(record.check)
        if not record.check:
            unchecked.append(record)
        elif known is not None and _same(known, record):
            told.setdefault(record.check, []).append(record)
        else:
            told_by = frozenset({(record.source, record.id)})
            forged.append(_Seen(record, None, record.outcome, record.ended, record.received, told_by))
    corroborated = [_united(journalled[name], records) for name, records in told.items()]
    without_end = [check for name, check in journalled.items() if name not in told]
    return corroborated + forged, without_end, unchecked


def _same(check: EntityEvent, record: EntityEvent) -> bool:
    """Whether the journal's check is the one that the record repeats; the two must come with different secrets."""
    return (
        (check.user, check.clock) == (record.user, record.clock)
        and check.caller != record.caller
        and (check.entity == record.entity or check.child == record.entity.type)
        and (check.kind is record.kind or bool(check.child))
    )


def _united(check: EntityEvent, records: Sequence[EntityEvent]) -> _Seen:
    """The request of a check; where its records disagree, nobody can tell what it did."""
    of_us = [record for record in records if record.entity != check.entity] or list(records)
    outcomes = {record.outcome for record in of_us}
    outcome = outcomes.pop() if len(outcomes) == 1 else Outcome.UNCLEAR
    record = of_us[0]
    return _Seen(
        record,
        check,
        outcome,
        ended=max(each.ended for each in of_us),
        stored=max(each.received for each in of_us),
        told=frozenset((each.source, each.id) for each in of_us),
    )


def _name(
    checked: Sequence[_Seen], others: Sequence[EntityEvent], open_checks: Sequence[EntityEvent], settings: FoldSettings
) -> list[Request]:
    """The requests, with the lines and messages that fit one of them taken for other views of it."""
    views: dict[int, list[int]] = {
        n: [m for m, seen in enumerate(checked) if _is_view(other, seen, settings)] for n, other in enumerate(others)
    }
    found = []
    explained: set[int] = set()
    for m, seen in enumerate(checked):
        user = settings.creator_of(seen.record)
        mine = [n for n, fitting in views.items() if m in fitting]
        users = {user}
        if user == UNKNOWN:
            users = _named_by([others[n] for n in mine], checked, open_checks, settings)
        if seen.check is not None or user == UNKNOWN:
            explained.update(mine)
        else:
            explained.update(n for n in mine if settings.creator_of(others[n]) in (user, UNKNOWN))
        if seen.outcome is not Outcome.NOTHING:
            seconded = any(
                views[n] == [m] and _seconds(others[n], seen, open_checks, settings) for n in explained & {*mine}
            )
            seen_by = seen.told.union((others[n].source, others[n].id) for n in explained & {*mine})
            found.append(replace(_request(seen, frozenset(users), settings), seconded=seconded, told_by=seen_by))
    waiting = list(open_checks)
    for n, other in enumerate(others):
        if n not in explained and _may_be_true(other, settings):
            found.append(_alone(other, waiting, settings))
    return found + [_open(check, settings) for check in waiting if check.outcome is not Outcome.NOTHING]


def _seconds(other: EntityEvent, seen: _Seen, open_checks: Sequence[EntityEvent], settings: FoldSettings) -> bool:
    """Whether a line or a message says the same as a record, and cannot mean a request whose record is missing."""
    return (
        other.outcome is Outcome.DONE
        and other.source != seen.record.source
        and settings.creator_of(other) == settings.creator_of(seen.record)
        and not any(_may_be_check_of(check, other, settings) for check in open_checks)
    )


def _may_be_true(other: EntityEvent, settings: FoldSettings) -> bool:
    """Whether a line that fits no record may tell of a change.

    Where checks are journalled, a request that failed without a record or a check of its own was denied.
    """
    return other.outcome is Outcome.DONE or (other.outcome is Outcome.UNCLEAR and not settings.journals)


def _is_view(other: EntityEvent, seen: _Seen, settings: FoldSettings) -> bool:
    """Whether a line or a message may be about this very request."""
    record = seen.record
    of_it = other.entity == record.entity or (record.kind is Kind.DELETE and other.entity.is_within(record.entity))
    if other.kind is not record.kind or not of_it:
        return False
    if other.request and record.request and other.request != record.request:
        return False
    begun = min(record.requested or record.started, record.started)
    ended = other.started + _SECOND if other.ended == NEVER else other.ended
    return other.started - settings.skew <= seen.ended and begun <= ended + settings.skew


def _named_by(
    views: Sequence[EntityEvent],
    checked: Sequence[_Seen],
    open_checks: Sequence[EntityEvent],
    settings: FoldSettings,
) -> set[str]:
    """Who may have sent a request whose check names no creator: those whom the lines of the highest rank name.

    A message of CDAP names whom its check names, so one that names another is not about this request. A line that fits
    a request of its own user is about that one. Where more requests than lines may be meant, a line is missing, and it
    may have been anyone.
    """
    unnamed = [seen for seen in checked if settings.creator_of(seen.record) == UNKNOWN]
    own = [seen for seen in checked if settings.creator_of(seen.record) != UNKNOWN]
    naming = [
        view
        for view in views
        if view.stage is Stage.REQUEST
        and settings.creator_of(view) != UNKNOWN
        and not any(
            _is_view(view, s, settings) and settings.creator_of(s.record) == settings.creator_of(view) for s in own
        )
    ]
    rank = max((settings.ranks.get(view.source, 0) for view in naming), default=0)
    naming = [view for view in naming if settings.ranks.get(view.source, 0) == rank]
    meant = sum(any(_is_view(view, seen, settings) for view in naming) for seen in unnamed)
    meant += sum(
        any(_may_be_check_of(check, view, settings) for view in naming)
        for check in open_checks
        if settings.creator_of(check) == UNKNOWN
    )
    users = {settings.creator_of(view) for view in naming}
    return users if len(naming) >= meant > 0 else users | {UNKNOWN}


def _request(seen: _Seen, users: frozenset[str], settings: FoldSettings) -> Request:
    record = replace(seen.record, received=seen.stored)
    unnamed = UNKNOWN in users and settings.may_be_named(record)
    return Request(
        entity=record.entity,
        kind=record.kind,
        users=users,
        interval=seen.interval,
        outcome=seen.outcome,
        position=record.position,
        corroborated=seen.check is not None,
        settled=settings.is_settled(record) and not unnamed,
        version=record.version,
    )


def _alone(other: EntityEvent, waiting: list[EntityEvent], settings: FoldSettings) -> Request:
    """A line or a message that fits no record; a check without an end that fits it is taken for its own."""
    ended = other.ended if other.ended < NEVER else other.started + settings.unfinished_after
    own = next((check for check in waiting if _is_check_of(check, other, settings)), None)
    interval = Interval(other.started, ended)
    if own is not None:
        waiting.remove(own)
        last = max(ended, own.started)
        interval = replace(interval, started=min(own.started, other.started), ended=last, journal=own.source,
                           journalled=own.received)  # fmt: skip
    return Request(
        entity=other.entity,
        kind=other.kind,
        users=frozenset({settings.creator_of(own or other)}),
        interval=interval,
        outcome=other.outcome,
        position=other.position,
        authoritative=other.stage is Stage.MESSAGE,
        checked=own is not None,
        told_by=frozenset({(other.source, other.id)}),
        settled=settings.is_settled(other),
        version=other.version,
    )


def _is_check_of(check: EntityEvent, other: EntityEvent, settings: FoldSettings) -> bool:
    """Whether a journalled check is the one that a line, or a message, tells the end of."""
    return check.user == other.user and _may_be_check_of(check, other, settings)


def _may_be_check_of(check: EntityEvent, other: EntityEvent, settings: FoldSettings) -> bool:
    """Whether a journalled check fits a line, or a message, but perhaps for the user."""
    if check.kind is not other.kind or check.entity != other.entity:
        return False
    first, then = (check, other) if other.stage is Stage.MESSAGE else (other, check)
    return first.started - settings.skew <= then.started <= first.started + settings.unfinished_after + settings.skew


def _open(check: EntityEvent, settings: FoldSettings) -> Request:
    """An allowed request whose end is not known; where no records are delivered, its end is never known."""
    request = Request(
        entity=check.entity,
        kind=check.kind,
        users=frozenset({settings.creator_of(check)}),
        interval=Interval(check.started, NEVER, check.clock, check.source, check.received),
        outcome=Outcome.UNCLEAR,
        position=check.position,
        version=check.version,
        lost_at=check.received + settings.unfinished_after,
    )
    if check.source not in settings.recordless:
        return request
    interval = replace(request.interval, ended=check.started + settings.unfinished_after)
    return replace(request, interval=interval, settled=settings.is_lost(check.source, request.lost_at), lost_at=NEVER)


def _rejected(event: EntityEvent) -> Request:
    """A request of which only a rejected line tells: nobody can tell whose it was."""
    return Request(
        entity=event.entity,
        kind=event.kind,
        users=frozenset({UNKNOWN}),
        interval=Interval(event.started, event.ended, store=event.source, stored=event.received or NEVER),
        outcome=Outcome.UNCLEAR,
        position=event.position,
        version=event.version,
    )


def _answer(event: EntityEvent) -> Answer:
    interval = Interval(
        event.started, event.ended, journal=event.clock, journalled=event.started, store=event.clock, stored=event.ended
    )
    return Answer(interval, event.id, event.user, event.requested)
