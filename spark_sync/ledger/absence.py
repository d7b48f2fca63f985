"""Proofs that an entity was absent, and deletions whose outcome is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import Outcome, Position
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.life import Life
from spark_sync.ledger.matching import Evidence, ExistenceAnswer
from spark_sync.ledger.request import EntityRequest, Interval


@dataclass(frozen=True, slots=True)
class Absence:
    """Proof that the entity did not exist at some moment of the interval.

    `by_request`: because a request deleted it; `reported_by`: as in `EntityRequest`.
    """

    interval: Interval
    position: Position
    by_request: bool = True
    reported_by: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, deletion: EntityRequest) -> Absence:
        """Return the proof given by a deletion that certainly succeeded."""
        return cls(deletion.interval, deletion.position, reported_by=deletion.reported_by)

    @classmethod
    def by_answer(cls, answer: ExistenceAnswer) -> Absence:
        """Return the proof given by CDAP's answer that the entity does not exist."""
        return cls(answer.interval, Position(answer.interval.ended, True, "", answer.position_id), by_request=False)

    def is_at(self, end: Position) -> bool:
        """Return whether this ended a life at that position; its first record may have come from another source."""
        return self.position == end or (end.source, end.id) in self.reported_by


@dataclass(frozen=True, slots=True)
class Absences:
    """Proofs that an entity was absent, in order, and deletions with an unknown outcome."""

    proofs: tuple[Absence, ...]
    doubts: tuple[EntityRequest, ...]


def absences_of(entity: EntityId, evidence: Evidence, settings: FoldSettings, listed: Life | None) -> Absences:
    """Return the absences of an entity.

    Proofs are corroborated deletions of the entity, of an ancestor or of its last known version that succeeded, and
    answers of CDAP. `listed`: its newest life that began without a request, when it was known to exist.
    """
    if not evidence.deletions and not evidence.gone:
        return Absences((), ())
    whole = [request for request in evidence.deletions if not (request.version and request.entity == entity)]
    single = [request for request in evidence.deletions if request.version and request.entity == entity]
    ends = [request for request in whole if _ends(request, settings)]
    proofs = [Absence.of(request) for request in ends]
    proofs += [
        Absence.by_answer(answer)
        for answer in evidence.gone
        if not _may_be_created_at(answer.interval, evidence.creations, settings)
    ]
    doubts = [request for request in whole if request not in ends]
    for request in single:
        left = _left_by(request, evidence.creations, single, proofs, settings, listed)
        if left is None:
            doubts.append(request)
        elif not left:
            proofs.append(Absence.of(request))
    return Absences(tuple(sorted(proofs, key=lambda proof: proof.position)), tuple(doubts))


def counts(request: EntityRequest, settings: FoldSettings) -> bool:
    """Return whether a request succeeded and may begin or end a life on its own."""
    reliable = request.authoritative and not settings.journals
    return request.outcome is Outcome.DONE and (request.corroborated or settings.uncorroborated or reliable)


def _ends(request: EntityRequest, settings: FoldSettings) -> bool:
    confirmed = request.outcome is Outcome.DONE and request.confirmed
    return request.settled and (confirmed or counts(request, settings))


def _may_be_created_at(asked: Interval, creations: Sequence[EntityRequest], settings: FoldSettings) -> bool:
    """Return whether a request that may create the entity was in progress when CDAP was asked."""
    return any(
        not creation.was_over(asked, settings.skew) and not asked.precedes(creation.interval, settings.skew)
        for creation in creations
    )


def _left_by(
    deletion: EntityRequest,
    creations: Sequence[EntityRequest],
    deletions: Sequence[EntityRequest],
    proofs: Sequence[Absence],
    settings: FoldSettings,
    listed: Life | None,
) -> set[str] | None:
    """Return the versions left after one was deleted; `None` if unknown."""
    if not (deletion.settled and counts(deletion, settings)):
        return None
    skew = settings.skew
    since = listed.begun.time if listed else 0
    before = [
        proof for proof in proofs if proof.position.time > since and proof.interval.precedes(deletion.interval, skew)
    ]
    mine = [
        creation
        for creation in creations
        if not deletion.interval.precedes(creation.interval, skew)
        and not any(creation.was_over(proof.interval, skew) for proof in before)
    ]
    if any(not (creation.version and counts(creation, settings)) for creation in mine):
        return None
    versions = () if before or listed is None else listed.versions
    if versions is None:
        return None
    ended = [
        each
        for each in deletions
        if each.settled and counts(each, settings) and not deletion.interval.precedes(each.interval, skew)
    ]
    left = {*versions} - {each.version for each in ended}
    for creation in mine:
        gone = any(
            each.version == creation.version and creation.interval.precedes(each.interval, skew) for each in ended
        )
        if not gone:
            if not creation.interval.precedes(deletion.interval, skew):
                return None
            left.add(creation.version)
    return left


def is_doubtful(request: EntityRequest, settings: FoldSettings) -> bool:
    """Return whether a request without proof leaves a doubt; one still in progress does not yet."""
    return settings.is_lost(request.interval.journal, request.lost_at) if request.is_open else request.settled
