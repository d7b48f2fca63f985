"""Rows of the console's answers as people read them, in the words of the commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from msgspec import UNSET

from ranger_cdap.analysis.reach_rows import item_text
from ranger_cdap.analysis.wording import SIDES, LevelText, place
from ranger_cdap.cdap.answer import Missing
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.console.answer_rows import (
    AskAnswer,
    ChangedAccessRow,
    EvidenceRequest,
    ExplainedPrivilege,
    HeldAccess,
    HolderRow,
    ItemAccessRow,
    LevelSet,
    NamedItem,
    NamedPolicy,
)
from ranger_cdap.engine import AccessRequest
from ranger_cdap.questions.impact_text import request_text
from ranger_cdap.questions.matrix import ActionAccess, Matrix, MatrixCell

_ALLOWS: Final = "policyItems"
"""List of the items of changed rows: access is gained and lost by allow items."""


def place_text(levels: Sequence[LevelSet]) -> str:
    """Return a resource as `dataset cdap/ns1/sales.*`."""
    return place(tuple(one.level for one in levels), [LevelText(tuple(one.values), one.excludes) for one in levels])


def policy_text(policy: NamedPolicy) -> str:
    """Return `policy 7 "readers"`."""
    return f"policy {policy.id}" + (f' "{policy.name}"' if policy.name else "")


def by_text(row: ItemAccessRow | ChangedAccessRow) -> str:
    """Return the policy and item of a row, as a person finds them in Ranger."""
    if row.policy is None:
        return "super users of the service configuration"
    side = row.side or "" if isinstance(row, ItemAccessRow) else _ALLOWS
    return item_text(row.policy.id, row.policy.name or "", side, row.item, (row.tag or "",), row.zone or "")


def item_place(item: NamedItem) -> str:
    """Return `deny item 2`."""
    return f"{SIDES[item.side]} item {item.number}"


def row_notes(row: ItemAccessRow | ChangedAccessRow) -> Iterator[str]:
    """Yield what limits a row, as sentences without a stop."""
    if row.conditions:
        yield f"if {' and '.join(row.conditions)}"
    yield from (f"except {text}" for text in row.exceptions)
    if isinstance(row, ChangedAccessRow) and row.partial:
        yield "in part: both sets allow the rest"
    if row.undecided:
        yield f"undecided: {', '.join(row.undecided)}"


def example_text(witness: EvidenceRequest) -> str:
    """Return the request that shows a row."""
    return request_text(
        AccessRequest(
            {one.level: one.value for one in witness.resource},
            witness.access,
            user=witness.user,
            groups=frozenset(witness.groups),
            roles=frozenset(witness.roles),
            owner=witness.owner if witness.owner is not UNSET else None,
            client_ip=witness.client_ip,
            action=witness.action,
            context={one.name: one.value for one in witness.context},
        )
    )


def verdict(answer: AskAnswer) -> str:
    """Return `allowed`, `denied` or `not ready`, and mention where it is not enforced."""
    if not answer.ready:
        return "not ready"
    if not answer.enforced:
        return "allowed, because it is not enforced"
    return "allowed" if answer.allowed else "denied"


def lacked(answer: AskAnswer) -> Iterator[tuple[str, ExplainedPrivilege | None]]:
    """Yield what is missing as `eve needs READ on dataset:ns1.kv`, each with the privilege that was evaluated."""
    evaluated = [one for alternative in answer.alternatives for one in alternative if not one.held]
    for one in answer.missing:
        entity = EntityId(one.entity.type, tuple(one.entity.parts))
        found = (
            each for each in evaluated if (each.user, each.actions, each.entity) == (one.user, one.actions, one.entity)
        )
        yield (
            str(Missing(person=one.user, capacity=one.capacity, actions=tuple(one.actions), entity=entity)),
            next(found, None),
        )


def by_policy(cell: MatrixCell) -> Iterator[tuple[int, list[tuple[str, ActionAccess]]]]:
    """Yield the policies that decide in a cell, -1 for none, with the letters of the actions."""
    for policy_id, found in groupby(cell.letters, key=lambda pair: pair[1].policy_id):
        yield policy_id, list(found)


def matrix_policies(found: Matrix) -> list[int]:
    """Return the ids of the policies that decide in a matrix, sorted."""
    marks = (mark for row in found.rows for cell in row for _, mark in cell.marks)
    return sorted({mark.policy_id for mark in marks if mark.policy_id >= 0})


@dataclass(frozen=True, slots=True)
class HolderLine:
    """Accesses of a holder that one policy decides alike; `first` is true for the first line of a holder."""

    holder: HolderRow
    accesses: tuple[str, ...]
    standing: str
    state: str
    policy: NamedPolicy | None
    first: bool


def holder_lines(holders: Sequence[HolderRow]) -> Iterator[HolderLine]:
    """Yield the lines of holders; one without any access has none."""
    for one in holders:
        found = groupby(one.accesses.items(), key=lambda pair: (pair[1].standing, _state(pair[1]), pair[1].policy))
        for number, ((standing, state, policy), pairs) in enumerate(found):
            yield HolderLine(one, tuple(name for name, _ in pairs), standing, state, policy, number == 0)


def _state(held: HeldAccess) -> str:
    return f"allowed {held.depends}" if held.depends else held.standing
