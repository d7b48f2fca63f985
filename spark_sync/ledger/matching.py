"""Matching of events to requests: several sources may report the same request.

A check that the decision service journalled and the record that repeats its id are one request (`recorded_request`). A
line of the router's log, or a message of CDAP, that fits such a request names its user only if the check names no
possible creator: CDAP runs some requests as its master user.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import NEVER, ChangeKind, EntityEvent, Outcome, Stage
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.recorded_request import RecordedRequest, match_checks, without_spared
from spark_sync.ledger.refusal import Refusals
from spark_sync.ledger.request import UNKNOWN, EntityRequest, Interval

_SECOND: Final = 1_000
"""Precision, in milliseconds, of the start time in a log without end times."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence about an entity: requests that may have created or deleted it, and CDAP's answers.

    Requests that changed nothing are left out. `exists`, `gone`: the answers that it exists, and that it does not;
    `early`: those that it does not, where what contradicts them may not be known yet.
    """

    creations: tuple[EntityRequest, ...]
    deletions: tuple[EntityRequest, ...]
    exists: tuple[ExistenceAnswer, ...]
    gone: tuple[ExistenceAnswer, ...]
    early: tuple[ExistenceAnswer, ...]


@dataclass(frozen=True, slots=True)
class ExistenceAnswer:
    """CDAP's answer about an entity; `author` of its oldest version, created at `authored` (0: not named)."""

    interval: Interval
    position_id: str
    author: str
    authored: int


def concerns(entity: EntityId, event: EntityEvent) -> bool:
    """Return whether an event concerns the entity: its own, one of an ancestor, or a check of an ancestor."""
    if event.entity == entity:
        return not event.child
    if event.child:
        return event.child == entity.type and entity.is_within(event.entity)
    if event.stage is Stage.ANSWER or not entity.is_within(event.entity):
        return False
    return event.kind is ChangeKind.DELETE or entity.type in load_creations().replaced.get(event.entity.type, ())


def _as_of(entity: EntityId, event: EntityEvent) -> EntityEvent:
    """Return the event as it affects the entity: the creation of an ancestor that replaces it deletes it."""
    if event.kind is ChangeKind.CREATE and event.entity != entity and not event.child:
        return replace(event, kind=ChangeKind.DELETE, version="")
    return event


def evidence_of(entity: EntityId, events: Iterable[EntityEvent], settings: FoldSettings) -> Evidence:
    """Return the evidence of events about the entity; order, number and batches of the events do not matter."""
    mine = sorted(
        {(event.source, event.id): _as_of(entity, event) for event in events if concerns(entity, event)}.values(),
        key=lambda event: (event.position, event.stage),
    )
    by_stage: dict[Stage, list[EntityEvent]] = {stage: [] for stage in Stage}
    for event in mine:
        by_stage[event.stage].append(event)
    checked, open_checks, unchecked = match_checks(by_stage[Stage.CHECK], by_stage[Stage.REQUEST], settings)
    if refused := by_stage[Stage.REFUSED]:
        checked = without_spared(checked, open_checks, Refusals.of(entity, refused), settings)
    requests = _match_views(checked, [*unchecked, *by_stage[Stage.MESSAGE]], open_checks, settings)
    known = {check.check for check in by_stage[Stage.CHECK]}
    requests += [_rejected(event) for event in by_stage[Stage.REJECTED] if event.check not in known]
    answers = [event for event in by_stage[Stage.ANSWER] if settings.is_settled(event)]
    early = (event for event in by_stage[Stage.ANSWER] if not settings.is_settled(event))
    return Evidence(
        creations=tuple(request for request in requests if request.kind is ChangeKind.CREATE),
        deletions=tuple(request for request in requests if request.kind is ChangeKind.DELETE),
        exists=tuple(_answer(event) for event in answers if event.kind is ChangeKind.CREATE),
        gone=tuple(_answer(event) for event in answers if event.kind is ChangeKind.DELETE),
        early=tuple(_answer(event) for event in early if event.kind is ChangeKind.DELETE),
    )


