"""`fold`: from the events of one entity to its lives. Pure; order, number and batches of the events don't matter.

What was decided stands: a life in the ledger keeps its creator for good, and only events after its beginning (or end)
count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ranger_cdap.cdap.entity import EntityId
from spark_sync.event import EntityEvent, Kind, Position, Strength
from spark_sync.life import WHEN_DELETED, Life, State


@dataclass(frozen=True, slots=True)
class FoldSettings:
    """What the fold must know besides events.

    `baseline`: when the inventory was taken (epoch milliseconds), `None` without one. `gives`: the access types a
    creator gets, by entity type; nothing where it has no row. `non_creators`: users who never get anything for it.
    """

    baseline: int | None = None
    gives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    non_creators: frozenset[str] = frozenset()


def fold(
    entity: EntityId, events: Iterable[EntityEvent], decided: Sequence[Life], settings: FoldSettings
) -> tuple[Life, ...]:
    """All lives of an entity, by number: those decided (perhaps ended now), new ones, then one that is unconfirmed.

    Laws: the first creator of a life is its owner; an owner never changes; a deletion of the entity or of anything it
    is in ends its life; without a baseline ambiguous creations are only `unconfirmed`; with one, creations up to its
    time count nothing (design 5.8).

    Args:
        events: those of the entity, and the deletions of what it is in; others are ignored.
        decided: the ledger's lives of the entity; unconfirmed ones are worked out anew.
    """
    lives = sorted((life for life in decided if life.state is not State.UNCONFIRMED), key=lambda life: life.number)
    recorded = len(lives)
    unconfirmed: EntityEvent | None = None
    for event in _in_order(entity, events, lives[-1] if lives else None):
        alive = bool(lives) and lives[-1].is_open
        if event.kind is Kind.DELETE:
            unconfirmed = None
            if alive:
                lives[-1] = _ended(lives[-1], event.position, recorded=len(lives) <= recorded)
        elif settings.baseline is not None and event.time <= settings.baseline:
            continue
        elif not alive and (event.strength is Strength.AUTHORITATIVE or settings.baseline is not None):
            unconfirmed = None
            lives.append(_begun(entity, _next_number(lives), event, settings))
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


def _in_order(entity: EntityId, events: Iterable[EntityEvent], last: Life | None) -> list[EntityEvent]:
    horizon = (last.ended or last.begun) if last else None
    mine = {
        (event.source, event.id): event
        for event in events
        if (event.entity == entity or (event.kind is Kind.DELETE and entity.is_within(event.entity)))
        and (horizon is None or event.position > horizon)
    }
    return sorted(mine.values(), key=lambda event: event.position)


def _next_number(lives: Sequence[Life]) -> int:
    return lives[-1].number + 1 if lives else 1


def _begun(entity: EntityId, number: int, event: EntityEvent, settings: FoldSettings) -> Life:
    accesses = settings.gives.get(entity.type, ())
    life = Life(entity, number, event.user, event.position, State.PENDING, accesses=accesses)
    if not event.user or event.user in settings.non_creators:
        return replace(life, state=State.KNOWN, accesses=(), reason=f"`{event.user}` is not a creator")
    if not accesses:
        return replace(life, state=State.KNOWN, reason="the profile gives its creator nothing")
    return life


def _ended(life: Life, position: Position, *, recorded: bool) -> Life:
    # A life that was never in the ledger was never sent to Ranger either, so nothing is to be taken back.
    state = WHEN_DELETED[life.state] if recorded else State.CLOSED
    return replace(life, ended=position, state=state, reason="")
