"""Composition of the answer to a CDAP operation from Ranger's decisions on the privileges its row requires. Pure.

An alternative holds only if all its privileges are held; undetermined counts as denied (architecture.md, "A decision").
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from ranger_cdap.cdap.context import CAPACITIES, Context
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.plan import RequiredPrivilege, plan, unnamed
from ranger_cdap.cdap.profile import ANY, VISIBLE, Operation, Privilege
from ranger_cdap.engine import NO_POLICY, Decision, NamedValues
from ranger_cdap.errors import InvalidInput

Ask = Callable[[str, EntityId, str], Decision]
"""Return Ranger's decision for a user, an entity and an action: READ, WRITE, ADMIN, EXECUTE, ANY or VISIBLE."""

Names = Callable[[str, EntityPattern], Mapping[str, NamedValues] | None]
"""Return the values that policies name for a user on the open levels of a pattern; None if that cannot be told."""

_INHERITED = ("READ", "WRITE", "ADMIN")

_UNTOLD: Final = Decision(
    allowed=False, determined=False, audited=True, reason="the policies do not tell that all of it is covered"
)


class Missing(msgspec.Struct, frozen=True):
    """Missing privilege of a user: one of `actions` on `entity`, needed in that capacity."""

    person: str
    actions: tuple[str, ...]
    entity: EntityId | EntityPattern
    capacity: str = "requesting"

    def __str__(self) -> str:
        who = self.person if self.capacity == "requesting" else f"{self.person} ({CAPACITIES[self.capacity]})"
        return f"{who} needs {self.privilege}"

    @property
    def privilege(self) -> str:
        """Return the missing privilege as text: `READ or WRITE on dataset:ns1.kv`."""
        if self.actions == (VISIBLE,):
            return f"any privilege on {self.entity} or in it"
        if self.actions == (ANY,):
            return f"any privilege on {self.entity}"
        return f"{' or '.join(self.actions)} on {self.entity}"


class EvaluatedPrivilege(msgspec.Struct, frozen=True):
    """Evaluated privilege: the actions required and of whom, the action that decided, and Ranger's decision.

    `decided_on`: of a pattern, the entity that decided.
    """

    entity: EntityId | EntityPattern
    actions: tuple[str, ...]
    action: str
    decision: Decision
    person: str
    capacity: str = "requesting"
    decided_on: EntityId | None = None

    @property
    def held(self) -> bool:
        """Return true if the user holds the privilege."""
        return is_allowed(self.decision)


class Visibility(msgspec.Struct, frozen=True):
    """Visibility of an entity for a user; `lasting` if the same policies decide so at any time and from anywhere."""

    visible: bool
    lasting: bool


class Answer(msgspec.Struct, frozen=True):
    """Answer to an operation on an entity: allowed or not, the deciding privileges, and the missing ones.

    If it is not `enforced`, `allowed` says what happens, and the rest of the answer describes the decision that would
    apply.
    """

    allowed: bool
    operation: str
    entity: EntityId
    person: str
    requirements: tuple[str, ...]
    reason: str
    missing: tuple[Missing, ...] = ()
    decided_by: tuple[EvaluatedPrivilege, ...] = ()
    alternatives: tuple[tuple[EvaluatedPrivilege, ...], ...] = ()
    ready: bool = True
    enforced: bool = True

    @property
    def tried(self) -> tuple[tuple[EvaluatedPrivilege, ...], ...]:
        """Return `alternatives`, under its old name; deprecated, and removed with the next release."""
        warnings.warn("`Answer.tried` is called `alternatives`", DeprecationWarning, stacklevel=2)
        return self.alternatives

    @property
    def conditional(self) -> bool:
        """Return true if the same policies may decide differently at another time or from another address."""
        return any(e.decision.conditional for evaluated in self.alternatives for e in evaluated)

    @property
    def policy_ids(self) -> tuple[int, ...]:
        """Return the ids of the policies that decided, without repetition, in the order of the privileges."""
        return tuple(dict.fromkeys(e.decision.policy_id for e in self.decided_by if e.decision.policy_id >= 0))


def is_allowed(decision: Decision) -> bool:
    """Return true if Ranger's decision counts as allowed: it must be determined."""
    return decision.allowed and decision.determined


def is_undecided(decision: Decision) -> bool:
    """Return true if no policy applies: Ranger reports that as a determined denial by no policy."""
    return not decision.allowed and decision.policy_id == decision.policy_version == NO_POLICY and not decision.reason


