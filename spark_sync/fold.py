"""`fold`: from the events of one entity to its lives. Pure; order, number and batches of the events don't matter.

What was decided stands: a life in the ledger keeps its creator for good, and only events after its beginning (or end)
count. Nothing is decided before all sources have had time to tell of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Literal

from ranger_cdap.cdap.entity import EntityId
from spark_sync.event import EntityEvent, Kind, Position, Strength
from spark_sync.life import WHEN_DELETED, Life, State

SAME_CREATION: Final = 10_000
"""So much later, in milliseconds, another source may tell of the same creation; never more than the hold-back."""

_NEVER: Final = 2**62


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """What the fold must know besides events.

    `baseline`: when the inventory was taken (epoch milliseconds), `None` without one. `gives`: the access types a
    creator gets, by entity type; nothing where it has no row. `non_creators`: users who never get anything for it,
    unless `mapped` to somebody who does. `until`: later events are not decided yet. `window`: creations within that
    many milliseconds, each of another source, are one. `ranks` of sources: the highest says who the creator is.
    `impersonated`: whether the impersonated user or who asked for it gets what was created for him.
    """

    baseline: int | None = None
    gives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    non_creators: frozenset[str] = frozenset()
    mapped: Mapping[str, str] = field(default_factory=dict)
    until: int = _NEVER
    window: int = 0
    ranks: Mapping[str, int] = field(default_factory=dict)
    impersonated: Literal["owner", "requester"] = "owner"

    def counts(self, creation: EntityEvent) -> bool:
        """Whether a creation can begin a life: CDAP's own word, or a baseline says that the entity was not there."""
        if self.baseline is None:
            return creation.strength is Strength.AUTHORITATIVE
        return creation.time > self.baseline

    def user_of(self, creation: EntityEvent) -> str:
        """Who created it, as the settings name him."""
        user = creation.user
        if self.impersonated == "requester" and creation.requester:
            user = creation.requester
        return self.mapped.get(user, user)

    def is_creator(self, user: str) -> bool:
        """Whether somebody may get something for a creation."""
        return bool(user) and user not in self.non_creators


def fold(
    entity: EntityId, events: Iterable[EntityEvent], decided: Sequence[Life], settings: FoldSettings
) -> tuple[Life, ...]:
    """All lives of an entity, by number: those decided (perhaps ended now), new ones, then one that is unconfirmed.

    Laws: the first creation of a life decides about it, and of several sources that tell of it the one with the highest
    rank says whose it is; an owner never changes; a deletion of the entity or of anything it is in ends its life;
    without a baseline ambiguous creations are only `unconfirmed`; with one, creations up to its time count nothing
    (design 5.8).

    Args:
        events: those of the entity, and the deletions of what it is in; others are ignored. For each one that is to be
            decided, those within the window after it must be among them.
        decided: the ledger's lives of the entity; unconfirmed ones are worked out anew.
    """
    lives = sorted((life for life in decided if life.state is not State.UNCONFIRMED), key=lambda life: life.number)
    recorded = len(lives)
    unconfirmed: EntityEvent | None = None
    mine = _in_order(entity, events)
    if lives:
        lives[-1] = _with_conflict(lives, mine, settings)
    horizon = (lives[-1].ended or lives[-1].begun) if lives else None
    coming = [event for event in mine if horizon is None or event.position > horizon]
    for n, event in enumerate(coming):
        if event.time > settings.until:
            break
        alive = bool(lives) and lives[-1].is_open
        if event.kind is Kind.DELETE:
            unconfirmed = None
            if alive:
                lives[-1] = _ended(lives[-1], event.position, recorded=len(lives) <= recorded)
        elif settings.baseline is not None and event.time <= settings.baseline:
            continue
        elif not alive and settings.counts(event):
            unconfirmed = None
            told = _same_creation(coming[n:], settings)
            lives.append(_begun(entity, _next_number(lives), event, told, settings))
        elif not alive:
            unconfirmed = unconfirmed or event
    if unconfirmed:
        lives.append(Life(entity, _next_number(lives), unconfirmed.user, unconfirmed.position, State.UNCONFIRMED))
    return tuple(lives)


