"""Mutants of the rule: each leaves out one clause, and the simulation must find a breach of a law with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from spark_sync.ledger import absence, fold, matching, recorded_request, refusal
from spark_sync.ledger.absence import Absence
from spark_sync.ledger.event import NEVER, Outcome, Position
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.request import UNKNOWN, Interval
from spark_sync.sources import service_watermarks
from tests.simulation.people_mutants import PEOPLE_MUTANTS

Mutant = Callable[[], Any]

_author = fold._EntityFold._author
_claim = fold._EntityFold._claim
_named_by = matching._named_by
_concerns = matching.concerns
_open = matching._open
_steps = refusal.deletion_steps
_refusals = refusal.Refusals.of
_left_by = absence._left_by
_naming = matching._naming
_horizons = service_watermarks.horizons
_united = recorded_request._united
_contested = fold.contested


def _swap(owner: Any, name: str, new: Any) -> Mutant:
    return lambda: patch.object(owner, name, new)


def _by_started(check: Any, records: Any) -> Any:
    """The interval of a request from its arrival to its end, as if CDAP acted before it checked."""
    seen = _united(check, records)
    return replace(seen, check=replace(check, started=seen.record.requested))


@contextmanager
def _earliest_arrival_wins() -> Iterator[None]:
    def claim(self: Any, first: Any, floor: Any) -> Any:
        found = _claim(self, first, floor)
        return replace(found, users=first.users, doubt="")

    with patch.object(fold._EntityFold, "_claim", claim), patch.object(recorded_request, "_united", _by_started):
        yield


@contextmanager
def _overlap_of_users_is_no_matter() -> Iterator[None]:
    def claim(self: Any, first: Any, floor: Any) -> Any:
        return replace(_claim(self, first, floor), users=first.users)

    with patch.object(fold._EntityFold, "_claim", claim):
        yield


@contextmanager
def _overlap_with_a_deletion_is_no_matter() -> Iterator[None]:
    def claim(self: Any, first: Any, floor: Any) -> Any:
        found = _claim(self, first, floor)
        return found if not found.doubt else replace(found, users=first.users, doubt="")

    with patch.object(fold._EntityFold, "_claim", claim):
        yield


def _no_open_check(check: Any, settings: Any) -> Any:
    return replace(_open(check, settings), interval=Interval(NEVER, NEVER))


def _forgotten_when_lost(check: Any, settings: Any) -> Any:
    found = _open(check, settings)
    lost = found.lost_at <= settings.journals[check.source]
    return replace(found, interval=Interval(NEVER, NEVER)) if lost else found


def _no_end_no_doubt(check: Any, settings: Any) -> Any:
    found = _open(check, settings)
    return replace(found, settled=False) if check.source in settings.recordless else found


def _whatever_was_deleted(self: Any, rivals: Any, deletions: Any) -> Any:
    return _author(self, rivals, ())


def _names_whoever_is_there(views: Any, checked: Any, open_checks: Any, settings: Any) -> Any:
    return _named_by(views, [], [], settings) - {UNKNOWN} or {settings.creator_of(v) for v in views} or {UNKNOWN}


def _own_lines_of_records_only(views: Any, checked: Any, open_checks: Any, settings: Any) -> Any:
    return _naming(views, checked, [], settings)


def _own_lines_before_ranks(views: Any, checked: Any, open_checks: Any, settings: Any) -> Any:
    """The lines that remain of a lower rank name the sender."""
    by_rank = [_naming([view], checked, open_checks, settings) for view in views]
    return _naming([view for found in by_rank for view in found], checked, open_checks, settings)


def _own_watermark_only(sources: Any, watermarks: Any, **now: Any) -> Any:
    found = _horizons(sources, watermarks, **now)
    return replace(found, horizons={name: max(found.horizons[name], mark) for name, mark in found.journals.items()})


def _ahead_lets_others_decide(sources: Any, watermarks: Any, **now: Any) -> Any:
    """A mark far ahead counts for all horizons; what it stamps is still told by CDAP's clock."""
    sane = _horizons(sources, watermarks, **now)
    with patch("spark_sync.sources.service_watermarks.MOST_AHEAD", NEVER):
        return replace(_horizons(sources, watermarks, **now), latest=sane.latest)


def _doubt_keeps_the_grant(life: Any, users: Any, doubt: Any) -> Any:
    return replace(_contested(life, users, doubt), revoke=False)


def _owner_moves(life: Any, users: Any, doubt: Any) -> Any:
    """The life goes to whom the late evidence names, if it names one."""
    others = users - {life.creator, life.former, UNKNOWN}
    return replace(life, creator=min(others)) if len(others) == 1 and life.creator else _contested(life, users, doubt)


def _one_clock(self: Interval, other: Interval, skew: int) -> bool:
    return self.ended < other.started


def _not_what_it_is_in(entity: Any, event: Any) -> bool:
    return _concerns(entity, event) and event.entity == entity


def _backwards() -> Any:
    return {name: replace(step, place=-step.place) for name, step in _steps().items()}


def _by_the_record_alone(entity: Any, events: Any) -> Any:
    return refusal.Refusals(entity, [event for event in events if event.request])


