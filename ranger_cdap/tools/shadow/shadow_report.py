"""Changes that enforcing would bring, from the audit of a service that only reports, or from older records. Pure.

Laws: every line is counted once: as a change, unchanged, enforced already, of another service, too early, undecided
with the reason, or rejected with its place. A service that only reports allowed everything. Once the gaps are granted,
the same checks are denied only where a policy denies or something outside the policies does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec

from ranger_cdap.audit.record import MissingPrivilege
from ranger_cdap.audit.verify import Place
from ranger_cdap.cdap.answer import EvaluatedPrivilege, is_undecided
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern, recorded_pattern
from ranger_cdap.cdap.profile import ACTIONS, ANY, VISIBLE
from ranger_cdap.engine import NO_POLICY
from ranger_cdap.ranger_model.json_text import decode_or_none

LAST_MOMENT: Final = 253_402_300_799_999
"""The last millisecond that has four digits for its year."""

Target = EntityId | EntityPattern

Evaluate = Callable[[str, str, Target, tuple[str, ...]], EvaluatedPrivilege]
"""Return what current policies say of a user, for an operation: the privilege of one of these actions on that."""

_ANY_PRIVILEGE: Final = frozenset({ANY.lower(), VISIBLE.lower()})
_KNOWN_ACTIONS: Final = frozenset({*map(str.lower, ACTIONS), *_ANY_PRIVILEGE})
_LEAST: Final = "read"
_MOST_PLACES: Final = 100


class ShadowChange(StrEnum):
    """Kind of a change, once operations are enforced."""

    DENIED = "newly denied"
    ALLOWED = "newly allowed"


class _Line(msgspec.Struct):
    """The fields of a record that count; a record of another service or authorizer fits as well."""

    repo: str
    reqUser: str  # noqa: N815 Ranger's name
    evtTime: Annotated[int, msgspec.Meta(ge=0, le=LAST_MOMENT)]  # noqa: N815
    access: str
    resource: str
    resType: str  # noqa: N815
    action: str
    result: Literal[0, 1]
    policy: int
    reason: str
    enforced: bool
    missing: tuple[MissingPrivilege, ...] | None = None


class _Mark(msgspec.Struct):
    """A mark of an audit chain, which is no access."""

    chain: Literal["start", "cut"]


@dataclass(frozen=True, slots=True)
class ShadowKey:
    """Identity of a change: a user, an operation, an entity, and why.

    `resource` is the entity or pattern of the privileges as text, or another resource, which has no `entity`.
    Allowed: by the privilege of `action`, from `policy`. Denied: for lack of `missing`; if that is empty, for `reason`.
    """

    change: ShadowChange
    user: str
    operation: str
    action: str
    resource: str
    entity: Target | None
    policy: int
    reason: str
    missing: tuple[MissingPrivilege, ...]

    @property
    def decisive(self) -> str:
        """The privilege that allows or is missing, as text: `READ on dataset:ns1.kv: policy 2 denies`."""
        if self.change is ShadowChange.ALLOWED and self.policy != NO_POLICY:
            return f"{self._on((self.action,))}, by policy {self.policy}"
        return "; ".join(self._lacking(one) for one in self.missing) or self.reason

    def _lacking(self, one: MissingPrivilege) -> str:
        denies = f": policy {one.policy} denies" if one.policy != NO_POLICY else ""
        return f"{self._on(one.actions)}{denies}{f' {one.actions[0].upper()}' if denies and one.actions[1:] else ''}"

    def _on(self, actions: tuple[str, ...]) -> str:
        names = ("any privilege" if action in _ANY_PRIVILEGE else action.upper() for action in actions)
        return f"{' or '.join(names)} on {self.resource}"


@dataclass(frozen=True, slots=True)
class ShadowRow:
    """A change, and how often and when it was seen (epoch milliseconds).

    `closed` if current policies give what is missing, `gaps` are the access types that would; a denial by a policy
    has none.
    """

    key: ShadowKey
    count: int
    first: int
    last: int
    closed: bool = False
    gaps: tuple[str, ...] = ()

    def seen_again(self, time: int, count: int) -> ShadowRow:
        """Return the row with one more record, of `count` accesses."""
        return replace(self, count=self.count + count, first=min(self.first, time), last=max(self.last, time))


@dataclass(frozen=True, slots=True)
class Rejection:
    """Line that is no record, and why, if that is known."""

    place: Place
    reason: str

    def __str__(self) -> str:
        return str(self.place)


@dataclass(frozen=True, slots=True)
class UndecidedRecords:
    """Number of records that cannot be decided for one reason, and the place of the first."""

    count: int
    first: Place


@dataclass(slots=True)
class ShadowReport:
    """Fold over the lines of an audit, since a time (epoch milliseconds).

    `changed` and `unchanged` count records, of which a changed one can have several rows.
    """

    service: str
    since: int
    rows: dict[ShadowKey, ShadowRow] = field(default_factory=dict)
    changed: int = 0
    unchanged: int = 0
    enforced: int = 0
    other_services: int = 0
    earlier: int = 0
    rejected: int = 0
    places: list[Rejection] = field(default_factory=list)
    undecided: dict[str, UndecidedRecords] = field(default_factory=dict)

    @property
    def reported(self) -> int:
        """The number of records of what is not enforced."""
        return self.unchanged + self.changed

    @property
    def not_decided(self) -> int:
        """The number of records that cannot be decided, for any reason."""
        return sum(one.count for one in self.undecided.values())

    def read(self, place: Place, text: bytes) -> None:
        """Count a line."""
        line = decode_or_none(text, _Line) or decode_or_none(text, _Mark)
        if isinstance(line, _Mark):
            return
        if line is None:
            self.reject(place)
        elif line.repo not in ("", self.service):
            self.other_services += 1
        elif line.evtTime < self.since:
            self.earlier += 1
        elif line.enforced:
            self.enforced += 1
        else:
            self._count(line)

    def reject(self, place: Place, reason: str = "") -> None:
        """Count a line that is no record."""
        self.rejected += 1
        if len(self.places) < _MOST_PLACES:
            self.places.append(Rejection(place, reason))

    def leave_undecided(self, place: Place, reason: str) -> None:
        """Count a record that cannot be decided."""
        known = self.undecided.get(reason)
        self.undecided[reason] = replace(known, count=known.count + 1) if known else UndecidedRecords(1, place)

    def change(self, keys: Iterable[ShadowKey], time: int, count: int = 1) -> None:
        """Count a record of `count` accesses with these changes, each once; without any it is unchanged."""
        found = dict.fromkeys(keys)
        if not found:
            self.unchanged += 1
            return
        self.changed += 1
        for key in found:
            row = self.rows.get(key)
            self.rows[key] = row.seen_again(time, count) if row else ShadowRow(key, count, time, time)

    def _count(self, line: _Line) -> None:
        # Nothing is missing on this entity if the denial is for another one, which has its own record.
        if line.result or line.missing == ():
            self.change((), line.evtTime)
            return
        _, entity = recorded_pattern(line.resType, line.resource) or ("", None)
        key = ShadowKey(
            ShadowChange.DENIED,
            line.reqUser,
            line.access,
            "",
            str(entity or f"{line.resType} {line.resource}"),
            entity,
            NO_POLICY,
            line.reason,
            _missing(line),
        )
        self.change((key,), line.evtTime)

    def by_now(self, evaluate: Evaluate) -> Iterator[ShadowRow]:
        """Yield the rows, those seen most often first, by current policies."""
        yield from (
            _by_now(row, evaluate)
            for row in sorted(self.rows.values(), key=lambda row: (row.key.change, -row.count, row.key.user, row.first))
        )


def gaps(rows: Iterable[ShadowRow]) -> tuple[tuple[str, str, Target], ...]:
    """Return what to grant so that the open denials for lack of a policy end: user, access type, entity."""
    found = ((row.key.user, access, row.key.entity) for row in rows for access in row.gaps)
    return tuple(dict.fromkeys((user, access, entity) for user, access, entity in found if entity is not None))


def _by_now(row: ShadowRow, evaluate: Evaluate) -> ShadowRow:
    key, entity = row.key, row.key.entity
    if entity is None or not key.user or not key.missing:
        return row

    def now(*actions: str) -> EvaluatedPrivilege:
        return evaluate(key.user, key.operation, entity, tuple(map(str.upper, actions)))

    lacking = [one.actions for one in key.missing if not now(*one.actions).held]
    grantable = [next((a for a in actions if is_undecided(now(a).decision)), None) for actions in lacking]
    accesses = [_LEAST if a in _ANY_PRIVILEGE else a for a in grantable if a is not None]
    # To grant a part helps no one where a policy denies another.
    is_closable = len(accesses) == len(lacking)
    return replace(row, closed=not lacking, gaps=tuple(dict.fromkeys(accesses)) if is_closable else ())


def _missing(line: _Line) -> tuple[MissingPrivilege, ...]:
    """Return what a denial lacks; empty if none of it can be granted.

    A record without `missing` names one privilege, which is the missing one if no policy decided it.
    """
    if line.missing is not None:
        return line.missing if all(map(_is_known, line.missing)) else ()
    stated = MissingPrivilege((line.action,), NO_POLICY)
    return (stated,) if line.policy == NO_POLICY and _is_known(stated) else ()


def _is_known(one: MissingPrivilege) -> bool:
    return bool(one.actions) and _KNOWN_ACTIONS.issuperset(one.actions)
