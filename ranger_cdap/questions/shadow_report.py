"""Changes that enforcing would bring, from the audit of a service that only reports: denials and allows. Pure.

Law: every line is counted once: as a change, unchanged, enforced already, or rejected with its place. A record has the
answer that CDAP got: that of the predecessor where it decided, otherwise everything was allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec

from ranger_cdap.audit.verify import Place
from ranger_cdap.cdap.answer import Ask, is_allowed
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.cdap.profile import ANY, VISIBLE
from ranger_cdap.engine import NO_POLICY, Decision
from ranger_cdap.errors import InvalidInput

LAST_MOMENT: Final = 253_402_300_799_999
"""The last millisecond that has four digits for its year."""

_ANY_PRIVILEGE: Final = frozenset({ANY.lower(), VISIBLE.lower()})
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
    predecessor: Literal[0, 1] | None = None


class _Mark(msgspec.Struct):
    """A mark of an audit chain, which is no access."""

    chain: Literal["start", "cut"]


@dataclass(frozen=True, slots=True)
class ShadowKey:
    """Identity of a change: a user, an operation, the privilege that was decisive, and by which policy."""

    change: ShadowChange
    user: str
    operation: str
    action: str
    type: str
    resource: str
    policy: int
    reason: str

    @property
    def entity(self) -> EntityId | None:
        """The entity of the privilege; None if the resource is none of CDAP's."""
        try:
            levels = len(entity_type(self.type).path)
            # A principal may contain the separator.
            return entity_id(self.type, self.resource.split("/", levels - 1)[1:])
        except InvalidInput:
            return None

    @property
    def access(self) -> str:
        """The access type that is missing; empty if a policy denies, or no privilege decided."""
        if self.change is not ShadowChange.DENIED or self.policy != NO_POLICY:
            return ""
        access = _LEAST if self.action in _ANY_PRIVILEGE else self.action
        return access if access in ACCESS_TYPES else ""

    @property
    def privilege(self) -> str:
        """The privilege as text: `READ on dataset cdap/ns1/kv`."""
        action = "any privilege" if self.action in _ANY_PRIVILEGE else self.action.upper()
        return f"{action} on {self.type} {self.resource}"


@dataclass(frozen=True, slots=True)
class ShadowRow:
    """A change, how often and when it was seen (epoch milliseconds); `closed` if current policies no longer make it."""

    key: ShadowKey
    count: int
    first: int
    last: int
    closed: bool = False

    def seen_again(self, time: int) -> ShadowRow:
        """Return the row with one more record."""
        return replace(self, count=self.count + 1, first=min(self.first, time), last=max(self.last, time))


@dataclass(slots=True)
class ShadowReport:
    """Fold over the lines of an audit."""

    service: str
    rows: dict[ShadowKey, ShadowRow] = field(default_factory=dict)
    unchanged: int = 0
    enforced: int = 0
    compared: int = 0
    other_services: int = 0
    rejected: int = 0
    places: list[Place] = field(default_factory=list)

    @property
    def reported(self) -> int:
        """The number of records of what is not enforced."""
        return self.unchanged + sum(row.count for row in self.rows.values())

    def read(self, place: Place, text: bytes) -> None:
        """Count a line."""
        line = _decoded(text)
        if isinstance(line, _Mark):
            return
        if line is None:
            self.rejected += 1
            if len(self.places) < _MOST_PLACES:
                self.places.append(place)
        elif line.repo not in ("", self.service):
            self.other_services += 1
        elif line.enforced:
            self.enforced += 1
        else:
            self._count(line)

    def _count(self, line: _Line) -> None:
        self.compared += line.predecessor is not None
        was = 1 if line.predecessor is None else line.predecessor
        if line.result == was:
            self.unchanged += 1
            return
        change = ShadowChange.ALLOWED if line.result else ShadowChange.DENIED
        key = ShadowKey(
            change, line.reqUser, line.access, line.action, line.resType, line.resource, line.policy, line.reason
        )
        row = self.rows.get(key)
        self.rows[key] = row.seen_again(line.evtTime) if row else ShadowRow(key, 1, line.evtTime, line.evtTime)

    def by_now(self, ask: Ask) -> Iterator[ShadowRow]:
        """Yield the rows, those seen most often first; what current policies allow is closed."""
        for row in sorted(self.rows.values(), key=lambda row: (row.key.change, -row.count, row.key.user, row.first)):
            entity = row.key.entity
            closed = bool(row.key.access) and entity is not None and is_allowed(_current(ask, row.key, entity))
            yield replace(row, closed=closed)


def gaps(rows: Iterable[ShadowRow]) -> tuple[tuple[str, str, EntityId], ...]:
    """Return what to grant so that the open denials for lack of a policy end: user, access type, entity."""
    found = ((row.key.user, row.key.access, row.key.entity) for row in rows if not row.closed)
    return tuple(dict.fromkeys((user, access, entity) for user, access, entity in found if access and entity and user))


def _current(ask: Ask, key: ShadowKey, entity: EntityId) -> Decision:
    action = VISIBLE if key.action == VISIBLE.lower() else ANY if key.action == ANY.lower() else key.access.upper()
    return ask(key.user, entity, action)


def _decoded(text: bytes) -> _Line | _Mark | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return msgspec.json.decode(text, type=_Mark)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
