"""One line of an audit, of this project or of Apache Ranger, as an `AuditEvent`. Pure; runs inside executors.

The fields are those of Ranger's `AuthzAuditEvent`, as its plugins write them to HDFS (`evtTime` is
`2026-11-23 12:00:00.000`, in UTC), as Solr exports them (ISO 8601), and as our own records have them (epoch
milliseconds). A field is read strictly or the line is rejected; fields that decide nothing here are ignored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

import msgspec

from ranger_cdap.ranger_model.json_text import convert
from ranger_cdap.ranger_model.strict_json import BadLine, quoted, read_object

LATEST: Final = 253_402_300_799_999
"""The last millisecond that has four digits for its year."""
MOST_EVENTS: Final = 1_000_000_000
"""Largest `event_count` that is believed: sums of a thousand million such lines still are 64-bit numbers."""
POLICIES_DECIDED: Final = frozenset({"", "ranger-acl"})
"""Values of `enforcer` for decisions by policies; others, like `hadoop-acl`, are those of another authorizer."""

_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)


class AuditEvent(msgspec.Struct, frozen=True, gc=False):
    """Access of a user, `count` times; `time` in epoch milliseconds.

    `access` is the access type that policies are asked for, `operation` the caller's name of the whole. `policy` is the
    policy that decided, -1 for none.
    """

    service: str
    user: str
    time: int
    access: str
    operation: str
    resource: str
    type: str
    allowed: bool
    policy: int
    reason: str
    enforcer: str
    agent: str
    client_ip: str
    count: int


class _Fields(msgspec.Struct):
    """The fields of a record that are read, under Ranger's names."""

    repo: str
    evtTime: int | str  # noqa: N815 Ranger's name
    result: int
    reqUser: str | None = None  # noqa: N815
    access: str | None = None
    action: str | None = None
    resource: str | None = None
    resType: str | None = None  # noqa: N815
    policy: int = -1
    reason: str | None = None
    enforcer: str | None = None
    agent: str | None = None
    cliIP: str | None = None  # noqa: N815
    event_count: int = 1


def read_audit_line(line: str) -> AuditEvent | None:
    """Return the event of a line; None for a mark of an audit chain, which is no access.

    Raises:
        BadLine: the line is neither; the message is the reason.
    """
    if not line.strip():
        raise BadLine("empty line")
    value = read_object(line)
    if "chain" in value and "repo" not in value:
        if value["chain"] not in ("start", "cut"):
            raise BadLine(f"unknown mark {quoted(value['chain'])} of an audit chain")
        return None
    found = convert(value, _Fields, BadLine)
    access = found.action or found.access
    if not access:
        raise BadLine("neither `action` nor `access` names an access type")
    if found.result not in (0, 1):
        raise BadLine(f"`result` is {quoted(found.result)[1:-1]}, neither 0 nor 1")
    if not 1 <= found.event_count <= MOST_EVENTS:
        raise BadLine(f"`event_count` is {quoted(found.event_count)[1:-1]}, not between 1 and {MOST_EVENTS}")
    if not -(2**63) <= found.policy < 2**63:
        raise BadLine("`policy` is not a 64-bit number")
    return AuditEvent(
        service=found.repo,
        user=found.reqUser or "",
        time=_milliseconds(found.evtTime),
        access=access,
        operation=found.access or "",
        resource=found.resource or "",
        type=(found.resType or "").removeprefix("@"),
        allowed=found.result == 1,
        policy=found.policy,
        reason=found.reason or "",
        enforcer=found.enforcer or "",
        agent=found.agent or "",
        client_ip=found.cliIP or "",
        count=found.event_count,
    )


def _milliseconds(written: int | str) -> int:
    if isinstance(written, str):
        written = _parsed(written)
    if not 0 <= written <= LATEST:
        raise BadLine("`evtTime` is not a time between 1970 and 9999")
    return written


def _parsed(written: str) -> int:
    if not _TIME.fullmatch(written):
        raise BadLine(f"`evtTime` is {quoted(written)}, not a date with a time of day")
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        raise BadLine(f"`evtTime` is {quoted(written)}, which no calendar has") from None
    aware = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    try:
        since = aware - _EPOCH
    except OverflowError:
        raise BadLine("`evtTime` is not a time between 1970 and 9999") from None
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
