"""`repair`: changes of the ledger that settle drift. Pure.

Only the ledger is changed; the next run does the rest. Law: a repair gives no user access that was not already pending
in the ledger, and an adopted or released policy stays as it is. An existing entity keeps an open life, so that no user
becomes its creator by touching it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from ranger_cdap.cdap.grant import ACCESS_TYPES, held
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, seen
from spark_sync.grants.plan import WITHOUT_GRANT, PlanSettings
from spark_sync.ledger.event import Position
from spark_sync.ledger.fold import baseline_position
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import MANUAL_TERMS, RECONCILED, RELEASED, Life, State
from spark_sync.reconcile.drift import BEGINNING, Drift, DriftFinding, Facts, drift_of

_LEFT_TO_PEOPLE: Final[dict[str, Any]] = {
    **WITHOUT_GRANT,
    "accesses": (),
    "terms": MANUAL_TERMS,
    "revoke": False,
    "taken": "",
}
"""Fields of a life without a grant, which neither changed settings nor the end of a doubt bring back."""


class RepairAction(StrEnum):
    """Actions on drift: adopt the existing policy, release it to manual administration, or revoke it."""

    ADOPT = "adopt"
    RELEASE = "release"
    REVOKE = "revoke"


@dataclass(frozen=True, slots=True)
class Repairs:
    """Changes to the ledger, the findings they settle, and those they cannot."""

    changes: tuple[LedgerChange, ...]
    settled: tuple[DriftFinding, ...]
    left: tuple[DriftFinding, ...]


def repair(finding: DriftFinding, action: RepairAction) -> LedgerChange | None:
    """Return the change to the entity's lives; `None` if the action does not fit or could grant access."""
    made = _REPAIRS.get((finding.drift, action))
    return made(finding) if made else None


def actions(finding: DriftFinding) -> tuple[RepairAction, ...]:
    """Return the actions that can settle a finding."""
    return tuple(action for action in RepairAction if repair(finding, action))


def repair_all(known: Iterable[Facts], settings: PlanSettings, action: RepairAction) -> Repairs:
    """Apply the action to all findings about these entities, including those that one repair reveals."""
    changes, settled, left = [], [], list[DriftFinding]()
    for facts in known:
        after, done = facts, set[tuple[Drift, int]]()
        while True:
            found = drift_of(after, settings)
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


def _adopt_edited(finding: DriftFinding) -> LedgerChange | None:
    life, policy = finding.life, finding.policy
    if life is None or policy is None:
        return None
    standing = _policy_fields(policy, life.creator or "")
    return _one(life.become(State.APPLIED, reason="", taken="", terms=MANUAL_TERMS, **standing))


def _release_edited(finding: DriftFinding) -> LedgerChange | None:
    if finding.life is None:
        return None
    return _one(finding.life.become(State.KNOWN, reason=RELEASED, **_LEFT_TO_PEOPLE))


def _accept_missing(finding: DriftFinding) -> LedgerChange | None:
    if finding.life is None:
        return None
    reason = "its grant was revoked manually, which was accepted"
    return _one(finding.life.become(State.KNOWN, reason=reason, **_LEFT_TO_PEOPLE))


def _revoke_deleted(finding: DriftFinding) -> LedgerChange | None:
    return _one(_ended(finding.life, finding.facts.taken)) if finding.life else None


def _release_deleted(finding: DriftFinding) -> LedgerChange | None:
    if finding.life is None:
        return None
    ended = _ended(finding.life, finding.facts.taken)
    return _one(ended.become(State.CLOSED, reason=RELEASED, **WITHOUT_GRANT))


def _adopt_unrecorded(finding: DriftFinding) -> LedgerChange | None:
    policy, facts = finding.policy, finding.facts
    named = {user for item in policy.policy_items for user in item.users} if policy else set()
    if policy is None or len(named) != 1 or set(finding.users) != named:
        return None  # the creator must be unambiguous
    (creator,) = named
    if facts.current is None or facts.current.state is State.KNOWN:
        if (known := _known(finding)) is None:
            return None
        # One found by an inventory began before it: a deletion that is read later may have been its end.
        begun = known.begun if known.begun.source else min(known.begun, _since(finding))
        life, former = replace(known, begun=begun), tuple[Life, ...]()
    else:
        # The policy of a later life is only sent after the earlier life has ended.
        if facts.current.number in facts.policies or facts.listed is False:
            return None
        begun = facts.current.begun
        life = Life(facts.entity, finding.number, None, begun, State.KNOWN)
        former = (_ended(facts.current, begun.time),)
    standing = _policy_fields(policy, creator)
    applied = life.become(State.PENDING).become(
        State.APPLIED,
        creator=creator,
        accesses=standing["applied"],
        reason="",
        source="",
        event="",
        terms=None,
        **standing,
    )
    return LedgerChange(facts.entity, (*former, applied), _superseded(finding))


def _release_unrecorded(finding: DriftFinding) -> LedgerChange | None:
    current = finding.facts.current
    if current is not None and current.state is not State.KNOWN:
        return None
    if known := _known(finding):
        released = replace(known, reason=RELEASED, **_LEFT_TO_PEOPLE)
        return LedgerChange(finding.entity, (released,), _superseded(finding))
    over = _over(finding, State.CLOSED, reason=RELEASED)
    return LedgerChange(finding.entity, (*_former(finding), over))


