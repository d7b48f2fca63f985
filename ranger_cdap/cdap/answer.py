"""Composition of the answer to a CDAP operation from Ranger's decisions on the privileges its row requires. Pure.

An alternative holds only if all its privileges are held; undetermined counts as denied (architecture.md, "A decision").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from ranger_cdap.cdap.context import CAPACITIES, Context
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.plan import required_privileges, unnamed
from ranger_cdap.cdap.profile import ANY, VISIBLE, Operation, Privilege
from ranger_cdap.engine import NO_POLICY, Decision, NamedValues
from ranger_cdap.engine.view import NO_ZONES_KNOWN
from ranger_cdap.errors import InvalidInput

Ask = Callable[[str, EntityId, str], Decision]
"""Return Ranger's decision for a user, an entity and an action: READ, WRITE, ADMIN, EXECUTE, ANY or VISIBLE."""

Names = Callable[[str, EntityPattern], Mapping[str, NamedValues] | None]
"""Return the values that policies name for a user on the open levels of a pattern; None if unknown."""

_INHERITED = ("READ", "WRITE", "ADMIN")

_UNTOLD: Final = Decision(
    allowed=False, determined=False, audited=True, reason="the policies do not show that all of it is covered"
)


class Missing(msgspec.Struct, frozen=True, gc=False):
    """Missing privilege of a user: one of `actions` on `entity`, needed in that capacity."""

    person: str
    actions: tuple[str, ...]
    entity: EntityId | EntityPattern
    capacity: str

    def __str__(self) -> str:
        who = self.person if self.capacity == "requesting" else f"{self.person} ({CAPACITIES[self.capacity]})"
        return f"{who} needs {self.privilege}"

    @property
    def privilege(self) -> str:
        """Return the missing privilege as text: `READ or WRITE on dataset:ns1.kv`."""
        entity = "the instance" if self.entity.type == "instance" else self.entity
        if self.actions == (VISIBLE,):
            return f"any privilege on {entity} or in it"
        return f"{'any privilege' if self.actions == (ANY,) else ' or '.join(self.actions)} on {entity}"


class EvaluatedPrivilege(msgspec.Struct, frozen=True, gc=False):
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


class Visibility(msgspec.Struct, frozen=True, gc=False):
    """Visibility of an entity for a user; `lasting` if the same policies decide so at any time and from anywhere."""

    visible: bool
    lasting: bool


class Answer(msgspec.Struct, frozen=True, gc=False):
    """Answer to an operation on an entity: allowed or not, the deciding privileges, and the missing ones.

    If it is not `enforced`, `allowed` says what happens, and the rest of the answer describes the decision that would
    apply. `given_reason` and `given_missing` take the place of what the privileges say; the texts are made when read.
    """

    allowed: bool
    operation: str
    entity: EntityId
    person: str
    requirements: tuple[str, ...]
    decided_by: tuple[EvaluatedPrivilege, ...] = ()
    alternatives: tuple[tuple[EvaluatedPrivilege, ...], ...] = ()
    given_reason: str = ""
    given_missing: tuple[Missing, ...] | None = None
    ready: bool = True
    enforced: bool = True

    @property
    def reason(self) -> str:
        """Return `allowed`, or why not: the missing privileges, or a reason outside the policies."""
        return self.given_reason or ("allowed" if self.allowed else "; ".join(map(str, self.missing)))

    @property
    def missing(self) -> tuple[Missing, ...]:
        """Return the privileges that the nearest alternative lacks."""
        if self.given_missing is not None:
            return self.given_missing
        return tuple([Missing(e.person, e.actions, e.entity, e.capacity) for e in self.decided_by if not e.held])

    @property
    def undecided(self) -> bool:
        """Return true if it is open what the policies say, because they come without the security zones they name."""
        # If nothing is missing, something else denies it, such as a plugin.
        return bool(
            self.enforced
            and not self.allowed
            and self.missing
            and any(one and all(map(_may_be_held, one)) for one in self.alternatives)
        )

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


def _may_be_held(evaluated: EvaluatedPrivilege) -> bool:
    return evaluated.held or evaluated.decision.reason == NO_ZONES_KNOWN


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

    The parts of the entity must have been checked, as `entity_id` does. A pattern needs `names`: without them, nothing
    is allowed on it.

    Raises:
        InvalidInput: as `required_privileges`.
    """
    inherits = options.inherit and not operation.lists
    alternatives: list[tuple[EvaluatedPrivilege, ...]] = []
    nearest: tuple[EvaluatedPrivilege, ...] = ()
    fewest = -1
    for needs in required_privileges(operation, entity, person, context, options):
        evaluated = tuple(
            [
                evaluate_privilege(need.person, need.entity, need.actions, ask, names, inherits, need.capacity)
                for need in needs
            ]
        )
        alternatives.append(evaluated)
        lacks = len([e for e in evaluated if not is_allowed(e.decision)])
        if lacks < fewest or fewest < 0:
            nearest, fewest = evaluated, lacks
        if evaluated and not lacks:
            return Answer(True, operation.name, entity, person, operation.requirements, evaluated, tuple(alternatives))
    return Answer(
        False,
        operation.name,
        entity,
        person,
        operation.requirements,
        nearest,
        tuple(alternatives),
        given_reason="" if fewest > 0 else _undecidable(operation, context),
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
    return Answer(False, operation, entity, person, (), given_reason=reason, ready=ready)


def _undecidable(operation: Operation, context: Context) -> str:
    roles = " or ".join(" and ".join(f"`{role}`" for role in roles) for roles in unnamed(operation, context))
    return f"`{operation.name}` cannot be decided without an entity for {roles}"


def evaluate_privilege(
    person: str,
    entity: EntityId | EntityPattern,
    actions: tuple[str, ...],
    ask: Ask,
    names: Names | None = None,
    inherits: bool = False,
    capacity: str = "requesting",
) -> EvaluatedPrivilege:
    """Evaluate a privilege; one action suffices: the first that is allowed decides, else the first that may be held.

    `inherits`: an ancestor's decision counts where none of the entity itself applies.

    Raises:
        InvalidInput: there is no action.
    """
    first: EvaluatedPrivilege | None = None
    for action in actions:
        inherited = inherits and action in _INHERITED
        if isinstance(entity, EntityId):
            decided_on = None
            decision = _decide(person, entity, action, ask, inherited) if inherited else ask(person, entity, action)
        else:
            decided_on, decision = _decide_pattern(person, entity, action, ask, names, inherited)
        evaluated = EvaluatedPrivilege(entity, actions, action, decision, person, capacity, decided_on)
        if is_allowed(decision):
            return evaluated
        first = evaluated if first is None or (not _may_be_held(first) and _may_be_held(evaluated)) else first
    if first is None:
        raise InvalidInput("a privilege without actions")
    return first


def _decide(person: str, entity: EntityId, action: str, ask: Ask, inherits: bool) -> Decision:
    decision = ask(person, entity, action)
    return _inherited(decision, person, entity, action, ask) if inherits else decision


def _decide_pattern(
    person: str, pattern: EntityPattern, action: str, ask: Ask, names: Names | None, inherits: bool
) -> tuple[EntityId | None, Decision]:
    """Return the first denial of an entity that the pattern matches, and that entity."""
    named = names(person, pattern) if names is not None else None
    entities = pattern.representatives(named) if named is not None else None
    if not entities:
        return None, _UNTOLD
    decisions = []
    for entity in entities:
        decisions.append(_decide(person, entity, action, ask, inherits))
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
