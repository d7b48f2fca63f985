"""Changes since accesses were recorded: each is decided again, and compared with its recorded answer.

Laws: a record is a change if and only if one of the operations that it stands for is decided otherwise now; every line
is counted once, as `ShadowReport` says. A record of the predecessor's audit may have been one of several operations,
each of which is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ranger_cdap.audit.record import MissingPrivilege
from ranger_cdap.audit.verify import Place
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.cdap.checks.predecessor_access import PredecessorAccess
from ranger_cdap.engine import NO_POLICY
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger_model.strict_json import BadLine
from ranger_cdap.tools.shadow.shadow_report import ShadowChange, ShadowKey, ShadowReport


class WhyUndecided(StrEnum):
    """Reasons for which a record cannot be decided again."""

    OTHER_AUTHORIZER = "another authorizer decided it (`enforcer`)"
    OTHER_INSTANCE = "it is of another instance of CDAP than `cdap.instance`"
    OWN_RECORD = "it is a record of this program, not of the predecessor"
    NO_USER = "it names no user"
    UNKNOWN_TYPE = "its resource type is none of the predecessor's"
    UNKNOWN_ACCESS = "its access type is none of the predecessor's"
    NO_ENTITY = "its resource is no entity of CDAP"
    SECURE_KEY = "it is of a secure key, which the predecessor does not name"


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """Recorded answer to a user who asked for an access, `count` times, at `time` in epoch milliseconds."""

    user: str
    asked: PredecessorAccess
    allowed: bool
    time: int
    count: int


ReadLine = Callable[[bytes], RecordedAnswer | WhyUndecided | None]
"""Return the record of a line, None for one of another Ranger service; raises BadLine if it is none."""

Decide = Callable[[str, PredecessorAccess], Iterable[tuple[Answer, bool]]]
"""Return today's answer to each operation that an access of a user may have been, and whether it was denied then."""


@dataclass(frozen=True, slots=True)
class ShadowReplay:
    """Reader of recorded lines into a report."""

    found: ShadowReport
    read_line: ReadLine
    decide: Decide

    def read(self, place: Place, text: bytes) -> None:
        """Count a line."""
        try:
            line = self.read_line(text)
        except BadLine as e:
            self.found.reject(place, str(e))
            return
        if line is None:
            self.found.other_services += 1
        elif isinstance(line, WhyUndecided):
            self.found.leave_undecided(place, line.value)
        elif line.time < self.found.since:
            self.found.earlier += 1
        else:
            possible = self.decide(line.user, line.asked)
            keys = (key for answer, denied in possible for key in changes(line.allowed and not denied, answer))
            self.found.change(keys, line.time, line.count)


def changes(was_allowed: bool, answer: Answer) -> Iterable[ShadowKey]:
    """Return what is different now about an operation: nothing, if it is answered as recorded."""
    if answer.allowed is was_allowed:
        return ()
    return _allowed(answer) if answer.allowed else _denied(answer)


def _allowed(answer: Answer) -> Iterator[ShadowKey]:
    yield from (
        _key(ShadowChange.ALLOWED, answer, one) for one in {(e.person, e.entity): e for e in answer.decided_by}.values()
    )
    if not answer.decided_by:
        yield _key(ShadowChange.ALLOWED, answer, None)


def _denied(answer: Answer) -> Iterator[ShadowKey]:
    missing = [one for one in answer.decided_by if not one.held] if answer.missing else []
    lacking = grouped(((one.person, one.entity), one) for one in missing)
    for of_one in lacking.values():
        privileges = (MissingPrivilege(tuple(map(str.lower, e.actions)), e.decision.policy_id) for e in of_one)
        yield _key(ShadowChange.DENIED, answer, of_one[0], tuple(privileges))
    if not lacking:
        yield _key(ShadowChange.DENIED, answer, None)


def _key(
    change: ShadowChange,
    answer: Answer,
    by: EvaluatedPrivilege | None,
    missing: tuple[MissingPrivilege, ...] = (),
) -> ShadowKey:
    entity = answer.entity if by is None else by.entity
    is_allow = change is ShadowChange.ALLOWED
    return ShadowKey(
        change,
        answer.person if by is None else by.person,
        answer.operation,
        by.action.lower() if by is not None and is_allow else "",
        str(entity),
        entity,
        by.decision.policy_id if by is not None and is_allow else NO_POLICY,
        "" if missing or (by is not None and is_allow) else answer.reason,
        missing,
    )
