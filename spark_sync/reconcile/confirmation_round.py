"""A round of questions to CDAP: the entities that are due, the time of the round, and the events of its answers.

The round ends at a time of the journal later than the last answer. The answers count once everything journalled until
then has been read, so the next run folds them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Settings, SourceSettings, SyncSettings
from ranger_cdap.wire.watermark import Watermark
from spark_sync.ledger.event import EntityEvent
from spark_sync.ledger.life import Life
from spark_sync.ledger.notes import Notes
from spark_sync.reconcile.cdap_existence import ask, existence_queries
from spark_sync.reconcile.confirmation import CdapAnswer, Round, events_of, questions
from spark_sync.reconcile.evaluation_client import EvaluationClient
from spark_sync.sources import service_watermarks
from spark_sync.sources.cdap_http import CdapHttp
from spark_sync.sources.line_reader import MOST_AHEAD

logger = logging.getLogger(__name__)

MOST: Final = 1_000
"""Most questions of one round."""

FIRST_PAUSE: Final = 10_000
LONGEST_PAUSE: Final = 600_000
"""Milliseconds until the same question is asked again; doubled each time, so that a long doubt costs little."""

_QUESTIONS: Final = "questions"

AskCdap = Callable[[Sequence[EntityId]], dict[EntityId, CdapAnswer]]


class LastQuestion(msgspec.Struct, frozen=True):
    """The last question about an entity: time (epoch milliseconds), repetitions so far, and reason."""

    at: int
    times: int
    why: str


def due(lives: Iterable[Life], asked: Mapping[str, LastQuestion], now: int, most: int = MOST) -> list[EntityId]:
    """Return the entities to ask about: new ones first, then by the time of the last question; oldest lives first.

    Questions about the same doubt are repeated at growing intervals.
    """
    of_entity = {life.entity: life for life in lives if life.entity.type in existence_queries()}
    waiting = []
    for entity in questions(of_entity.values()):
        life = of_entity[entity]
        last = asked.get(str(entity))
        if (
            last is None
            or last.why != _why(life)
            or now >= last.at + min(LONGEST_PAUSE, FIRST_PAUSE << min(last.times - 1, 10))
            or now < last.at
        ):
            waiting.append((last.at if last else 0, life.begun, entity))
    return [entity for *_, entity in sorted(waiting)[:most]]


def recorded_questions(
    lives: Iterable[Life], asked: Mapping[str, LastQuestion], about: Iterable[EntityId], now: int
) -> dict[str, LastQuestion]:
    """Return the questions to record after a round; those about settled doubts are dropped."""
    lately = frozenset(about)
    kept = {}
    for life in lives:
        last = asked.get(str(life.entity))
        same = last is not None and last.why == _why(life)
        if life.entity in lately:
            kept[str(life.entity)] = LastQuestion(now, last.times + 1 if last is not None and same else 1, _why(life))
        elif last is not None:
            kept[str(life.entity)] = last
    return kept


def confirm_round(
    settings: Settings,
    notes: Notes,
    lives: Sequence[Life],
    known: Mapping[str, Watermark],
    *,
    now: int,
    look: AskCdap | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[EntityEvent]:
    """Ask CDAP about the lives that depend on whether their entity exists; the events of its answers, for the ledger.

    Answers are dated by the journal of a decision service; without one CDAP is not asked.

    Args:
        notes: those of the ledger, which remember the questions.
        lives: those in a state of `UNDECIDED_STATES`.
        known: the watermarks that this run has read, by source; the answers are dated by one of these journals.
        now: the time of the run, in epoch milliseconds.
        look: asks CDAP; that of the settings if `None`.

    Raises:
        ConfigError: an address, the token or a file of certificates of `sync.confirm` cannot be used.
        SyncError: the notes cannot be read or written.
    """
    if not settings.sync.confirm.url:
        return []
    asked = notes.read(_QUESTIONS, dict[str, LastQuestion]) or {}
    entities, journal = due(lives, asked, now), _journal(settings.sync, known, now)
    if not entities or journal is None:
        return []
    source, before = journal
    found = look(entities) if look else _look(settings, entities)
    ended = service_watermarks.wait_past(lambda: _read_one(source), journal=before.service, clock=clock, sleep=sleep)
    if ended is None:
        logger.warning("CDAP's answers are discarded: the decision service of source `%s` is silent", source.name)
        return []
    notes.write(_QUESTIONS, recorded_questions(lives, asked, entities, now))
    return list(events_of(found, Round(str(now), source.name, before.watermark, ended)))


def _journal(sync: SyncSettings, known: Mapping[str, Watermark], now: int) -> tuple[SourceSettings, Watermark] | None:
    """Return the source whose journal has the latest watermark, and that watermark; none silent, ahead or replaced."""
    since = now - round(sync.hold_back * 1000)
    found = [
        (source, watermark)
        for source in service_watermarks.journalled_sources(sync.sources)
        if (watermark := _read_one(source)) is not None
        and since <= watermark.watermark <= now + MOST_AHEAD
        and source.name in known
        and watermark.service == known[source.name].service
    ]
    return max(found, key=lambda each: each[1].watermark, default=None)


def _read_one(source: SourceSettings) -> Watermark | None:
    return service_watermarks.read([source]).get(source.name)


@contextmanager
def confirm_clients(settings: Settings) -> Iterator[tuple[CdapHttp, EvaluationClient]]:
    """Return clients of CDAP and the decision service by `sync.confirm`, without a request.

    Raises:
        ConfigError: an address, the token or a file of certificates cannot be used.
    """
    confirm = settings.sync.confirm
    with (
        CdapHttp(
            confirm.url,
            network=settings.network,
            token_file=confirm.token_file,
            read_timeout=10.0,
            attempts=1,
        ) as cdap,
        EvaluationClient(settings) as service,
    ):
        yield cdap, service


def _look(settings: Settings, entities: Sequence[EntityId]) -> dict[EntityId, CdapAnswer]:
    with confirm_clients(settings) as (cdap, service):
        found = ask(entities, cdap, service.may_get)
        if service.problem:
            logger.warning("answers 404 of CDAP prove nothing: %s", service.problem)
    return found


def _why(life: Life) -> str:
    return f"{life.number} {life.state} {life.reason} {','.join(life.candidates)}"