def enter_known(entity: EntityId, lives: Collection[Life], taken: int) -> Life | None:
    """The life that the baseline adds for an entity it found; nothing where an open life is already decided."""
    decided = [life for life in lives if life.state is not State.UNCONFIRMED]
    if any(life.is_open for life in decided):
        return None
    number = max((life.number for life in decided), default=0) + 1
    return Life(entity, number, None, at_baseline(taken), State.KNOWN, reason="found by the baseline")


def at_baseline(taken: int) -> Position:
    """The place of the baseline in the order of events: the first moment after the inventory's millisecond."""
    return Position(taken + 1, after_creations=False, source="", id="")


def _in_order(entity: EntityId, events: Iterable[EntityEvent]) -> list[EntityEvent]:
    mine = {
        (event.source, event.id): event
        for event in events
        if event.entity == entity or (event.kind is Kind.DELETE and entity.is_within(event.entity))
    }
    return sorted(mine.values(), key=lambda event: event.position)


def _with_conflict(lives: Sequence[Life], events: Iterable[EntityEvent], settings: FoldSettings) -> Life:
    """The last life, marked if somebody else created the entity earlier, after all: that was told too late to count."""
    last, before = lives[-1], lives[-2].ended if len(lives) > 1 else None
    if last.conflict or last.creator is None:
        return last
    for event in events:
        earlier = event.position < last.begun and (before is None or event.position > before)
        if earlier and event.kind is Kind.CREATE and settings.counts(event):
            user = settings.user_of(event)
            if user != last.creator and settings.is_creator(user):
                at = datetime.fromtimestamp(event.time / 1000, UTC).isoformat(timespec="milliseconds")
                return replace(last, conflict=f"`{user}` created it at {at}, says `{event.source}`, but too late")
    return last


def _same_creation(events: Sequence[EntityEvent], settings: FoldSettings) -> list[EntityEvent]:
    """What each source told first of the creation that the first event tells of, if nothing contradicts it.

    Two things do: the source tells of somebody else at the same time; or what it tells is told by another source as
    well, but there somebody else comes first.
    """
    told: dict[str, list[EntityEvent]] = {}
    for event in events:
        if event.kind is Kind.DELETE or event.time > events[0].time + settings.window:
            break
        if settings.counts(event):
            told.setdefault(event.source, []).append(event)
    return [
        mine[0]
        for mine in told.values()
        if not _is_tie(mine, settings)
        and not any(_comes_later(mine, theirs, settings) for theirs in told.values() if theirs is not mine)
    ]


def _is_tie(told: Sequence[EntityEvent], settings: FoldSettings) -> bool:
    """Whether a source names several users for its first moment."""
    return len({settings.user_of(event) for event in told if event.time == told[0].time}) > 1


def _comes_later(mine: Sequence[EntityEvent], theirs: Sequence[EntityEvent], settings: FoldSettings) -> bool:
    """Whether another source has all creations by the user whom this one names first, but after somebody else's."""
    user = settings.user_of(mine[0])
    same = [event for event in theirs if settings.user_of(event) == user]
    all_there = len(same) >= sum(settings.user_of(event) == user for event in mine)
    return bool(same) and all_there and theirs[0].time < same[0].time


def _next_number(lives: Sequence[Life]) -> int:
    return lives[-1].number + 1 if lives else 1


def _begun(
    entity: EntityId, number: int, first: EntityEvent, told: Sequence[EntityEvent], settings: FoldSettings
) -> Life:
    def trust(event: EntityEvent) -> tuple[bool, int, Position]:
        creator = settings.is_creator(settings.user_of(event))
        return (not creator, -settings.ranks.get(event.source, 0), event.position)

    chosen = min(told, key=trust, default=first)
    life = Life(entity, number, None, first.position, State.KNOWN, source=chosen.source, event=chosen.id)
    if not told:
        return replace(life, reason="its sources don't agree on who was the first to create it")
    user = settings.user_of(chosen)
    accesses = settings.gives.get(entity.type, ())
    if not settings.is_creator(user):
        return replace(life, creator=user, reason=f"`{user}` is not a creator")
    if not accesses:
        return replace(life, creator=user, reason="the profile gives its creator nothing")
    return replace(life, creator=user, state=State.PENDING, accesses=accesses)


def _ended(life: Life, position: Position, *, recorded: bool) -> Life:
    # A life that was never in the ledger was never sent to Ranger either, so nothing is to be taken back.
    state = WHEN_DELETED[life.state] if recorded else State.CLOSED
    return replace(life, ended=position, state=state, reason="")