def _match_views(
    checked: Sequence[RecordedRequest],
    others: Sequence[EntityEvent],
    open_checks: Sequence[EntityEvent],
    settings: FoldSettings,
) -> list[EntityRequest]:
    """Return the requests; lines and messages that fit one of them count as other views of it."""
    views: dict[int, list[int]] = {
        n: [m for m, seen in enumerate(checked) if _is_view(other, seen, settings)] for n, other in enumerate(others)
    }
    found = []
    explained: set[int] = set()
    for m, seen in enumerate(checked):
        user = settings.creator_of(seen.record)
        mine = [n for n, fitting in views.items() if m in fitting]
        users, naming = {user}, list[EntityEvent]()
        if user == UNKNOWN:
            naming = _naming([others[n] for n in mine], checked, open_checks, settings)
            users = _named_by(naming, checked, open_checks, settings)
        any_user = seen.check is not None or user == UNKNOWN
        explained.update(n for n in mine if any_user or settings.creator_of(others[n]) in (user, UNKNOWN))
        if seen.outcome is not Outcome.NOTHING:
            confirmed = any(
                views[n] == [m] and _confirms(others[n], seen, open_checks, settings) for n in explained & {*mine}
            )
            seen_by = seen.records.union((others[n].source, others[n].id) for n in explained & {*mine})
            request = _request(seen, frozenset(users), naming, settings)
            found.append(replace(request, confirmed=confirmed, reported_by=seen_by))
    waiting = list(open_checks)
    found += [
        _unmatched(other, waiting, settings)
        for n, other in enumerate(others)
        if n not in explained and _may_report_change(other, settings)
    ]
    return found + [_open(check, settings) for check in waiting if check.outcome is not Outcome.NOTHING]


def _confirms(
    other: EntityEvent, seen: RecordedRequest, open_checks: Sequence[EntityEvent], settings: FoldSettings
) -> bool:
    """Return whether a line or a message confirms a record and cannot mean a request whose record is missing."""
    return (
        other.outcome is Outcome.DONE
        and other.source != seen.record.source
        and settings.creator_of(other) == settings.creator_of(seen.record)
        and not any(_may_be_check_of(check, other, settings) for check in open_checks)
    )


def _may_report_change(other: EntityEvent, settings: FoldSettings) -> bool:
    """Return whether a line that fits no record may report a change.

    If checks are journalled, a failed request without a record or check of its own was denied.
    """
    return other.outcome is Outcome.DONE or (other.outcome is Outcome.UNCLEAR and not settings.journals)


def _is_view(other: EntityEvent, seen: RecordedRequest, settings: FoldSettings) -> bool:
    """Return whether a line or a message may be about this request."""
    record = seen.record
    of_it = other.entity == record.entity or (
        record.kind is ChangeKind.DELETE and other.entity.is_within(record.entity)
    )
    if other.kind is not record.kind or not of_it:
        return False
    if other.request and record.request and other.request != record.request:
        return False
    begun = min(record.requested or record.started, record.started)
    ended = other.started + _SECOND if other.ended == NEVER else other.ended
    return other.started - settings.skew <= seen.ended and begun <= ended + settings.skew


def _naming(
    views: Sequence[EntityEvent],
    checked: Sequence[RecordedRequest],
    open_checks: Sequence[EntityEvent],
    settings: FoldSettings,
) -> list[EntityEvent]:
    """Return the lines of the highest rank that may name the sender of a request whose check names no creator.

    A message of CDAP names the user of its check, so one that names another user is not about this request. A line that
    fits a request of its own user is about that one, also if its record is missing.
    """
    own = [seen for seen in checked if settings.creator_of(seen.record) != UNKNOWN]

    def is_of_its_own(line: EntityEvent) -> bool:
        user = settings.creator_of(line)
        return any(_is_view(line, seen, settings) and settings.creator_of(seen.record) == user for seen in own) or any(
            _may_be_check_of(check, line, settings) and settings.creator_of(check) == user for check in open_checks
        )

    lines = [view for view in views if view.stage is Stage.REQUEST and settings.creator_of(view) != UNKNOWN]
    # Before their own lines are left out: a source of lower rank names no one where a higher one saw the request.
    rank = max((settings.ranks.get(line.source, 0) for line in lines), default=0)
    return [line for line in lines if settings.ranks.get(line.source, 0) == rank and not is_of_its_own(line)]


def _named_by(
    naming: Sequence[EntityEvent],
    checked: Sequence[RecordedRequest],
    open_checks: Sequence[EntityEvent],
    settings: FoldSettings,
) -> set[str]:
    """Return who may have sent a request whose check names no creator: the users in these lines.

    If more requests than lines may be meant, a line is missing, and the sender may be anyone.
    """
    unnamed = [seen for seen in checked if settings.creator_of(seen.record) == UNKNOWN]
    meant = sum(any(_is_view(view, seen, settings) for view in naming) for seen in unnamed)
    meant += sum(
        any(_may_be_check_of(check, view, settings) for view in naming)
        for check in open_checks
        if settings.creator_of(check) == UNKNOWN
    )
    users = {settings.creator_of(view) for view in naming}
    return users if len(naming) >= meant > 0 else users | {UNKNOWN}