def compose(
    operation: Operation,
    entity: EntityId,
    person: str,
    ask: Ask,
    context: Context = Context(),  # noqa: B008 a frozen value
    options: Options = Options(),  # noqa: B008 a frozen value
    names: Names | None = None,
) -> Answer:
    """Return the answer to the operation: by the first alternative that holds, else by the one that lacks fewest.

    A pattern needs `names`: without them, nothing is allowed on it.

    Raises:
        InvalidInput: as `plan`.
    """
    inherits = options.inherit and not operation.lists
    alternatives: list[tuple[EvaluatedPrivilege, ...]] = []
    for needs in plan(operation, entity, person, context, options):
        evaluated = tuple(_evaluate(need, ask, names, inherits) for need in needs)
        alternatives.append(evaluated)
        if evaluated and all(e.held for e in evaluated):
            return Answer(
                allowed=True,
                operation=operation.name,
                entity=entity,
                person=person,
                requirements=operation.requirements,
                reason="allowed",
                decided_by=evaluated,
                alternatives=tuple(alternatives),
            )
    nearest = min(alternatives, key=lambda evaluated: sum(not e.held for e in evaluated), default=())
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
        alternatives=tuple(alternatives),
    )


def visibility(row: Operation, entity: EntityId, person: str, ask: Ask) -> Visibility:
    """Return `compose(row, …).allowed` without the answer, for a row of privileges on the entity and above it.

    Options must have been applied to the row; `inherit` never counts for lists.
    """
    lasting = True

    def is_held(privilege: Privilege) -> bool:
        nonlocal lasting
        target = _target(privilege, entity)
        if target is None:
            return False
        for action in privilege.actions:
            decision = ask(person, target, action)
            lasting = lasting and not decision.conditional
            if is_allowed(decision):
                return True
        return False

    visible = any(alternative and all(map(is_held, alternative)) for alternative in row.alternatives)
    return Visibility(visible, lasting)


def _target(privilege: Privilege, entity: EntityId) -> EntityId | None:
    if privilege.target == "entity":
        return entity
    return entity.parent if privilege.target == "parent" else entity.ancestor(privilege.target)


def denied(operation: str, entity: EntityId, person: str, reason: str, *, ready: bool = True) -> Answer:
    """Return a denial for a reason outside the policies: not ready, a veto, an error."""
    return Answer(
        allowed=False, operation=operation, entity=entity, person=person, requirements=(), reason=reason, ready=ready
    )


def _undecidable(operation: Operation, context: Context) -> str:
    roles = " or ".join(" and ".join(f"`{role}`" for role in roles) for roles in unnamed(operation, context))
    return f"`{operation.name}` cannot be decided without an entity for {roles}"


def _evaluate(need: RequiredPrivilege, ask: Ask, names: Names | None, inherits: bool) -> EvaluatedPrivilege:
    """Evaluate a privilege; one action suffices: the first that is allowed decides, else the first that is denied."""
    first: EvaluatedPrivilege | None = None
    for action in need.actions:
        entity, decision = _decide(need, action, ask, names, inherits and action in _INHERITED)
        evaluated = EvaluatedPrivilege(need.entity, need.actions, action, decision, need.person, need.capacity, entity)
        if evaluated.held:
            return evaluated
        first = first or evaluated
    if first is None:
        raise InvalidInput("a privilege without actions")
    return first


def _decide(
    need: RequiredPrivilege, action: str, ask: Ask, names: Names | None, inherits: bool
) -> tuple[EntityId | None, Decision]:
    """Return Ranger's decision; on a pattern, the first denial of an entity that it matches, and that entity."""

    def decide(entity: EntityId) -> Decision:
        decision = ask(need.person, entity, action)
        return _inherited(decision, need.person, entity, action, ask) if inherits else decision

    if isinstance(need.entity, EntityId):
        return None, decide(need.entity)
    named = names(need.person, need.entity) if names is not None else None
    entities = need.entity.representatives(named) if named is not None else None
    if not entities:
        return None, _UNTOLD
    decisions = []
    for entity in entities:
        decisions.append(decide(entity))
        if not is_allowed(decisions[-1]):
            return entity, decisions[-1]
    return entities[0], _marked(decisions[0], decisions)


def _inherited(decision: Decision, person: str, entity: EntityId, action: str, ask: Ask) -> Decision:
    """Return the nearest ancestor's decision; it never overrules a policy or a security zone of the entity itself."""
    above, decisions = entity.parent, [decision]
    while above is not None and decisions[-1].zone == decision.zone and is_undecided(decisions[-1]):
        decisions.append(ask(person, above, action))
        above = above.parent
    return _marked(decisions[-1] if decisions[-1].zone == decision.zone else decision, decisions)


def _marked(decision: Decision, decisions: Iterable[Decision]) -> Decision:
    if decision.conditional or not any(d.conditional for d in decisions):
        return decision
    return msgspec.structs.replace(decision, conditional=True)