def _by_the_journal_alone(entity: Any, events: Any) -> Any:
    """As if a record of CDAP's own request had named every refused check that was journalled."""
    named = [
        replace(event, request="403", requested=event.started, ended=event.started)
        for event in events
        if not event.request
    ]
    return refusal.Refusals(entity, named)


def _ends_with_any_version(*args: Any) -> Any:
    return set()


def _ends_with_no_version(*args: Any) -> Any:
    return {"some"}


def _trust_all(request: Any, settings: Any) -> bool:
    return request.outcome is Outcome.DONE


def _by_proofs_alone(history: fold._EntityFold, end: Position) -> Interval:
    known = (*history.absences.proofs, *map(Absence.of, history.absences.doubts))
    return next((proof.interval for proof in known if proof.is_at(end)), Interval(end.time, end.time))


RARE: Final = {
    "a line names the user though others are missing": 6_900,
    "a 404 counts though a creation is under way": 2_036,
    "a 200 restores whatever came between": 595,
    "an author is believed whatever was deleted since": 71_238,
    "without records a deletion without an end leaves no doubt": 2_469,
    "a line names the user before all lines are there": 601,
    "a user's line without its record names another's sender": 18_803,
    "what no service journalled waits for its watermark only": 11_050,
    "the watermark of another service is ignored": 930,
    "a clock far ahead lets others decide": 3_171,
    "a refusal counts that only a record names": 23_917,
    "a refusal counts that only the journal has": 1_840,
    "an answer that proves nothing any more ended nothing": 909_700,
}
"""Where the search begins for what few scenarios show."""

ZONE_FAULTS: Final = (
    "a grant is written outside of zones",
    "what went with its zone was taken",
    "a zone over a grant changes nothing",
    "a move leaves the old policy",
    "a grant ends in its own zone only",
)
"""Mutants of the simulation of people that this one must show as well."""

MUTANTS: dict[str, Mutant] = {
    "the earliest arrival wins": _earliest_arrival_wins,
    "creations of different users may overlap": _overlap_of_users_is_no_matter,
    "a creation may overlap a deletion": _overlap_with_a_deletion_is_no_matter,
    "an allowed request without an end contests nothing": _swap(matching, "_open", _no_open_check),
    "a lost request is forgotten": _swap(matching, "_open", _forgotten_when_lost),
    "what no service journalled begins lives": _swap(fold, "counts", _trust_all),
    "what no service journalled ends lives": _swap(absence, "_ends", _trust_all),
    "a line names the user though others are missing": _swap(matching, "_named_by", _names_whoever_is_there),
    "all processes have one clock": _swap(Interval, "precedes", _one_clock),
    "CDAP's clock counts although it was set": _swap(Interval, "_runs_on_to", lambda *_: True),
    "a deletion ends only what it names": _swap(matching, "concerns", _not_what_it_is_in),
    "the deletion of any version ends the life": _swap(absence, "_left_by", _ends_with_any_version),
    "the deletion of the last version ends nothing": _swap(absence, "_left_by", _ends_with_no_version),
    "a 404 counts though a creation is under way": _swap(absence, "_may_be_created_at", lambda *_: False),
    "a deletion that failed leaves no doubt": _swap(fold, "is_doubtful", lambda *_: False),
    "an author is believed whatever was deleted since": _swap(fold._EntityFold, "_author", _whatever_was_deleted),
    "without records a deletion without an end leaves no doubt": _swap(matching, "_open", _no_end_no_doubt),
    "a line names the user before all lines are there": _swap(FoldSettings, "may_be_named", lambda *_: False),
    "a user's line without its record names another's sender": _swap(matching, "_naming", _own_lines_of_records_only),
    "a line of lower rank names the user": _swap(matching, "_naming", _own_lines_before_ranks),
    "what no service journalled waits for its watermark only": _swap(FoldSettings, "is_held_back", lambda *_: False),
    "the watermark of another service is ignored": _swap(service_watermarks, "horizons", _own_watermark_only),
    "a refused check spares nothing": _swap(refusal.Refusals, "spared", lambda *_: set()),
    "a refused check spares what CDAP deletes before": _swap(refusal, "deletion_steps", _backwards),
    "a refused check spares what had a check of its own": _swap(refusal, "_may_be_during", lambda *_: False),
    "a refusal counts that only a record names": _swap(refusal.Refusals, "of", _by_the_record_alone),
    "a refusal counts that only the journal has": _swap(refusal.Refusals, "of", _by_the_journal_alone),
    "a clock far ahead is believed": _swap(service_watermarks, "MOST_AHEAD", NEVER),
    "a clock far ahead lets others decide": _swap(service_watermarks, "horizons", _ahead_lets_others_decide),
    "a doubt keeps the grant": _swap(fold, "contested", _doubt_keeps_the_grant),
    "late evidence moves the owner": _swap(fold, "contested", _owner_moves),
    "a 200 restores whatever came between": _swap(fold._EntityFold, "_others_between", lambda *_: frozenset()),
    "an answer that proves nothing any more ended nothing": _swap(fold._EntityFold, "_absent_at", _by_proofs_alone),
    **{name: PEOPLE_MUTANTS[name][0] for name in ZONE_FAULTS},
}
