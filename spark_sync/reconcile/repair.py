"""`repair`: what the ledger says once a person has decided about a disagreement. Pure.

Only the ledger is changed; the next run does the rest. Law: no user ever gets anything by it that was not already
pending in the ledger, and what is adopted or released stays as it is. An entity that exists keeps an open life, so
that no user becomes its creator by touching it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from ranger_cdap.cdap.grant import ACCESS_TYPES, held
from ranger_cdap.engine.model.wire import Policy
from spark_sync.grants.grant_policy import content_of
from spark_sync.grants.plan import PlanSettings
from spark_sync.ledger.event import Position
from spark_sync.ledger.fold import at_baseline
from spark_sync.ledger.ledger import Change
from spark_sync.ledger.life import WHEN_DELETED, Life, State
from spark_sync.reconcile.drift import BEGINNING, RELEASED, Drift, Facts, Finding, drift_of

NOTHING: Final[Mapping[str, Any]] = {
    "applied": (),
    "merged": (),
    "written": "",
    "policy_id": -1,
    "policy_version": -1,
}
"""What a life says of Ranger that holds nothing there."""


class Action(StrEnum):
    """The decision of a person: adopt the existing policy, leave it to people, or revoke it."""

    ADOPT = "adopt"
    RELEASE = "release"
    REVOKE = "revoke"


@dataclass(frozen=True, slots=True)
class Repairs:
    """The changes to the ledger, the findings they settle, and those they cannot."""

    changes: tuple[Change, ...]
    settled: tuple[Finding, ...]
    left: tuple[Finding, ...]


def repair(finding: Finding, action: Action) -> Change | None:
    """What the action makes of the entity's lives; nothing where it does not fit or could give somebody something."""
    made = _REPAIRS.get((finding.drift, action))
    return made(finding) if made else None


def actions(finding: Finding) -> tuple[Action, ...]:
    """The actions that can settle a finding."""
    return tuple(action for action in Action if repair(finding, action))


def repair_all(known: Iterable[Facts], settings: PlanSettings, action: Action, *, ownerless: bool = False) -> Repairs:
    """The action on everything about these entities; what comes to light by one repair is repaired too."""
    changes, settled, left = [], [], list[Finding]()
    for facts in known:
        after, done = facts, set[tuple[Drift, int]]()
        while True:
            found = drift_of(after, settings, ownerless=ownerless)
            fitting = ((f, repair(f, action)) for f in found if (f.drift, f.number) not in done)
            finding, change = next(((f, change) for f, change in fitting if change), (None, None))
            if finding is None or change is None:
                break
            done.add((finding.drift, finding.number))
            settled.append(finding)
            after = replace(after, lives=_changed(after.lives, change))
        left += found
        if difference := _difference(facts, after):
            changes.append(difference)
    return Repairs(tuple(changes), tuple(settled), tuple(left))


def _adopt_edited(finding: Finding) -> Change | None:
    life, policy = finding.life, finding.policy
    if life is None or policy is None or not life.is_open:
        return None
    return _one(life.become(State.APPLIED, reason="", **_standing(policy, life.creator or "")))


def _release_edited(finding: Finding) -> Change | None:
    if finding.life is None:
        return None
    over = State.KNOWN if finding.life.is_open else State.CLOSED
    return _one(finding.life.become(over, reason=RELEASED, **NOTHING))


def _revoke_edited(finding: Finding) -> Change | None:
    life, policy = finding.life, finding.policy
    if life is None or policy is None or life.is_open:
        return None  # whose entity exists keeps what people made of it
    return _one(life.become(State.CLOSING, reason="", **_standing(policy, life.creator or "")))


def _accept_missing(finding: Finding) -> Change | None:
    if finding.life is None:
        return None
    reason = "its grant was taken away manually, which is accepted"
    return _one(finding.life.become(State.KNOWN, reason=reason, **NOTHING))


