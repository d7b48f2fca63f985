"""`AuditRecord`: one access, in the words of Ranger's audit events (`AuthzAuditEvent` of ranger-audit-core 2.9.0)."""

from __future__ import annotations

import secrets
import socket
from functools import cache

import msgspec

_host = cache(socket.gethostname)


def _event_id() -> str:
    """A random UUID (version 4), as text."""
    h = secrets.token_hex(16)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) & 3]}{h[17:20]}-{h[20:]}"


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One access of one person to one entity; times in epoch milliseconds.

    `result` is what the policies said, 1 for allowed; with `enforced` false it was only reported (S001-P2).
    `repoType` is the id of the service definition, 0 where it has none.
    """

    repo: str
    reqUser: str  # noqa: N815 Ranger's name
    evtTime: int  # noqa: N815
    access: str
    resource: str
    resType: str  # noqa: N815
    action: str
    result: int
    policy: int
    policy_version: int = -1
    reason: str = ""
    cliIP: str = ""  # noqa: N815
    zone_name: str = ""
    repoType: int = 0  # noqa: N815
    enforcer: str = "ranger-acl"
    enforced: bool = True
    agent: str = "cdap"
    agentHost: str = msgspec.field(default_factory=_host)  # noqa: N815
    logType: str = "RangerAudit"  # noqa: N815
    event_count: int = 1
    event_dur_ms: int = 0
    id: str = msgspec.field(default_factory=_event_id)
