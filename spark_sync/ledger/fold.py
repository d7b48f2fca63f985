"""`fold`: from the events of one entity to its lives. Pure; order, number and batches of the events do not matter.

Law: the creator of a life is the user whose request created the entity, or no one. Decisions are final: an owner never
changes, but a life is contested or suspended when it becomes undecidable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import MARGIN
from spark_sync.ledger.absence import Absence, Absences, absences_of, counts, is_doubtful
from spark_sync.ledger.event import EntityEvent, Outcome, Position
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.grant_terms import NO_ACCESS_TO_TYPE
from spark_sync.ledger.ledger import History, LedgerChange, differences
from spark_sync.ledger.life import MANUAL, NOT_BY_REQUEST, RECONCILED, Life, State
from spark_sync.ledger.life_changes import contested, ended, restored, suspended
from spark_sync.ledger.matching import Evidence, ExistenceAnswer, evidence_of
from spark_sync.ledger.request import UNKNOWN, EntityRequest, Interval


def fold(
    entity: EntityId, events: Iterable[EntityEvent], decided: Sequence[Life], settings: FoldSettings
) -> tuple[Life, ...]:
    """Return all lives of an entity, by number: the decided ones (perhaps ended or doubted now) and new ones.

    Args:
        events: those of the entity, and deletions and checks of its ancestors.
        decided: the ledger's lives of the entity; one that is unconfirmed, or contested from its beginning, is decided
            again.
    """
    lives = sorted((life for life in decided if life.state is not State.UNCONFIRMED), key=lambda life: life.number)
    recorded = {life.number for life in lives}
    history = _EntityFold.of(entity, events, lives, settings)
    provisional = lives.pop() if lives and _is_provisional(lives[-1]) else None
    while True:
        if lives and lives[-1].is_open:
            lives[-1] = history.reviewed(lives[-1], lives[:-1])
            end = history.end_of(lives[-1])
            if end is None:
                return tuple(lives)
            over = lives[-1] = ended(lives[-1], end.position, recorded=lives[-1].number in recorded)
            if over.source in NOT_BY_REQUEST and history.is_found_again(over, end.interval):
                lives += filter(None, [known_life(entity, lives, over.certain)])
        else:
            number = lives[-1].number + 1 if lives else 1
            new = history.begun(number, lives) or provisional
            provisional = None
            if new is None:
                unconfirmed = history.unconfirmed(number, lives)
                return (*lives, unconfirmed) if unconfirmed else tuple(lives)
            lives.append(new)


def known_life(
    entity: EntityId, lives: Collection[Life], taken: int, versions: tuple[str, ...] | None = None
) -> Life | None:
    """Return the life that the baseline adds for an entity; `None` if an open life is already decided."""
    decided = [life for life in lives if life.state is not State.UNCONFIRMED]
    if any(life.is_open for life in decided):
        return None
    number = max((life.number for life in decided), default=0) + 1
    return Life(
        entity, number, None, baseline_position(taken), State.KNOWN, reason="found by the baseline", versions=versions
    )


def baseline_position(taken: int) -> Position:
    """Return the position of the baseline in the order of events: just after the inventory's millisecond."""
    return Position(taken + 1, after_creations=False, source="", id="")


def refold(history: History, settings: FoldSettings) -> list[LedgerChange]:
    """Return what the fold changes of an entity's lives."""
    return differences(history.lives, fold(history.entity, history.events, history.lives, settings))


@dataclass(frozen=True, slots=True)
class _Claim:
    """A request that created the entity unless it already existed; `users` who may have been first, and the doubt."""

    first: EntityRequest
    users: frozenset[str]
    doubt: str = ""

    @property
    def creator(self) -> str | None:
        """Return the only possible user, which may be `UNKNOWN`; `None` if contested."""
        return next(iter(self.users)) if len(self.users) == 1 and not self.doubt else None


