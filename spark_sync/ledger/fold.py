"""`fold`: from what is known of one entity to its lives. Pure; order, number and batches of the events do not matter.

Law: the creator of a life is the user whose request created the entity, or no one. What was decided
stands: an owner never changes, but a life is contested or suspended where it becomes undecidable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.absence import Absence, Absences, Listed, absences_of, counts, is_doubtful
from spark_sync.ledger.event import EntityEvent, Outcome, Position
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.ledger import Change, History
from spark_sync.ledger.life import RULE, Life, State
from spark_sync.ledger.life_changes import contested, ended, restored, suspended
from spark_sync.ledger.matching import Answer, Evidence, evidence_of
from spark_sync.ledger.request import UNKNOWN, Interval, Request

BY_HAND: Final = "by hand"
"""The source of a life that a person decided about."""

_NOT_BY_REQUEST = ("", BY_HAND)


def fold(
    entity: EntityId, events: Iterable[EntityEvent], decided: Sequence[Life], settings: FoldSettings
) -> tuple[Life, ...]:
    """All lives of an entity, by number: those decided (perhaps ended or doubted now) and new ones.

    Args:
        events: those of the entity, deletions of what it is in, and checks of what it is in.
        decided: the ledger's lives of the entity; what is unconfirmed, or contested from its beginning, is worked out
            again.
    """
    lives = sorted((life for life in decided if life.state is not State.UNCONFIRMED), key=lambda life: life.number)
    recorded = {life.number for life in lives}
    history = _History.of(entity, events, lives, settings)
    provisional = lives.pop() if lives and _is_provisional(lives[-1]) else None
    while True:
        if lives and lives[-1].is_open:
            lives[-1] = history.revisited(lives[-1], lives[:-1])
            end = history.end_of(lives[-1])
            if end is None:
                return tuple(lives)
            lives[-1] = ended(lives[-1], end.position, recorded=lives[-1].number in recorded)
        else:
            number = lives[-1].number + 1 if lives else 1
            new = history.begun(number, lives) or provisional
            provisional = None
            if new is None:
                unconfirmed = history.unconfirmed(number, lives)
                return (*lives, unconfirmed) if unconfirmed else tuple(lives)
            lives.append(new)


def enter_known(
    entity: EntityId, lives: Collection[Life], taken: int, versions: tuple[str, ...] | None = None
) -> Life | None:
    """The life that the baseline adds for an entity it found; nothing where an open life is already decided."""
    decided = [life for life in lives if life.state is not State.UNCONFIRMED]
    if any(life.is_open for life in decided):
        return None
    number = max((life.number for life in decided), default=0) + 1
    return Life(
        entity, number, None, at_baseline(taken), State.KNOWN, reason="found by the baseline", versions=versions
    )


def at_baseline(taken: int) -> Position:
    """The place of the baseline in the order of events: the first moment after the inventory's millisecond."""
    return Position(taken + 1, after_creations=False, source="", id="")


def refold(history: History, settings: FoldSettings) -> Change | None:
    """The lives to write and the numbers to drop; `None` where all stays as it is."""
    before = {life.number: life for life in history.lives}
    after = {life.number: life for life in fold(history.entity, history.events, history.lives, settings)}
    changed = tuple(life for number, life in after.items() if before.get(number) != life)
    dropped = tuple(number for number in before if number not in after)
    return Change(history.entity, changed, dropped) if changed or dropped else None


@dataclass(frozen=True, slots=True)
class _Claim:
    """A request that created the entity, if it was not there before; who may have been first, and what is in doubt."""

    first: Request
    users: frozenset[str]
    doubt: str = ""

    @property
    def creator(self) -> str | None:
        """The only user it can have been, `UNKNOWN` included; `None` where it is contested."""
        return next(iter(self.users)) if len(self.users) == 1 and not self.doubt else None


