"""`AuditRecord`: one access, with the fields of Ranger's audit events (`AuthzAuditEvent`, ranger-audit-core 2.9.0)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from functools import cache
from typing import Final, Protocol, Self

import msgspec

from ranger_cdap.engine import Decision, PolicyEngine
from ranger_cdap.forks import restart_after_fork

AGENT: Final = "cdap"
"""The application that records name."""

host_name = cache(socket.gethostname)
"""Return the name of this machine."""
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
_DRAWN_AT_ONCE = 256


class EventIds:
    """Source of random UUIDs (version 4), as text; safe to share between threads, and none is given out twice.

    They are drawn in blocks: a call of the system for each took a third of a check. A forked child draws its own.
    """

    def __init__(self) -> None:
        self._drawn: list[str] = []
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Forget those drawn before the fork, which are the parent's."""
        self._drawn = []

    def draw(self) -> str:
        """Return the bits of an id, which `event_id_of` turns into its text."""
        try:
            return self._drawn.pop()
        except IndexError:
            block = os.urandom(16 * _DRAWN_AT_ONCE).hex()
            first, *drawn = (block[at : at + 32] for at in range(0, len(block), 32))
            self._drawn.extend(drawn)
            return first


event_ids = cache(EventIds)
"""Return the source of this process."""


def event_id_of(h: str) -> str:
    """Return the id of drawn bits."""
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:]}"


def event_id() -> str:
    """Return a random UUID (version 4), as text."""
    return event_id_of(event_ids().draw())


class Auditable(Protocol):
    """Record of one access, made when it is written: a decision does not wait for its texts."""

    def record(self) -> AuditRecord:
        """Return the record; each time the same one."""
        ...


class MissingPrivilege(msgspec.Struct, frozen=True, gc=False):
    """Privilege that the user of a record lacks on its entity: one of `actions`.

    `policy` is the policy that denies the first of them; -1 if none applies.
    """

    actions: tuple[str, ...]
    policy: int


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Access of one user to one entity; times in epoch milliseconds.

    `result` is the policies' decision, 1 for allowed; with `enforced` false it was only reported (S001-P2), and
    `missing` is what of a denial for lack of privileges is lacking on this entity: nothing, if the denial is for
    another one. `repoType` is the id of the service definition, 0 if it has none.
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
    cluster_name: str = ""
    repoType: int = 0  # noqa: N815
    enforcer: str = "ranger-acl"
    enforced: bool = True
    missing: tuple[MissingPrivilege, ...] | msgspec.UnsetType = msgspec.UNSET
    agent: str = AGENT
    agentHost: str = msgspec.field(default_factory=host_name)  # noqa: N815
    logType: str = "RangerAudit"  # noqa: N815
    event_count: int = 1
    event_dur_ms: int = 0
    id: str = msgspec.field(default_factory=event_id)

    @property
    def reason_in_ranger(self) -> str:
        """The reason, where the fields of ours are not: it says that the decision was only reported."""
        return self.reason if self.enforced else f"not enforced; {self.reason}".strip("; ")

    def record(self) -> Self:
        """Return this record."""
        return self


class AuditedService(msgspec.Struct, frozen=True, gc=False):
    """Ranger service whose policies decided, the id of its service definition (0 if it has none), and the cluster."""

    name: str
    definition_id: int
    cluster: str = ""

    @classmethod
    def of(cls, engine: PolicyEngine | None, cluster: str = "", configured: str = "") -> Self:
        """Return the service of an engine; without one it has the configured name, and its definition is unknown."""
        return (
            cls(engine.service_name, engine.service_def.id or 0, cluster)
            if engine is not None
            else cls(configured, 0, cluster)
        )


class AuditedAccess(msgspec.Struct, frozen=True, gc=False):
    """Access to record; `time` in epoch milliseconds, `resource` is the value of each level, from the top."""

    time: int
    user: str | None
    access: str
    action: str
    resource: Iterable[str]
    resource_type: str
    client_ip: str | None


def _writable(text: str) -> str:
    """Return a text that UTF-8 has a form for: half of a surrogate pair, as of undecodable bytes, is escaped."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def record_of(
    decision: Decision,
    service: AuditedService,
    audited: AuditedAccess,
    *,
    allowed: bool,
    reason: str,
    enforced: bool = True,
    missing: tuple[MissingPrivilege, ...] | None = None,
    name: str = "",
) -> AuditRecord:
    """Return the record of an access decided by that service's policies; `allowed` and `reason` are the final answer.

    `name` is the record's id if the answer also contains it.
    """
    return AuditRecord(
        repo=service.name,
        reqUser=_writable(audited.user or ""),
        evtTime=audited.time,
        access=_writable(audited.access),
        resource=_writable("/".join(audited.resource)),
        resType=audited.resource_type,
        action=_writable(audited.action),
        result=int(allowed),
        policy=decision.policy_id,
        policy_version=decision.policy_version,
        reason=_writable(reason),
        cliIP=_writable(audited.client_ip or ""),
        zone_name=decision.zone or "",
        cluster_name=service.cluster,
        repoType=service.definition_id,
        enforced=enforced,
        missing=msgspec.UNSET if missing is None else missing,
        id=name or event_id(),
    )
