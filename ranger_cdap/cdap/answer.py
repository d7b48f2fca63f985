"""Composing the answer to a CDAP operation from Ranger's answers to the privileges its row asks for. Pure.

Alternatives of a row hold or fail whole; not determined counts as denied (architecture.md, "A decision").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from ranger_cdap.cdap.context import CAPACITIES, Context
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.plan import Need, plan, unnamed
from ranger_cdap.cdap.profile import ANY, VISIBLE, Operation
from ranger_cdap.engine import NO_POLICY, Decision
from ranger_cdap.errors import InvalidInput

Ask = Callable[[str, EntityId, str], Decision]
"""Ranger's decision for a person, on one entity and one action: READ, WRITE, ADMIN, EXECUTE, ANY or VISIBLE.

The entity may be the probe of a pattern, with `*` for a whole name.
"""

_INHERITED = ("READ", "WRITE", "ADMIN")


class Missing(msgspec.Struct, frozen=True):
    """A privilege somebody lacks: one of `actions` on `entity`, needed in that capacity."""

    person: str
    actions: tuple[str, ...]
    entity: EntityId | EntityPattern
    capacity: str = "requesting"

    def __str__(self) -> str:
        who = self.person if self.capacity == "requesting" else f"{self.person} ({CAPACITIES[self.capacity]})"
        return f"{who} needs {self.privilege}"

    @property
    def privilege(self) -> str:
        """What is missing, for people: `READ or WRITE on dataset:ns1.kv`."""
        if self.actions == (VISIBLE,):
            return f"any privilege on {self.entity} or in it"
        if self.actions == (ANY,):
            return f"any privilege on {self.entity}"
        return f"{' or '.join(self.actions)} on {self.entity}"


class EvaluatedPrivilege(msgspec.Struct, frozen=True):
    """A privilege that was looked at: what was asked for and of whom, which action decided, and Ranger's decision."""

    entity: EntityId | EntityPattern
    actions: tuple[str, ...]
    action: str
    decision: Decision
    person: str
    capacity: str = "requesting"

    @property
    def held(self) -> bool:
        """Whether the person has it."""
        return is_allowed(self.decision)


class Answer(msgspec.Struct, frozen=True):
    """Whether a person may do an operation on an entity, what decided, and what is missing if not.

    Where it is not `enforced`, everything is allowed and the rest of the answer says what would be.
    """

    allowed: bool
    operation: str
    entity: EntityId
    person: str
    requirements: tuple[str, ...]
    reason: str
    missing: tuple[Missing, ...] = ()
    decided_by: tuple[EvaluatedPrivilege, ...] = ()
    tried: tuple[tuple[EvaluatedPrivilege, ...], ...] = ()
    ready: bool = True
    enforced: bool = True

    @property
    def conditional(self) -> bool:
        """Whether the same policies may answer otherwise at another time or from another address."""
        return any(e.decision.conditional for examined in self.tried for e in examined)

    @property
    def policy_ids(self) -> tuple[int, ...]:
        """The policies that decided, without repetition, in the order of the privileges."""
        return tuple(dict.fromkeys(e.decision.policy_id for e in self.decided_by if e.decision.policy_id >= 0))


def is_allowed(decision: Decision) -> bool:
    """Whether a decision of Ranger counts as allowed: only if it is determined."""
    return decision.allowed and decision.determined


def is_undecided(decision: Decision) -> bool:
    """Whether no policy speaks of it: Ranger calls that a determined denial by no policy."""
    return not decision.allowed and decision.policy_id == decision.policy_version == NO_POLICY and not decision.reason


def compose(
    operation: Operation,
    entity: EntityId,
    person: str,
    ask: Ask,
    context: Context = Context(),  # noqa: B008 a frozen value
    options: Options = Options(),  # noqa: B008 a frozen value
) -> Answer:
    """The answer to the operation: the first alternative that holds whole, else the one that lacks fewest.

    Raises:
        InvalidInput: as `plan`.
    """
    inherits = options.inherit and not operation.lists
    tried: list[tuple[EvaluatedPrivilege, ...]] = []
    for needs in plan(operation, entity, person, context, options):
        examined = tuple(_examine(need, ask, inherits) for need in needs)
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
    missing = tuple(Missing(e.person, e.actions, e.entity, e.capacity) for e in nearest if not e.held)
    return Answer(
        allowed=False,
        operation=operation.name,
        entity=entity,
        person=person,
        requirements=operation.requirements,
        reason="; ".join(map(str, missing)) or _undecidable(operation, context),
        missing=missing,
        decided_by=nearest,
        tried=tuple(tried),
    )


def denied(operation: str, entity: EntityId, person: str, reason: str, *, ready: bool = True) -> Answer:
    """A denial for a reason outside the policies: not ready, a veto, an error."""
    return Answer(
        allowed=False, operation=operation, entity=entity, person=person, requirements=(), reason=reason, ready=ready
    )


def _undecidable(operation: Operation, context: Context) -> str:
    roles = " or ".join(f"`{role}`" for role in unnamed(operation, context))
    return f"`{operation.name}` cannot be decided unless it is said what plays the part of {roles}"


def _examine(need: Need, ask: Ask, inherits: bool) -> EvaluatedPrivilege:
    """One of the actions suffices: the first that is allowed, else the first that was denied."""
    first: EvaluatedPrivilege | None = None
    for action in need.actions:
        decision = _decide(need, action, ask, inherits and action in _INHERITED)
        examined = EvaluatedPrivilege(need.entity, need.actions, action, decision, need.person, need.capacity)
        if examined.held:
            return examined
        first = first or examined
    if first is None:
        raise InvalidInput("a privilege without actions")
    return first


def _decide(need: Need, action: str, ask: Ask, inherits: bool) -> Decision:
    """Ranger's decision; on a pattern every probe must be allowed, and what denies one decides."""
    probes = need.entity.probes() if isinstance(need.entity, EntityPattern) else (need.entity,)
    decisions = []
    for probe in probes:
        decision = ask(need.person, probe, action)
        if inherits:
            decision = _inherited(decision, need.person, probe, action, ask)
        if not is_allowed(decision):
            return decision
        decisions.append(decision)
    return _marked(decisions[0], decisions)


def _inherited(decision: Decision, person: str, entity: EntityId, action: str, ask: Ask) -> Decision:
    """The nearest decision on the way up; what a policy or a security zone says below is not overruled from above."""
    above, asked = entity.parent, [decision]
    while above is not None and asked[-1].zone == decision.zone and is_undecided(asked[-1]):
        asked.append(ask(person, above, action))
        above = above.parent
    return _marked(asked[-1] if asked[-1].zone == decision.zone else decision, asked)


def _marked(decision: Decision, asked: Iterable[Decision]) -> Decision:
    """The decision, conditional if one of those it was chosen from is."""
    if decision.conditional or not any(d.conditional for d in asked):
        return decision
    return msgspec.structs.replace(decision, conditional=True)
