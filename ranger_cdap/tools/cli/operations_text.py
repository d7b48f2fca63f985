"""Rows of a profile as text, for tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.profile import ACTIONS, SYNONYMS, Operation, Privilege, Profile, uncovered_rows
from ranger_cdap.errors import UnknownOperation

OTHER_TYPES = "other types"

_MANY = 3


@dataclass(frozen=True, slots=True)
class OperationText:
    """A row as text; `alternatives` name entity types where the row has `entity` and `parent`."""

    operation: str
    entity: str
    alternatives: tuple[tuple[str, ...], ...]
    gives: tuple[str, ...]
    lists: str
    shows: str
    requirements: tuple[str, ...]
    open_question: bool
    note: str

    @property
    def needs(self) -> str:
        """The needed privileges: `WRITE namespace & READ artifact if given, or ADMIN dataset`."""
        return ", or ".join(" & ".join(alternative) for alternative in self.alternatives)

    @property
    def needs_in_lines(self) -> str:
        """The same for a cell of a table: one line per alternative, or per privilege where there are many."""
        parted = [(" &\n  " if len(one) > _MANY else " & ").join(one) for one in self.alternatives]
        return "\nor ".join(parted)

    @property
    def given(self) -> str:
        """The actions granted to its user: `ALL` stands for all four."""
        return "ALL" if self.gives == ACTIONS else "|".join(self.gives)

    @property
    def listing(self) -> str:
        """The rule of a list in words; empty for other operations."""
        return {"each": "shows each that has it", "parent": "shows all below"}.get(self.lists, "")

    @property
    def remark(self) -> str:
        """The note, the rule of a list, and a mark if the document leaves the row open, or none has it."""
        mark = "open question" if self.open_question else "" if self.requirements else "asked by CDAP, in no document"
        return "; ".join(filter(None, (self.listing, mark, self.note)))


def lines(profile: Profile, kind: str | None = None) -> list[OperationText]:
    """Return the rows and core policies of a profile, and the rows for what no document covers; for a type, its own.

    Raises:
        UnknownEntityType: there is no such type.
    """
    if kind is None:
        own = [_line(row.name, row) for row in profile.rows.values()]
        own += [_line(name, profile.operation(name)) for name in _uncovered(profile)]
        return [*own, *(_line(f"{OTHER_TYPES}.{verb}", row) for verb, row in profile.core.items())]
    core = profile.core if entity_type(kind).parent else {}
    names = dict.fromkeys([row.name for row in profile.rows.values() if row.entity == kind])
    names |= dict.fromkeys(name for name in _uncovered(profile) if name.startswith(f"{kind}."))
    names |= dict.fromkeys(name for verb in core if (name := f"{kind}.{verb}") not in SYNONYMS)
    return [_line(name, profile.operation(name)) for name in names]


def _uncovered(profile: Profile) -> Iterator[str]:
    """Yield the operations that CDAP asks for and neither the profile nor its document has."""
    rows = uncovered_rows().items()
    return (name for name, row in rows if row.entity in entity_types() and name not in profile.rows)


def differing(profile: Profile, other: Profile) -> Iterator[OperationText]:
    """Yield the operations that a profile checks, grants or lists otherwise than another, or has alone."""
    for name in dict.fromkeys((*profile.rows, *other.rows)):
        row = _find(profile, name)
        if row is not None and _differ(row, _find(other, name)):
            yield row
    for verb, core in profile.core.items():
        name = f"{OTHER_TYPES}.{verb}"
        row = _line(name, core)
        if _differ(row, _line(name, other.core[verb]) if verb in other.core else None):
            yield row


def _differ(row: OperationText, other: OperationText | None) -> bool:
    return other is None or (row.alternatives, row.gives, row.lists) != (other.alternatives, other.gives, other.lists)


def _find(profile: Profile, name: str) -> OperationText | None:
    """Return the operation if a document has it."""
    try:
        row = profile.operation(name)
    except UnknownOperation:
        return None
    return _line(name, row) if row.requirements else None


def _line(name: str, row: Operation) -> OperationText:
    return OperationText(
        operation=name,
        entity=row.entity,
        alternatives=tuple(
            tuple(t for p in alternative for t in _privilege(p, row)) for alternative in row.alternatives
        ),
        gives=row.gives,
        lists=row.lists,
        shows=row.shows,
        requirements=row.requirements,
        open_question=row.open_question,
        note=row.note,
    )


def _privilege(privilege: Privilege, row: Operation) -> list[str]:
    """Return the privilege with its target as an entity type; targets that the row itself names, one by one."""
    return [str(replace(privilege, target=target)) for target in _targets(privilege.target, row)]


def _targets(target: str, row: Operation) -> Iterable[str]:
    if target in row.names:
        return [str(template) for template in row.names[target]]
    if row.entity in entity_types():
        path = entity_type(row.entity).path
        return [{"entity": path[-1], "parent": path[-2] if len(path) > 1 else target}.get(target, target)]
    return [target]
