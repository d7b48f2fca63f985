"""Changes since accesses were recorded: each is decided again, and compared with its recorded answer.

Laws: a record is a change if and only if one of the operations that it stands for is decided otherwise now; every line
is counted once, as `ShadowReport` says. A record of the predecessor's audit may have been one of several operations,
each of which is compared; a recorded check stands for all of its operations together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from ranger_cdap.audit.record import MissingPrivilege
from ranger_cdap.audit.verify import Place
from ranger_cdap.authz.access_replay import AccessReplay
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.predecessor_access import PredecessorAccess
from ranger_cdap.engine import NO_POLICY
from ranger_cdap.ranger_model.strict_json import BadLine
from ranger_cdap.tools.shadow.shadow_report import ShadowChange, ShadowKey, ShadowReport

_REMEMBERED: Final = 100_000
"""Number of distinct accesses whose answers are kept: an audit repeats the same ones."""


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
    VISIBILITY = "it asks which entities are visible, which is not compared"
    NO_ANSWER = "it has no answer (`allowed`)"
    NO_TIME = "it has no time, which `--since` needs"


@dataclass(frozen=True, slots=True)
class OtherService:
    """Record of another Ranger service."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """Recorded answer to a user, `count` times.

    `asked` is what was asked, `time` in epoch milliseconds (0: unknown), `client_ip` the user's address.
    """

    user: str
    asked: PredecessorAccess | CdapCheck
    allowed: bool
    time: int = 0
    count: int = 1
    client_ip: str | None = None


ReadLine = Callable[[bytes], RecordedAnswer | WhyUndecided | OtherService]
"""Return the record of a line; raises BadLine if it is none."""

Decide = Callable[[RecordedAnswer], Iterable[tuple[bool, Sequence[Answer]]]]
"""Return for each of the questions that a record may have been the old answer, and today's, which must all be allowed.
"""


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
        if isinstance(line, OtherService):
            self.found.other_services += 1
        elif isinstance(line, WhyUndecided):
            self.found.leave_undecided(place, line.value)
        elif line.time == 0 and self.found.since:
            self.found.leave_undecided(place, WhyUndecided.NO_TIME.value)
        elif line.time < self.found.since:
            self.found.earlier += 1
        else:
            keys = (key for was, answers in self.decide(line) for key in changes(was, answers))
            self.found.change(keys, line.time, line.count)


def decide_by(replay: AccessReplay) -> Decide:
    """Return how records are decided."""
    to_access = lru_cache(maxsize=_REMEMBERED)(replay.answers_to_access)

    def decide(record: RecordedAnswer) -> Iterable[tuple[bool, Sequence[Answer]]]:
        if isinstance(record.asked, PredecessorAccess):
            possible = to_access(record.user, record.asked)
            return [(record.allowed and not denied, (answer,)) for answer, denied in possible]
        return [(record.allowed, replay.answers_to_check(record.user, record.asked, record.client_ip))]

    return decide


def changes(was_allowed: bool, answers: Sequence[Answer]) -> Iterator[ShadowKey]:
    """Yield what is different now about a question: nothing, if all its answers together are as recorded."""
    is_allowed = all(answer.allowed for answer in answers)
    if is_allowed is was_allowed:
        return
    for answer in answers:
        if is_allowed:
            yield from _allowed(answer)
        elif not answer.allowed:
            yield from _denied(answer)


def _allowed(answer: Answer) -> Iterator[ShadowKey]:
    for one in {(e.person, e.entity): e for e in answer.decided_by}.values():
        yield _key(ShadowChange.ALLOWED, answer, one)
    if not answer.decided_by:
        yield _key(ShadowChange.ALLOWED, answer, None)


def _denied(answer: Answer) -> Iterator[ShadowKey]:
    lacking: dict[object, list[EvaluatedPrivilege]] = {}
    for one in answer.decided_by if answer.missing else ():
        if not one.held:
            lacking.setdefault((one.person, one.entity), []).append(one)
    for of_one in lacking.values():
        missing = (MissingPrivilege(tuple(map(str.lower, e.actions)), e.decision.policy_id) for e in of_one)
        yield _key(ShadowChange.DENIED, answer, of_one[0], tuple(missing))
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
