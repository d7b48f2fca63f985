"""Composing the answer to a CDAP operation from Ranger's answers to the privileges its row asks for. Pure.

Alternatives of a row hold or fail whole; not determined counts as denied (design: a decision).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.profile import Operation, Privilege
from ranger_cdap.engine import Decision
from ranger_cdap.errors import InvalidInput

Ask = Callable[[EntityId, str], Decision]
"""Ranger's decision on one entity and one action (READ, WRITE, ADMIN, EXECUTE) for the person in question."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A privilege the person lacks: one of `actions` on `entity`."""

    person: str
    actions: tuple[str, ...]
    entity: EntityId

    def __str__(self) -> str:
        return f"{self.person} lacks {' or '.join(self.actions)} on {self.entity}"


@dataclass(frozen=True, slots=True)
class Examined:
    """A privilege that was looked at: what was asked for, which action decided, and Ranger's decision on it."""

    entity: EntityId
    actions: tuple[str, ...]
    action: str
    decision: Decision

    @property
    def held(self) -> bool:
        """Whether the person has it."""
        return is_allowed(self.decision)


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a person may do an operation on an entity, what decided, and what is missing if not."""

    allowed: bool
    operation: str
    entity: EntityId
    person: str
    requirements: tuple[str, ...]
    reason: str
    missing: tuple[Missing, ...] = ()
    decided_by: tuple[Examined, ...] = ()
    tried: tuple[tuple[Examined, ...], ...] = field(default=(), repr=False)
    ready: bool = True

    @property
    def policy_ids(self) -> tuple[int, ...]:
        """The policies that decided, without repetition, in the order of the privileges."""
        return tuple(dict.fromkeys(e.decision.policy_id for e in self.decided_by if e.decision.policy_id >= 0))


def is_allowed(decision: Decision) -> bool:
    """Whether a decision of Ranger counts as allowed: only if it is determined."""
    return decision.allowed and decision.determined


def compose(
    operation: Operation, entity: EntityId, person: str, ask: Ask, related: Mapping[str, EntityId] | None = None
) -> Answer:
    """The answer to the operation: the first alternative that holds whole, else the one that lacks fewest.

    An alternative that needs a related entity nobody named can't hold.

    Raises:
        InvalidInput: the entity is not of the operation's type.
    """
    if operation.entity not in ("entity", entity.type):
        raise InvalidInput(f"operation `{operation.name}` is about a {operation.entity}, not about `{entity}`")
    tried: list[tuple[Examined, ...]] = []
    for alternative in operation.alternatives:
        needed = _needed(alternative, entity, related or {})
        if needed is None:
            continue
        examined = tuple(_examine(actions, target, ask) for actions, target in needed)
        tried.append(examined)
        if examined and all(e.held for e in examined):
            return Answer(
                allowed=True,
                operation=operation.name,
                entity=entity,
                person=person,
                requirements=operation.requirements,
                reason="allowed",
                decided_by=examined,
                tried=tuple(tried),
            )
    nearest = min(tried, key=lambda examined: sum(not e.held for e in examined), default=())
    missing = tuple(Missing(person, e.actions, e.entity) for e in nearest if not e.held)
    return Answer(
        allowed=False,
        operation=operation.name,
        entity=entity,
        person=person,
        requirements=operation.requirements,
        reason="; ".join(map(str, missing)) or "no alternative of the operation can hold",
        missing=missing,
        decided_by=nearest,
        tried=tuple(tried),
    )


def denied(operation: str, entity: EntityId, person: str, reason: str, *, ready: bool = True) -> Answer:
    """A denial for a reason outside the policies: not ready, a veto, an error."""
    return Answer(
        allowed=False, operation=operation, entity=entity, person=person, requirements=(), reason=reason, ready=ready
    )


def _needed(
    alternative: Sequence[Privilege], entity: EntityId, related: Mapping[str, EntityId]
) -> list[tuple[tuple[str, ...], EntityId]] | None:
    needed = []
    for privilege in alternative:
        target = _target(privilege.target, entity, related)
        if target is None:
            if privilege.if_given:
                continue
            return None
        needed.append((privilege.actions, target))
    return needed


def _target(name: str, entity: EntityId, related: Mapping[str, EntityId]) -> EntityId | None:
    if name == "entity":
        return entity
    if name == "parent":
        return entity.parent
    if name in ("artifact", "jar"):
        return related.get(name)
    return entity.ancestor(name)


def _examine(actions: tuple[str, ...], entity: EntityId, ask: Ask) -> Examined:
    """One of `actions` suffices: the first that is allowed, else the first that was denied."""
    first: Examined | None = None
    for action in actions:
        examined = Examined(entity, actions, action, ask(entity, action))
        if examined.held:
            return examined
        first = first or examined
    if first is None:
        raise InvalidInput("a privilege without actions")
    return first