def _request(
    seen: RecordedRequest, users: frozenset[str], naming: Sequence[EntityEvent], settings: FoldSettings
) -> EntityRequest:
    record = replace(seen.record, received=seen.stored)
    unnamed = settings.creator_of(record) == UNKNOWN and settings.may_be_named(record)
    return EntityRequest(
        entity=record.entity,
        kind=record.kind,
        users=users | {UNKNOWN} if unnamed else users,  # another line may name another user
        interval=seen.interval,
        outcome=seen.outcome,
        position=record.position,
        corroborated=seen.check is not None,
        settled=_is_settled(record, seen.check, settings) and not unnamed,
        version=record.version,
    )


def _is_settled(event: EntityEvent, check: EntityEvent | None, settings: FoldSettings) -> bool:
    """Return whether everything that could contradict the event is known.

    Without a journalled check of its own a creation may have rivals without one, who are known by their records only.
    """
    may_have_rivals = check is None and event.kind is ChangeKind.CREATE and settings.is_held_back(event)
    return not may_have_rivals and settings.is_settled(event)


def _unmatched(other: EntityEvent, waiting: list[EntityEvent], settings: FoldSettings) -> EntityRequest:
    """Return the request of a line or message that fits no record; an open check that fits it counts as its own."""
    ended = other.ended if other.ended < NEVER else other.started + settings.unfinished_after
    mine = (check for check in waiting if check.user == other.user)
    own = next((check for check in mine if _may_be_check_of(check, other, settings)), None)
    interval = Interval(other.started, ended)
    if own is not None:
        waiting.remove(own)
        last = max(ended, own.started)
        interval = replace(interval, started=min(own.started, other.started), ended=last, journal=own.source,
                           journalled=own.received, behind=own.received - own.started)  # fmt: skip
    return EntityRequest(
        entity=other.entity,
        kind=other.kind,
        users=frozenset({settings.creator_of(own or other)}),
        interval=interval,
        outcome=other.outcome,
        position=other.position,
        authoritative=other.stage is Stage.MESSAGE,
        checked=own is not None,
        reported_by=frozenset({(other.source, other.id)}),
        settled=_is_settled(other, own, settings),
        version=other.version,
    )


def _may_be_check_of(check: EntityEvent, other: EntityEvent, settings: FoldSettings) -> bool:
    """Return whether a journalled check fits a line or a message, regardless of the user."""
    if check.kind is not other.kind or check.entity != other.entity:
        return False
    first, then = (check, other) if other.stage is Stage.MESSAGE else (other, check)
    return first.started - settings.skew <= then.started <= first.started + settings.unfinished_after + settings.skew


def _open(check: EntityEvent, settings: FoldSettings) -> EntityRequest:
    """Return an allowed request whose end is unknown; without records it is never known."""
    request = EntityRequest(
        entity=check.entity,
        kind=check.kind,
        users=frozenset({settings.creator_of(check)}),
        interval=Interval.of_check(check, NEVER),
        outcome=Outcome.UNCLEAR,
        position=check.position,
        version=check.version,
        lost_at=settings.received(check) + settings.unfinished_after,
    )
    if check.source not in settings.recordless:
        return request
    interval = replace(request.interval, ended=check.started + settings.unfinished_after)
    return replace(request, interval=interval, settled=settings.is_lost(check.source, request.lost_at), lost_at=NEVER)


def _rejected(event: EntityEvent) -> EntityRequest:
    """Return a request reported only by a rejected line: its user is unknown."""
    return EntityRequest(
        entity=event.entity,
        kind=event.kind,
        users=frozenset({UNKNOWN}),
        interval=Interval(event.started, event.ended, store=event.source, stored=event.received or NEVER),
        outcome=Outcome.UNCLEAR,
        position=event.position,
        version=event.version,
    )


def _answer(event: EntityEvent) -> ExistenceAnswer:
    interval = Interval(
        event.started, event.ended, journal=event.clock, journalled=event.started, store=event.clock, stored=event.ended
    )
    return ExistenceAnswer(interval, event.id, event.user, event.requested)
