"""`SharedWrite`: all changes of a run to one policy of several entities, and what they make of it. Pure.

The ledger knows which grants are in the policy and which may be: a run that was killed may have sent or removed the
latter. So a policy is unedited if its guid proves its terms, and its entities lie between the two. An edited policy is
never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.shared_policy import PolicyPlace, SharedPolicy, named_entities, read_shared
from ranger_cdap.errors import SyncError
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.outcome import StepOutcome
from spark_sync.grants.plan import Join, Leave, NoOp
from spark_sync.ledger.life import Life, State

TOO_OLD: Final = (
    'Ranger Admin ignored `additionalResources`, which `sync.layout = "creator"` needs (Ranger 2.4 or later); the'
    ' policy was deleted again: set `sync.layout = "entity"`'
)


@dataclass(frozen=True, slots=True)
class SharedWrite:
    """Changes to the policy at one place; `others`: the other lives whose grant is in it, or may be."""

    place: PolicyPlace
    instance: str
    service: str
    joins: tuple[Join, ...] = ()
    leaves: tuple[Leave, ...] = ()
    others: tuple[Life, ...] = ()

    @property
    def steps(self) -> tuple[Join | Leave, ...]:
        """Return all steps."""
        return (*self.joins, *self.leaves)

    @property
    def staying(self) -> frozenset[EntityId]:
        """Return the entities that must be in the policy."""
        return frozenset(life.entity for life in self.others if life.state is State.APPLIED)


@dataclass(frozen=True, slots=True)
class PolicyInRanger:
    """A policy as it was read: the entities in it, and whether a person edited or deleted it."""

    policy: Policy | None
    entities: frozenset[EntityId]
    edited: bool


def found(write: SharedWrite, policy: Policy | None) -> PolicyInRanger:
    """Return what a policy at the place of these changes is; `None` if Ranger has none there."""
    if policy is None:
        return PolicyInRanger(None, frozenset(), edited=bool(write.staying))
    content = read_shared(policy)
    if content is None or content.place != write.place or content.terms.instance != write.instance:
        return PolicyInRanger(policy, named_entities(policy, write.instance), edited=True)
    known = {step.life.entity for step in write.steps} | {life.entity for life in write.others}
    return PolicyInRanger(policy, content.entities, edited=not write.staying <= content.entities <= known)


def after_edit(write: SharedWrite, there: PolicyInRanger) -> list[StepOutcome]:
    """Return the outcomes if the policy was edited: what is not in it is unaffected, and the rest stays as it is.

    A grant that is not in it goes into another policy.
    """
    number = there.policy.id if there.policy else None
    return [_after_edit(step, number if step.life.entity in there.entities else None) for step in write.steps]


def wanted(write: SharedWrite, there: PolicyInRanger) -> SharedPolicy | None:
    """Return the content after all joins and leaves; `None` if no entity is left.

    Raises:
        SyncError: a grant is not of the policy's terms (a bug; nothing is written).
    """
    joins = write.joins
    if any(join.shared.key != write.place.key for join in joins):
        raise SyncError(f"a grant of other terms was to be written into the policy `{write.place.guid}`")
    leaving = {step.life.entity for step in write.leaves} - write.staying
    entities = (there.entities - leaving) | {join.life.entity for join in joins}
    content = read_shared(there.policy) if there.policy else None
    terms = content.terms if content else next((join.shared for join in joins), None)
    return SharedPolicy(terms, write.place.number, frozenset(entities)) if terms and entities else None


def applied(join: Join, policy: Policy | None) -> StepOutcome:
    """Return the outcome of a grant that is in the policy; former policies may still hold it, too."""
    life = join.life
    return StepOutcome(
        join,
        life.become(
            State.APPLIED,
            reason="",
            applied=join.grant.accesses,
            written=life.written if life.is_moving else "",
            terms=join.terms,
            policy_id=-1 if policy is None or policy.id is None else policy.id,
            policy_version=-1 if policy is None or policy.version is None else policy.version,
        ),
    )


def left(write: SharedWrite, there: PolicyInRanger, reason: str = "") -> Iterator[StepOutcome]:
    """Return the outcomes of the leaves after the policy was written; a grant that only moved is not revoked."""
    for step in write.leaves:
        revoked = step.life.entity in there.entities and step.life.state is not State.APPLIED
        yield StepOutcome(step, replace(step.done, reason=reason) if reason else step.done, revoked)


def elsewhere(join: Join) -> StepOutcome:
    """Return the outcome of a grant that is not in the policy and goes into another one."""
    there = join.life.without_place(str(join.place))
    return StepOutcome(join, there.become(State.PENDING, reason=""))


def displaced(lives: Iterable[Life], place: PolicyPlace) -> Iterator[StepOutcome]:
    """Return the outcomes of applied grants whose policy had to be deleted: they are pending again."""
    for life in lives:
        if life.state is State.APPLIED:
            again = life.without_place(str(place)).become(
                State.PENDING, applied=(), policy_id=-1, policy_version=-1, reason=""
            )
            yield StepOutcome(NoOp(life, again), again)


def _after_edit(step: Join | Leave, policy_id: int | None) -> StepOutcome:
    if isinstance(step, Leave):
        if policy_id is None:
            return StepOutcome(step, step.done)
        advice = f"remove `{step.life.entity}` of `{step.life.holder}` from it if it is not wanted"
        reason = f"edited: policy {policy_id} was changed manually; {advice}"
        return StepOutcome(step, step.life.become(step.life.stuck_state, reason=reason))
    if policy_id is None:
        return elsewhere(step)
    reason = f"edited: policy {policy_id} was changed manually"
    return StepOutcome(step, step.life.become(State.BLOCKED, reason=reason, policy_id=policy_id))
