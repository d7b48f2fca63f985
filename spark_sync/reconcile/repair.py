"""`repair`: changes of the ledger that settle drift. Pure.

Only the ledger is changed; the next run does the rest. Law: a repair gives no user access that was not already pending
in the ledger, and an adopted or released policy stays as it is. An existing entity keeps an open life, so that no user
becomes its creator by touching it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from ranger_cdap.cdap.grant import ACCESS_TYPES, held
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, seen
from spark_sync.grants.plan import WITHOUT_GRANT, PlanSettings
from spark_sync.ledger.event import Position
from spark_sync.ledger.fold import baseline_position
from spark_sync.ledger.ledger import LedgerChange, differences
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


Rows = Mapping[int, Life | None]
"""Lives of one entity by number as a repair has them; `None` for one that another replaces."""


class RepairAction(StrEnum):
    """Actions on drift: Ranger is right, so its policy is adopted or released to people; or it is to be revoked."""

    ADOPT = "adopt"
    RELEASE = "release"
    REVOKE = "revoke"


@dataclass(frozen=True, slots=True)
class Repairs:
    """Changes to the ledger, the findings they settle, and those they cannot."""

    changes: tuple[LedgerChange, ...]
    settled: tuple[DriftFinding, ...]
    left: tuple[DriftFinding, ...]


def repair(finding: DriftFinding, action: RepairAction) -> Rows | None:
    """Return the lives of the entity that change; `None` if the action does not fit or could grant access."""
    life, policy = finding.life, finding.policy
    match finding.drift, action:
        case Drift.UNRECORDED, _:
            return _UNRECORDED[action](finding)
        case Drift.EDITED, RepairAction.ADOPT if life and policy:
            recorded = _policy_fields(policy, life.creator or "")
            after = life.become(State.APPLIED, reason="", taken="", terms=MANUAL_TERMS, **recorded)
        case Drift.EDITED, RepairAction.RELEASE if life:
            after = life.become(State.KNOWN, reason=RELEASED, **_LEFT_TO_PEOPLE)
        case Drift.MISSING, RepairAction.ADOPT | RepairAction.RELEASE if life:
            reason = "its grant was revoked manually, which was accepted"
            after = life.become(State.KNOWN, reason=reason, **_LEFT_TO_PEOPLE)
        case Drift.ENTITY_DELETED, RepairAction.RELEASE if life:
            after = _ended(life, finding.facts.taken).become(State.CLOSED, reason=RELEASED, **WITHOUT_GRANT)
        case Drift.ENTITY_DELETED, RepairAction.REVOKE if life:
            after = _ended(life, finding.facts.taken)
        case Drift.STALE, RepairAction.RELEASE if _is_past(finding):
            after = _over(finding, State.CLOSED, reason=RELEASED)
        case Drift.STALE, RepairAction.REVOKE if policy and finding.users and _is_past(finding):
            after = _revoked(finding, policy, ACCESS_TYPES)
        case _:
            return None
    return {after.number: after}


def actions(finding: DriftFinding) -> tuple[RepairAction, ...]:
    """Return the actions that can settle a finding."""
    return tuple(action for action in RepairAction if repair(finding, action))


def repair_all(known: Iterable[Facts], settings: PlanSettings, action: RepairAction) -> Repairs:
    """Apply the action to all findings about these entities, including those that one repair reveals."""
    changes, settled, left = list[LedgerChange](), list[DriftFinding](), list[DriftFinding]()
    for facts in known:
        after, done = facts, set[tuple[Drift, int]]()
        while True:
            found = drift_of(after, settings)
            fitting = ((f, repair(f, action)) for f in found if (f.drift, f.number) not in done)
            finding, rows = next(((f, rows) for f, rows in fitting if rows), (None, None))
            if finding is None or rows is None:
                break
            done.add((finding.drift, finding.number))
            settled.append(finding)
            lives: dict[int, Life | None] = {**{life.number: life for life in after.lives}, **rows}
            after = replace(after, lives=tuple(life for _, life in sorted(lives.items()) if life))
        left += found
        changes += differences(facts.lives, after.lives)
    return Repairs(tuple(changes), tuple(settled), tuple(left))


def _adopt(finding: DriftFinding) -> Rows | None:
    """Record an unrecorded policy as the grant of the one user whom it names."""
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
        found = facts.taken if facts.listed else 0
        life, former = replace(known, begun=begun, certain=found), dict[int, Life]()
    else:
        # The policy of a later life is only sent after the earlier life has ended.
        if facts.current.number in facts.policies or facts.listed is False:
            return None
        begun = facts.current.begun
        life = Life(facts.entity, finding.number, None, begun, State.KNOWN)
        former = {facts.current.number: _ended(facts.current, begun.time)}
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
    return {**_superseded(finding), **former, applied.number: applied}


def _release(finding: DriftFinding) -> Rows | None:
    """Leave an unrecorded policy to people."""
    current = finding.facts.current
    if current is not None and current.state is not State.KNOWN:
        return None
    if known := _known(finding):
        return {**_superseded(finding), known.number: replace(known, reason=RELEASED, **_LEFT_TO_PEOPLE)}
    return {**_former(finding), finding.number: _over(finding, State.CLOSED, reason=RELEASED)}


def _revoke(finding: DriftFinding) -> Rows | None:
    """End the unrecorded policy's life; if the entity exists, another one without a creator takes its place."""
    facts = finding.facts
    if finding.policy is None or not finding.users:
        return None
    over = _revoked(finding, finding.policy)
    if facts.listed is False or (facts.current is None and not facts.listed):
        return {**_former(finding), over.number: over}
    known = _known(finding) or Life(finding.entity, finding.number, None, over.begun, State.KNOWN)
    rest = replace(known, number=finding.number + 1, reason="its grant was revoked", **_LEFT_TO_PEOPLE)
    return {**_superseded(finding), **_former(finding), over.number: over, rest.number: rest}


