"""Mutants of the rule: each leaves out one clause, and the simulation must find a breach of a law with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from spark_sync.ledger import absence, fold, matching
from spark_sync.ledger.event import NEVER, Outcome
from spark_sync.ledger.request import UNKNOWN, Interval

Mutant = Callable[[], Any]

_author = fold._EntityFold._author
_claim = fold._EntityFold._claim
_named_by = matching._named_by
_concerns = matching.concerns
_open = matching._open
_left_by = absence._left_by
_united = matching._united


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

    with patch.object(fold._EntityFold, "_claim", claim), patch.object(matching, "_united", _by_started):
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


def _one_clock(self: Interval, other: Interval, skew: int) -> bool:
    return self.ended < other.started


def _not_what_it_is_in(entity: Any, event: Any) -> bool:
    return _concerns(entity, event) and event.entity == entity


def _ends_with_any_version(*args: Any) -> Any:
    return set()


def _ends_with_no_version(*args: Any) -> Any:
    return {"some"}


def _trust_all(request: Any, settings: Any) -> bool:
    return request.outcome is Outcome.DONE


RARE: Final = {
    "a line names the user though others are missing": 1_003,
    "a 404 counts though a creation is under way": 2_036,
    "a 200 restores whatever came between": 595,
    "an author is believed whatever was deleted since": 71_238,
    "without records a deletion without an end leaves no doubt": 2_469,
}
"""Where the search begins for what few scenarios show."""

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
    "a deletion ends only what it names": _swap(matching, "concerns", _not_what_it_is_in),
    "the deletion of any version ends the life": _swap(absence, "_left_by", _ends_with_any_version),
    "the deletion of the last version ends nothing": _swap(absence, "_left_by", _ends_with_no_version),
    "a 404 counts though a creation is under way": _swap(absence, "_may_be_created_at", lambda *_: False),
    "a deletion that failed leaves no doubt": _swap(fold, "is_doubtful", lambda *_: False),
    "an author is believed whatever was deleted since": _swap(fold._EntityFold, "_author", _whatever_was_deleted),
    "without records a deletion without an end leaves no doubt": _swap(matching, "_open", _no_end_no_doubt),
    "a 200 restores whatever came between": _swap(fold._EntityFold, "_others_between", lambda *_: frozenset()),
}