@dataclass(frozen=True, slots=True)
class _EntityFold:
    """The knowledge about an entity, under the settings.

    `decides_again`: an inventory that listed it may have found a life that is to be decided again, and added none.
    """

    entity: EntityId
    evidence: Evidence
    absences: Absences
    settings: FoldSettings
    decides_again: bool

    @classmethod
    def of(
        cls, entity: EntityId, events: Iterable[EntityEvent], lives: Sequence[Life], settings: FoldSettings
    ) -> _EntityFold:
        evidence = evidence_of(entity, events, settings)
        listed = next((life for life in reversed(lives) if life.source in NOT_BY_REQUEST), None)
        absences = absences_of(entity, evidence, settings, listed)
        return cls(entity, evidence, absences, settings, bool(lives) and _is_provisional(lives[-1]))

    def begun(self, number: int, before: Sequence[Life]) -> Life | None:
        """Return the next life; `None` if no request can begin one yet."""
        floor = self._floor(before)
        creations = [(first, self._absent(first, floor, before)) for first in self.evidence.creations]
        claims = [self._claim(first, absent) for first, absent in creations if self._can_begin(first, floor, absent)]
        best = min(claims, key=lambda claim: (claim.creator is None, claim.first.position), default=None)
        return self._life(number, best) if best else None

    def unconfirmed(self, number: int, before: Sequence[Life]) -> Life | None:
        """Return a life that may have begun since the last one, without proof; `None` if none may have."""
        past = [*self._floor(before), *(proof.interval for proof in self.absences.proofs)]
        maybe = [
            request
            for request in self.evidence.creations
            if not any(request.was_over(interval, self.settings.skew) for interval in past)
            and is_doubtful(request, self.settings)
        ]
        if not maybe:
            return None
        first = min(maybe, key=lambda request: request.position)
        users = frozenset().union(*(request.users for request in maybe)) - {UNKNOWN}
        return Life(
            self.entity,
            number,
            next(iter(users)) if len(users) == 1 else None,
            first.position,
            State.UNCONFIRMED,
            candidates=tuple(sorted(users)),
            reason=self._why_unconfirmed(maybe),
        )

    def reviewed(self, life: Life, before: Sequence[Life]) -> Life:
        """Return an open life, contested, suspended or restored by what is known now."""
        if life.source == MANUAL:
            return self._with_doubts(life, self._interval_of(life))
        first = self._first_of(life)
        if first is None or life.state is State.KNOWN:
            return self._with_doubts(life, self._interval_of(life))
        claim = self._claim(first, self._absent(first, self._floor(before), before))
        owner = life.former or life.creator or ""
        if claim.creator == owner:
            return self._with_doubts(life, first.interval)
        return contested(life, claim.users, claim.doubt)

    def end_of(self, life: Life) -> Absence | None:
        """Return the first proof that the entity was absent after the life had begun."""
        begun = self._interval_of(life)
        return next((proof for proof in self.absences.proofs if self._is_after(life, begun, proof.interval)), None)

    def is_found_again(self, life: Life, deleted: Interval) -> bool:
        """Return whether an inventory found the entity after that, as it found the one whose grant was adopted."""
        found = Interval.stated(life.certain)
        return life.begun.time < life.certain and not found.precedes(deleted, self.settings.skew)

    def _is_after(self, life: Life, begun: Interval, deleted: Interval) -> bool:
        """Return whether a deletion came after the beginning of a life: with certainty if a request began it.

        A deletion that overlaps that request is left to its claim; a life found by an inventory has none.
        """
        if life.source in NOT_BY_REQUEST:
            return not deleted.precedes(begun, self.settings.skew)
        return begun.precedes(deleted, self.settings.skew)

    def _floor(self, before: Sequence[Life]) -> list[Interval]:
        """Return when the entity was certainly absent, by the ends of its lives; without any, by the baseline.

        All ends count, not only the last: processes have their own clocks, so an order between two events need not hold
        among three, and no request may begin two lives.
        """
        ends = [life.ended for life in before if life.ended is not None]
        taken = self.settings.baseline
        if not ends:
            return [] if taken is None else [Interval.stated(taken)]
        return [self._absent_at(end) for end in ends]

    def _absent(self, first: EntityRequest, floor: Sequence[Interval], before: Sequence[Life]) -> Sequence[Interval]:
        """Return when the entity was absent before a request: by its former lives, else by what the baseline lists.

        That is listed `MARGIN` after the time from which the baseline counts: an entity may have ended in between.
        """
        taken = self.settings.baseline
        if before or taken is None or self.decides_again:
            return floor if before else []
        listed = Interval.stated(taken + MARGIN)
        return [listed] if listed.precedes(first.interval, self.settings.skew) else []

    def _absent_at(self, end: Position) -> Interval:
        # What ended a life may prove nothing now: a creation that came later, or the lagging watermark of another
        # service, may leave it open. It ended the life all the same, at the times of its own clocks.
        answers = map(Absence.by_answer, (*self.evidence.gone, *self.evidence.early))
        known = (*self.absences.proofs, *map(Absence.of, self.absences.doubts), *answers)
        proof = next((proof for proof in known if proof.is_at(end)), None)
        if proof is None and end.source in (*NOT_BY_REQUEST, RECONCILED):
            return Interval.stated(end.time)
        return proof.interval if proof else Interval(end.time, end.time)

    def _can_begin(self, request: EntityRequest, floor: Sequence[Interval], absent: Sequence[Interval]) -> bool:
        settings = self.settings
        confirmed = request.checked and any(
            request.interval.precedes(answer.interval, settings.skew)
            and self._creators_until(answer, self._past(request.interval, absent)) <= request.users
            for answer in self.evidence.exists
        )
        return (
            request.settled
            and (settings.baseline is not None or request.authoritative)
            and (counts(request, settings) or (confirmed and request.outcome is Outcome.DONE))
            and not any(request.was_over(interval, settings.skew) for interval in floor)
        )

    def _claim(self, first: EntityRequest, floor: Sequence[Interval]) -> _Claim:
        """Return who may have created the entity if it has existed since this request at the latest."""
        skew = self.settings.skew
        past = self._past(first.interval, floor)
        rivals = [
            request
            for request in self.evidence.creations
            if not first.interval.precedes(request.interval, skew)
            and not any(request.was_over(interval, skew) for interval in past)
        ]
        users = frozenset().union(first.users, *(request.users for request in rivals))
        before = [interval for interval in past if interval.precedes(first.interval, skew)]
        deletions = [
            request
            for request in self.evidence.deletions
            if not first.interval.precedes(request.interval, skew)
            and not request.was_over(first.interval, skew)
            and not any(request.was_over(interval, skew) for interval in before)
        ]
        named = self._author(rivals, deletions)
        if named:
            return _Claim(first, frozenset({named}))
        if deletions and not self._outlived(first, deletions, past):
            return _Claim(first, users | self._later_creators(first, past), "overlaps a deletion")
        return _Claim(first, users)

    def _past(self, begun: Interval, floor: Sequence[Interval]) -> list[Interval]:
        """Return when the entity was certainly absent before that time."""
        proofs = (proof.interval for proof in self.absences.proofs)
        return [*floor, *(interval for interval in proofs if interval.precedes(begun, self.settings.skew))]

    def _later_creators(self, first: EntityRequest, past: Sequence[Interval]) -> frozenset[str]:
        """Return who created it after a request that may have been undone and before it was certainly absent again."""
        skew = self.settings.skew
        ends = [p.interval for p in self.absences.proofs if first.interval.precedes(p.interval, skew)]
        later = [
            request.users
            for request in self.evidence.creations
            if not any(request.was_over(interval, skew) for interval in past)
            and not any(end.precedes(request.interval, skew) for end in ends)
        ]
        return frozenset().union(*later)

    def _outlived(self, first: EntityRequest, deletions: Sequence[EntityRequest], past: Sequence[Interval]) -> bool:
        """Return whether CDAP later reported that the entity exists and only this user can have created it since.

        Counted from the start of the deletions if they prove the entity absent, else from its last certain absence.
        """
        skew = self.settings.skew
        proven = {proof.position for proof in self.absences.proofs if proof.by_request}
        certain = all(deletion.position in proven for deletion in deletions)
        since = [deletion.interval for deletion in deletions] if certain else list(past)
        return (first.corroborated or first.checked) and any(
            first.interval.precedes(answer.interval, skew)
            and all(deletion.was_over(answer.interval, skew) for deletion in deletions)
            and not self._others_between(since, answer, first.users)
            for answer in self.evidence.exists
        )

    def _creators_until(self, answer: ExistenceAnswer, past: Sequence[Interval]) -> frozenset[str]:
        """Return who may have created the entity that CDAP found, if it was absent at those times."""
        return self._creators(
            answer, lambda request: any(request.was_over(interval, self.settings.skew) for interval in past)
        )

    def _others_between(
        self, since: Sequence[Interval], answer: ExistenceAnswer, users: frozenset[str]
    ) -> frozenset[str]:
        """Return the other users who may have created the entity between then and CDAP's answer."""
        skew = self.settings.skew

        def was_over(request: EntityRequest) -> bool:
            return bool(since) and all(request.was_over(interval, skew) for interval in since)

        return self._creators(answer, was_over) - users

    def _creators(self, answer: ExistenceAnswer, was_over: Callable[[EntityRequest], bool]) -> frozenset[str]:
        """Return who may have created the entity before CDAP answered, by requests that `was_over` does not exclude."""
        return frozenset[str]().union(
            *(
                request.users
                for request in self.evidence.creations
                if not answer.interval.precedes(request.interval, self.settings.skew) and not was_over(request)
            )
        )

    def _author(self, rivals: Sequence[EntityRequest], deletions: Sequence[EntityRequest]) -> str:
        """Return the candidate whom CDAP names as author of the oldest version, created during their own request.

        An answer does not count if a deletion was not over when CDAP was asked.
        """
        skew = self.settings.skew
        for answer in self.evidence.exists:
            if not all(deletion.was_over(answer.interval, skew) for deletion in deletions):
                continue
            of_them = [
                request
                for request in rivals
                if request.interval.started - skew <= answer.authored <= request.interval.ended + skew
            ]
            if answer.author != UNKNOWN and of_them and all(r.users == {answer.author} for r in of_them):
                return answer.author
        return UNKNOWN

    def _with_doubts(self, life: Life, begun: Interval) -> Life:
        """Return the life, suspended while it is unknown whether a deletion ended it."""
        skew = self.settings.skew
        owners = frozenset({life.former or life.creator or UNKNOWN})
        users = frozenset[str]()
        open_doubts = []
        for doubt in self.absences.doubts:
            if not (self._is_after(life, begun, doubt.interval) and is_doubtful(doubt, self.settings)):
                continue
            answers = [a for a in self.evidence.exists if doubt.was_over(a.interval, skew)]
            if any(not self._others_between([doubt.interval], answer, frozenset()) for answer in answers):
                continue
            if answers:
                users |= self._others_between([doubt.interval], answers[0], frozenset())
            else:
                open_doubts.append(doubt)
        if users - owners and not open_doubts:
            return contested(life, users | owners, "overlaps a deletion with an unknown outcome")
        return suspended(life, open_doubts[0]) if open_doubts else restored(life)

    def _first_of(self, life: Life) -> EntityRequest | None:
        """Return the request that began it; other sources may have reported it since."""
        return next((r for r in self.evidence.creations if (life.source, life.event) in r.reported_by), None)

    def _interval_of(self, life: Life) -> Interval:
        if life.source in NOT_BY_REQUEST:
            return Interval.stated(life.begun.time)
        first = self._first_of(life)
        return first.interval if first else Interval(life.begun.time, max(life.certain, life.begun.time))

    def _why_unconfirmed(self, maybe: Sequence[EntityRequest]) -> str:
        if self.settings.baseline is None:
            return "creation not confirmed; needs a baseline"
        if any(request.is_open for request in maybe):
            return "an allowed request without a record may have created it"
        if any(request.outcome is Outcome.DONE for request in maybe):
            return "creation not confirmed: no decision service journalled its check"
        return "creation not confirmed: its request failed or could not be read"

    def _life(self, number: int, claim: _Claim) -> Life:
        first, creator = claim.first, claim.creator
        is_named = creator is not None and creator != UNKNOWN
        accesses = self.settings.gives.get(self.entity.type, ()) if is_named else ()
        life = Life(
            self.entity,
            number,
            creator if is_named else None,
            first.position,
            State.PENDING if accesses else State.KNOWN,
            source=first.position.source,
            event=first.position.id,
            certain=min(first.interval.ended, first.interval.started + self.settings.unfinished_after),
            accesses=accesses,
            terms=self.settings.terms if is_named else None,
            reason="" if accesses else NO_ACCESS_TO_TYPE if is_named else "no possible creator is known",
        )
        return contested(life, claim.users, claim.doubt) if creator is None else life


def _is_provisional(life: Life) -> bool:
    """Return whether a life was contested from its beginning, so that it never had a grant."""
    return life.state is State.CONTESTED and life.is_open and not life.former and life.source not in NOT_BY_REQUEST