@dataclass(frozen=True, slots=True)
class _History:
    """The knowledge about an entity, under the settings."""

    entity: EntityId
    evidence: Evidence
    absences: Absences
    settings: FoldSettings

    @classmethod
    def of(
        cls, entity: EntityId, events: Iterable[EntityEvent], lives: Sequence[Life], settings: FoldSettings
    ) -> _History:
        evidence = evidence_of(entity, events, settings)
        listed = next((life for life in reversed(lives) if life.source in _NOT_BY_REQUEST), None)
        versions = None if listed is None else Listed(listed.begun.time, _versions(listed))
        return cls(entity, evidence, absences_of(entity, evidence, settings, versions), settings)

    def begun(self, number: int, before: Sequence[Life]) -> Life | None:
        """The next life, after those before; nothing where no request can begin one yet."""
        floor = self._floor(before)
        claims = [self._claim(first, floor) for first in self.evidence.creations if self._can_begin(first, floor)]
        best = min(claims, key=lambda claim: (claim.creator is None, claim.first.position), default=None)
        return self._life(number, best) if best else None

    def unconfirmed(self, number: int, before: Sequence[Life]) -> Life | None:
        """What may have been created since the last life, and nobody can tell."""
        floor = self._floor(before)
        past = [*floor, *(proof.interval for proof in self.absences.proofs)]
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

    def revisited(self, life: Life, before: Sequence[Life]) -> Life:
        """An open life, contested or suspended where it turns out that nobody can tell, or no longer."""
        if life.source == BY_HAND:
            return self._doubted(life, self._interval_of(life))
        first = self._first_of(life)
        if first is None or (life.state is State.KNOWN and not life.former):
            return self._doubted(life, self._interval_of(life))
        claim = self._claim(first, self._floor(before))
        owner = life.former or life.creator or ""
        if claim.creator == owner:
            return self._doubted(life, first.interval)
        if life.rule < RULE:
            return replace(life, conflict=_contest_text(claim))
        return contested(life, claim.users, claim.doubt)

    def end_of(self, life: Life) -> Absence | None:
        """The first proof that its entity was gone, after it had begun."""
        begun = self._interval_of(life)
        return next((proof for proof in self.absences.proofs if self._is_after(life, begun, proof.interval)), None)

    def _is_after(self, life: Life, begun: Interval, deleted: Interval) -> bool:
        """Whether a deletion came after the beginning of a life; surely, if a request began it.

        What overlaps that request is for its claim to settle; a list of what exists has none.
        """
        if life.source in _NOT_BY_REQUEST:
            return not deleted.precedes(begun, self.settings.skew)
        return begun.precedes(deleted, self.settings.skew)

    def _floor(self, before: Sequence[Life]) -> list[Interval]:
        """When the entity was surely absent, by the lives that have ended; without any, by the baseline.

        All of them and not only the last: processes have clocks of their own, so that an order found between two need
        not hold among three, and no request may begin a life twice.
        """
        ends = [life.ended for life in before if life.ended is not None]
        taken = self.settings.baseline
        if not ends:
            return [] if taken is None else [Interval(taken, taken)]
        return [self._absent_at(end) for end in ends]

    def _absent_at(self, end: Position) -> Interval:
        proof = next((proof for proof in self.absences.proofs if proof.is_at(end)), None)
        return proof.interval if proof else Interval(end.time, end.time)

    def _can_begin(self, request: Request, floor: Sequence[Interval]) -> bool:
        settings = self.settings
        confirmed = request.checked and any(
            request.interval.precedes(answer.interval, settings.skew)
            and self._creators_until(answer, self._past(request.interval, floor)) <= request.users
            for answer in self.evidence.exists
        )
        return (
            request.settled
            and (settings.baseline is not None or request.authoritative)
            and (counts(request, settings) or (confirmed and request.outcome is Outcome.DONE))
            and not any(request.was_over(interval, settings.skew) for interval in floor)
        )

    def _claim(self, first: Request, floor: Sequence[Interval]) -> _Claim:
        """Who may have created the entity, if it exists since this request at the latest."""
        skew = self.settings.skew
        past = self._past(first.interval, floor)
        rivals = [
            request
            for request in self.evidence.creations
            if not first.interval.precedes(request.interval, skew)
            and not any(request.was_over(interval, skew) for interval in past)
        ]
        users = frozenset().union(first.users, *(request.users for request in rivals))
        deletions = [
            request
            for request in self.evidence.deletions
            if not first.interval.precedes(request.interval, skew)
            and not request.was_over(first.interval, skew)
            and not any(request.was_over(interval, skew) for interval in past)
        ]
        named = self._author(rivals, deletions)
        if named:
            return _Claim(first, frozenset({named}))
        if deletions and not self._outlived(first, deletions, past):
            return _Claim(first, users | self._later(first, past), "overlaps a deletion")
        return _Claim(first, users)

    def _past(self, begun: Interval, floor: Sequence[Interval]) -> list[Interval]:
        """When the entity was surely absent before that time."""
        proofs = (proof.interval for proof in self.absences.proofs)
        return [*floor, *(interval for interval in proofs if interval.precedes(begun, self.settings.skew))]

    def _later(self, first: Request, past: Sequence[Interval]) -> frozenset[str]:
        """Who created it after a request that may have been undone, before it was surely gone again."""
        skew = self.settings.skew
        ends = [p.interval for p in self.absences.proofs if first.interval.precedes(p.interval, skew)]
        later = [
            request.users
            for request in self.evidence.creations
            if not any(request.was_over(interval, skew) for interval in past)
            and not any(end.precedes(request.interval, skew) for end in ends)
        ]
        return frozenset().union(*later)

    def _outlived(self, first: Request, deletions: Sequence[Request], past: Sequence[Interval]) -> bool:
        """Whether CDAP said afterwards that the entity exists, and only this user can have created it since.

        Since the deletions began, where they prove that the entity was gone; otherwise since it was surely gone before.
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

    def _creators_until(self, answer: Answer, past: Sequence[Interval]) -> frozenset[str]:
        """Who may have created what CDAP says is there, if it was absent at those times."""
        skew = self.settings.skew
        return self._creators(answer, lambda request: any(request.was_over(interval, skew) for interval in past))

    def _others_between(self, since: Sequence[Interval], answer: Answer, users: frozenset[str]) -> frozenset[str]:
        """The other users who may have created the entity since then, before CDAP answered."""
        skew = self.settings.skew

        def was_over(request: Request) -> bool:
            return bool(since) and all(request.was_over(interval, skew) for interval in since)

        return self._creators(answer, was_over) - users

    def _creators(self, answer: Answer, was_over: Callable[[Request], bool]) -> frozenset[str]:
        """Who may have created the entity before CDAP answered, by requests that were not over too early for it."""
        return frozenset[str]().union(
            *(
                request.users
                for request in self.evidence.creations
                if not answer.interval.precedes(request.interval, self.settings.skew) and not was_over(request)
            )
        )

    def _author(self, rivals: Sequence[Request], deletions: Sequence[Request]) -> str:
        """The candidate whom CDAP names as the author of the oldest version, created during their own request.

        It says nothing of a deletion that was not over when CDAP was asked.
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

    def _doubted(self, life: Life, begun: Interval) -> Life:
        """The life, suspended while nobody can tell whether a deletion ended it."""
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
            return contested(life, users | owners, "overlaps a deletion of which nobody knows what it did")
        if open_doubts:
            return suspended(life, open_doubts[0])
        return restored(life)

    def _first_of(self, life: Life) -> Request | None:
        """The request that began it; more may be known of it since, and by another source first."""
        return next((r for r in self.evidence.creations if (life.source, life.event) in r.told_by), None)

    def _interval_of(self, life: Life) -> Interval:
        first = self._first_of(life)
        return first.interval if first else Interval(life.begun.time, max(life.certain, life.begun.time))

    def _why_unconfirmed(self, maybe: Sequence[Request]) -> str:
        if self.settings.baseline is None:
            return "creation not confirmed; needs a baseline"
        if any(request.is_open for request in maybe):
            return "an allowed request has no record; it may have created it"
        if any(request.outcome is Outcome.DONE for request in maybe):
            return "creation not confirmed: no decision service journalled its check"
        return "creation not confirmed: its request failed or could not be read"

    def _life(self, number: int, claim: _Claim) -> Life:
        first = claim.first
        life = Life(
            self.entity,
            number,
            None,
            first.position,
            State.KNOWN,
            source=first.position.source,
            event=first.position.id,
            certain=first.interval.ended,
        )
        if claim.creator is None:
            return contested(life, claim.users, claim.doubt)
        accesses = self.settings.gives.get(self.entity.type, ())
        if claim.creator == UNKNOWN:
            return replace(life, reason="no user who may be a creator is known to have created it")
        if not accesses:
            reason = "the profile grants creators no access to this entity type"
            return replace(life, creator=claim.creator, reason=reason)
        return replace(life, creator=claim.creator, state=State.PENDING, accesses=accesses)


def _is_provisional(life: Life) -> bool:
    """Whether a life was contested from its beginning, so that nothing was ever granted for it."""
    return life.state is State.CONTESTED and life.is_open and not life.former and life.source not in _NOT_BY_REQUEST


def _versions(life: Life) -> frozenset[str] | None:
    return None if life.versions is None else frozenset(life.versions)


def _contest_text(claim: _Claim) -> str:
    users = ", ".join(f"`{user}`" for user in sorted(claim.users - {UNKNOWN}))
    at = datetime.fromtimestamp(claim.first.interval.started / 1000, UTC).isoformat(timespec="milliseconds")
    return f"decided by the old rule; under the new one it is contested by {users or 'unknown users'} since {at}"