_UNRECORDED: Final = {RepairAction.ADOPT: _adopt, RepairAction.RELEASE: _release, RepairAction.REVOKE: _revoke}


def _revoked(finding: DriftFinding, policy: Policy, otherwise: tuple[str, ...] = ()) -> Life:
    """Return the ended life in whose name a policy is revoked: that of any user whom it names.

    `otherwise`: the access types if the policy gives that user none.
    """
    recorded = _policy_fields(policy, finding.users[0])
    accesses = recorded["applied"] or otherwise
    return _over(finding, State.CLOSING, creator=finding.users[0], accesses=accesses, reason="", **recorded)


def _policy_fields(policy: Policy, user: str) -> dict[str, Any]:
    """Return the fields of a life that records this policy as it is."""
    there = held(policy, user)
    return {
        "applied": tuple(access for access in ACCESS_TYPES if access in there),
        "written": content_of(policy),
        "zone": policy.zone_name,
        **seen(policy),
    }


def _is_past(finding: DriftFinding) -> bool:
    """Return whether the entity's open life, if any, comes after that life."""
    current = finding.facts.current
    return current is None or current.number > finding.number


def _former(finding: DriftFinding) -> Rows:
    """Return the entity's open life, ended, if the unrecorded one came later or the entity was deleted."""
    current, gone = finding.facts.current, finding.facts.listed is False
    if current is None or current.number == finding.number or (current.state is State.KNOWN and not gone):
        return {}
    return {current.number: _ended(current, current.begun.time)}


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


def _superseded(finding: DriftFinding) -> Rows:
    """Return the known and unconfirmed lives that another one replaces, as dropped."""
    replaced = (life for life in finding.facts.lives if life.is_open and life.number != finding.number)
    return {life.number: None for life in replaced if life.state in (State.KNOWN, State.UNCONFIRMED)}