def _revoke_gone(finding: Finding) -> Change | None:
    return _one(_ended(finding.life, finding.facts.taken)) if finding.life else None


def _release_gone(finding: Finding) -> Change | None:
    if finding.life is None:
        return None
    ended = _ended(finding.life, finding.facts.taken)
    return _one(ended.become(State.CLOSED, reason=RELEASED, **NOTHING))


def _adopt_unrecorded(finding: Finding) -> Change | None:
    policy, facts = finding.policy, finding.facts
    named = {user for item in policy.policyItems for user in item.users} if policy else set()
    if policy is None or len(named) != 1 or set(finding.users) != named:
        return None  # it must be plain who the creator is
    (creator,) = named
    if facts.current is None or facts.current.state is State.KNOWN:
        if (known := _known(finding)) is None:
            return None
        life, former = known, tuple[Life, ...]()
    else:
        # A policy of the later life was only sent once the earlier one was over.
        if facts.current.number in facts.policies or facts.current.merged or facts.listed is False:
            return None
        begun = facts.current.begun
        life = Life(facts.entity, finding.number, None, begun, State.KNOWN)
        former = (_ended(facts.current, begun.time),)
    standing = _standing(policy, creator)
    applied = life.become(State.PENDING).become(
        State.APPLIED, creator=creator, accesses=standing["applied"], reason="", source="", event="", **standing
    )
    return Change(facts.entity, (*former, applied), _superseded(finding))


def _release_unrecorded(finding: Finding) -> Change | None:
    current = finding.facts.current
    if current is not None and current.state is not State.KNOWN:
        return None
    if known := _known(finding):
        return Change(finding.entity, (replace(known, reason=RELEASED),), _superseded(finding))
    over = _over(finding, State.CLOSED, reason=RELEASED)
    return Change(finding.entity, (*_former(finding), over))


def _revoke_unrecorded(finding: Finding) -> Change | None:
    """The policy's life is over, and another one, without a creator, stands for the entity if that exists."""
    facts, holder = finding.facts, _holder(finding)
    if finding.policy is None or holder is None:
        return None
    standing = _standing(finding.policy, holder)
    over = _over(finding, State.CLOSING, creator=holder, accesses=standing["applied"], reason="", **standing)
    if facts.listed is False or (facts.current is None and not facts.listed):
        return Change(finding.entity, (*_former(finding), over))
    known = _known(finding) or Life(finding.entity, finding.number, None, over.begun, State.KNOWN)
    rest = replace(known, number=finding.number + 1, reason="its grant was revoked", **NOTHING)
    dropped = tuple(number for number in _superseded(finding) if number != rest.number)
    return Change(finding.entity, (*_former(finding), over, rest), dropped)


def _revoke_leftover(finding: Finding) -> Change | None:
    holder = _holder(finding)
    if finding.policy is None or holder is None or not _is_past(finding):
        return None
    standing = _standing(finding.policy, holder)
    fields = {"creator": holder, "accesses": standing["applied"] or ACCESS_TYPES, "reason": "", **standing}
    return _one(_over(finding, State.CLOSING, **fields))


def _release_leftover(finding: Finding) -> Change | None:
    return _one(_over(finding, State.CLOSED, reason=RELEASED)) if _is_past(finding) else None


_REPAIRS: Final[Mapping[tuple[Drift, Action], Callable[[Finding], Change | None]]] = {
    (Drift.EDITED, Action.ADOPT): _adopt_edited,
    (Drift.EDITED, Action.RELEASE): _release_edited,
    (Drift.EDITED, Action.REVOKE): _revoke_edited,
    (Drift.MISSING, Action.ADOPT): _accept_missing,
    (Drift.MISSING, Action.RELEASE): _accept_missing,
    (Drift.GONE, Action.RELEASE): _release_gone,
    (Drift.GONE, Action.REVOKE): _revoke_gone,
    (Drift.UNRECORDED, Action.ADOPT): _adopt_unrecorded,
    (Drift.UNRECORDED, Action.RELEASE): _release_unrecorded,
    (Drift.UNRECORDED, Action.REVOKE): _revoke_unrecorded,
    (Drift.LEFTOVER, Action.RELEASE): _release_leftover,
    (Drift.LEFTOVER, Action.REVOKE): _revoke_leftover,
}


