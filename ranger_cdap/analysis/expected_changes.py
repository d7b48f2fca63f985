"""Expected changes: entries that a reviewer keeps, and the rows of an impact that one of them covers as a whole.

Law: every request of a covered row is one that its entry names. A search without an answer covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from ranger_cdap.analysis.impact import Certainty, ChangedAccess
from ranger_cdap.analysis.logic.formula import FALSE, Formula, all_of, negated
from ranger_cdap.analysis.report import ImpactRow
from ranger_cdap.analysis.row_search import RowSearch
from ranger_cdap.analysis.symbols.space import PolicySpace
from ranger_cdap.analysis.wording import LevelText, names_of
from ranger_cdap.engine.compiled.matcher import compile_element

_STEPS: Final = 20_000


@dataclass(frozen=True, slots=True)
class ExpectedChange:
    """An entry: who gains, or loses, which access types where; all requests of these, whatever the conditions.

    With a `policy`, by its id or name, only changes by that policy; `may` for rows that could not be decided.
    """

    number: int
    gained: bool
    who: tuple[str, ...]
    accesses: tuple[str, ...]
    where: Mapping[str, LevelText]
    policy: int | str | None = None
    until: date | None = None
    may: bool = False
    reason: str = ""

    def is_expired(self, today: date) -> bool:
        """Return True after the last day of the entry."""
        return self.until is not None and today > self.until


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row with its direction, and the entry that covers it."""

    row: ImpactRow
    gained: bool
    expected_by: ExpectedChange | None = None


def matched(
    rows: Sequence[ImpactRow],
    space: PolicySpace,
    expected: Sequence[ExpectedChange],
    *,
    gained: bool,
    today: date,
) -> Iterator[ChangedRow]:
    """Yield the rows, gained or lost, each with the first entry that covers it; `space` is the set that allows them."""
    search = RowSearch(space, _STEPS)
    by_policy: dict[int | str | None, list[ExpectedChange]] = {}
    for entry in expected:
        if entry.gained is gained and not entry.is_expired(today):
            by_policy.setdefault(entry.policy, []).append(entry)
    for row in rows:
        near = (entry for key in {None, row.policy_id, row.policy_name} for entry in by_policy.get(key, ()))
        entries = sorted(near, key=lambda entry: entry.number)
        yield ChangedRow(row, gained, next((entry for entry in entries if covers(entry, row, search)), None))


def covers(entry: ExpectedChange, row: ImpactRow, search: RowSearch) -> bool:
    """Return True if every request of a row is one that the entry names."""
    if entry.where.keys() != set(row.path) or not set(row.accesses) <= set(entry.accesses):
        return False
    if entry.policy is not None and (row.policy_id is None or entry.policy not in (row.policy_id, row.policy_name)):
        return False
    if row.certainty is Certainty.MAY and not entry.may:
        return False
    outside = negated(_named_by(entry, row, search.space))
    return all(_is_inside(change, outside, search) for change in row.changes)


def _named_by(entry: ExpectedChange, row: ImpactRow, space: PolicySpace) -> Formula:
    """Return that a request on the path of a row is one that an entry names."""
    maker, options = space.maker, space.state.model.levels
    if not space.knows(row.path):
        return FALSE
    levels = [
        maker.table.level(name, compile_element(level.values, level.excludes, options[name]))
        for name, level in entry.where.items()
    ]
    return all_of((*levels, maker.principals(name for text in entry.who for name in names_of(text))))


def _is_inside(change: ChangedAccess, outside: Formula, search: RowSearch) -> bool:
    """Return True if no request of a change is outside of an entry.

    First among all that the item gives, which is decided at once, then among what changes.
    """
    source = change.source
    return any(search.finds_none(all_of((guard, outside)), source) for guard in (source.guard, change.guard))