def _revoke_unrecorded(finding: DriftFinding) -> LedgerChange | None:
    """End the policy's life; if the entity exists, another one without a creator takes its place."""
    facts, holder = finding.facts, _holder(finding)
    if finding.policy is None or holder is None:
        return None
    standing = _policy_fields(finding.policy, holder)
    over = _over(finding, State.CLOSING, creator=holder, accesses=standing["applied"], reason="", **standing)
    if facts.listed is False or (facts.current is None and not facts.listed):
        return LedgerChange(finding.entity, (*_former(finding), over))
    known = _known(finding) or Life(finding.entity, finding.number, None, over.begun, State.KNOWN)
    rest = replace(known, number=finding.number + 1, reason="its grant was revoked", **_LEFT_TO_PEOPLE)
    dropped = tuple(number for number in _superseded(finding) if number != rest.number)
    return LedgerChange(finding.entity, (*_former(finding), over, rest), dropped)


def _revoke_stale(finding: DriftFinding) -> LedgerChange | None:
    holder = _holder(finding)
    if finding.policy is None or holder is None or not _is_past(finding):
        return None
    standing = _policy_fields(finding.policy, holder)
    fields = {"creator": holder, "accesses": standing["applied"] or ACCESS_TYPES, "reason": "", **standing}
    return _one(_over(finding, State.CLOSING, **fields))


def _release_stale(finding: DriftFinding) -> LedgerChange | None:
    return _one(_over(finding, State.CLOSED, reason=RELEASED)) if _is_past(finding) else None


_REPAIRS: Final[Mapping[tuple[Drift, RepairAction], Callable[[DriftFinding], LedgerChange | None]]] = {
    (Drift.EDITED, RepairAction.ADOPT): _adopt_edited,
    (Drift.EDITED, RepairAction.RELEASE): _release_edited,
    (Drift.MISSING, RepairAction.ADOPT): _accept_missing,
    (Drift.MISSING, RepairAction.RELEASE): _accept_missing,
    (Drift.ENTITY_DELETED, RepairAction.RELEASE): _release_deleted,
    (Drift.ENTITY_DELETED, RepairAction.REVOKE): _revoke_deleted,
    (Drift.UNRECORDED, RepairAction.ADOPT): _adopt_unrecorded,
    (Drift.UNRECORDED, RepairAction.RELEASE): _release_unrecorded,
    (Drift.UNRECORDED, RepairAction.REVOKE): _revoke_unrecorded,
    (Drift.STALE, RepairAction.RELEASE): _release_stale,
    (Drift.STALE, RepairAction.REVOKE): _revoke_stale,
}


def _policy_fields(policy: Policy, user: str) -> dict[str, Any]:
    """Return the fields of a life that records this policy as it is."""
    there = held(policy, user)
    return {
        "applied": tuple(access for access in ACCESS_TYPES if access in there),
        "written": content_of(policy),
        **seen(policy),
    }


def _holder(finding: DriftFinding) -> str | None:
    """Return the user in whose name an unrecorded policy is revoked: any of those it names."""
    return next(iter(finding.users), None)


def _is_past(finding: DriftFinding) -> bool:
    """Return whether the entity's open life, if any, comes after that life."""
    current = finding.facts.current
    return current is None or current.number > finding.number


def _former(finding: DriftFinding) -> tuple[Life, ...]:
    """Return the entity's open life, ended, if the unrecorded one came later or the entity was deleted."""
    current, gone = finding.facts.current, finding.facts.listed is False
    if current is None or current.number == finding.number or (current.state is State.KNOWN and not gone):
        return ()
    return (_ended(current, current.begun.time),)


def _ended(life: Life, time: int) -> Life:
    return life.become(State.CLOSING, ended=Position(time, True, RECONCILED, ""), reason="")


def _known(finding: DriftFinding) -> Life | None:
    """Return the life of that number as a known one, in place of the entity's known life.

    `None` if neither ledger nor inventory has the entity: the user who creates it next must be its creator.
    """
    facts, current = finding.facts, finding.facts.current
    if facts.listed is False or (current is None and not facts.listed):
        return None
    if current is None:
        return Life(
            facts.entity, finding.number, None, max(_since(finding), baseline_position(facts.taken)), State.KNOWN
        )
    return replace(current, number=finding.number) if current.state is State.KNOWN else None


def _over(finding: DriftFinding, state: State, **fields: Any) -> Life:
    """Return the life of that number, ended."""
    life = finding.life
    if life is None:
        current = finding.facts.current
        begun = current.begun if current and current.number <= finding.number else _since(finding)
        life = Life(finding.entity, finding.number, None, begun, State.KNOWN)
    ended = life.ended or Position(life.begun.time, True, RECONCILED, "")
    return replace(life, state=state, ended=ended, **fields)


def _since(finding: DriftFinding) -> Position:
    """Return the earliest possible beginning of the life of that number, so that a late deletion still ends it."""
    before = [life.ended.time for life in finding.facts.decided if life.ended and life.number < finding.number]
    return Position(max(before), False, "", "") if before else BEGINNING


def _superseded(finding: DriftFinding) -> tuple[int, ...]:
    """Return the numbers of known and unconfirmed lives that another one replaces."""
    return tuple(
        life.number
        for life in finding.facts.lives
        if life.number != finding.number and life.is_open and life.state in (State.KNOWN, State.UNCONFIRMED)
    )


def _one(life: Life) -> LedgerChange:
    return LedgerChange(life.entity, (life,))


def _changed(lives: Collection[Life], change: LedgerChange) -> tuple[Life, ...]:
    rows = {life.number: life for life in lives if life.number not in change.dropped}
    rows |= {life.number: life for life in change.lives}
    return tuple(rows[number] for number in sorted(rows))


def _difference(before: Facts, after: Facts) -> LedgerChange | None:
    old, new = ({life.number: life for life in facts.lives} for facts in (before, after))
    lives = tuple(life for number, life in new.items() if old.get(number) != life)
    dropped = tuple(number for number in old if number not in new)
    return LedgerChange(before.entity, lives, dropped) if lives or dropped else None