def _standing(policy: Policy, user: str) -> dict[str, Any]:
    """What a life says of Ranger that holds this policy as it is."""
    there = held(policy, user)
    return {
        "applied": tuple(access for access in ACCESS_TYPES if access in there),
        "merged": (),
        "written": content_of(policy),
        "policy_id": -1 if policy.id is None else policy.id,
        "policy_version": -1 if policy.version is None else policy.version,
    }


def _holder(finding: Finding) -> str | None:
    """The user in whose name an unrecorded policy is revoked: any of those it names."""
    return next(iter(finding.users), None)


def _is_past(finding: Finding) -> bool:
    """Whether what is written about that life leaves the entity's open one, if there is one, the last."""
    current = finding.facts.current
    return current is None or current.number > finding.number


def _former(finding: Finding) -> tuple[Life, ...]:
    """The entity's open life, ended if the one that is unrecorded came later, or if the entity is gone."""
    current, gone = finding.facts.current, finding.facts.listed is False
    if current is None or current.number == finding.number or (current.state is State.KNOWN and not gone):
        return ()
    return (_ended(current, current.begun.time),)


def _ended(life: Life, time: int) -> Life:
    return life.become(WHEN_DELETED[life.state], ended=Position(time, True, "reconcile", ""), reason="")


def _known(finding: Finding) -> Life | None:
    """The life of that number as one that is known, in place of the entity's known life.

    Nothing if neither ledger nor inventory says that the entity exists: who creates it next must be its creator.
    """
    facts, current = finding.facts, finding.facts.current
    if facts.listed is False or (current is None and not facts.listed):
        return None
    if current is None:
        return Life(facts.entity, finding.number, None, max(_since(finding), at_baseline(facts.taken)), State.KNOWN)
    return replace(current, number=finding.number) if current.state is State.KNOWN else None


def _over(finding: Finding, state: State, **fields: Any) -> Life:
    """The life of that number as one that has ended."""
    life = finding.life
    if life is None:
        current = finding.facts.current
        begun = current.begun if current and current.number <= finding.number else _since(finding)
        life = Life(finding.entity, finding.number, None, begun, State.KNOWN)
    ended = life.ended or Position(life.begun.time, True, "reconcile", "")
    return replace(life, state=state, ended=ended, **fields)


def _since(finding: Finding) -> Position:
    """When the life of that number can have begun at the earliest; so a deletion that is told later still ends it."""
    before = [life.ended.time for life in finding.facts.decided if life.ended and life.number < finding.number]
    return Position(max(before), False, "", "") if before else BEGINNING


def _superseded(finding: Finding) -> tuple[int, ...]:
    """The number of a known life that another one now stands for, and of an unconfirmed one."""
    return tuple(
        life.number
        for life in finding.facts.lives
        if life.number != finding.number and life.is_open and life.state in (State.KNOWN, State.UNCONFIRMED)
    )


def _one(life: Life) -> Change:
    return Change(life.entity, (life,))


def _changed(lives: Collection[Life], change: Change) -> tuple[Life, ...]:
    rows = {life.number: life for life in lives if life.number not in change.dropped}
    rows |= {life.number: life for life in change.lives}
    return tuple(rows[number] for number in sorted(rows))


def _difference(before: Facts, after: Facts) -> Change | None:
    old, new = ({life.number: life for life in facts.lives} for facts in (before, after))
    lives = tuple(life for number, life in new.items() if old.get(number) != life)
    dropped = tuple(number for number in old if number not in new)
    return Change(before.entity, lives, dropped) if lives or dropped else None
