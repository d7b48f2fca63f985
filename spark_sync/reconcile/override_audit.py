"""Audit of manual overrides: who assigned or forgot the creator of an entity, when, and why."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

from msgspec.structs import replace

from ranger_cdap.audit import AuditRecord, AuditTrail, event_id, open_trail
from ranger_cdap.cdap.entity import to_resource
from ranger_cdap.config import Settings
from ranger_cdap.plugins.manager import audit_sinks, plugin_manager
from spark_sync.ledger.life import Life
from spark_sync.reconcile.overrides import candidates, is_doubted

_PROGRAM: Final = "ranger-cdap-sync"
_NO_POLICY: Final = -1


@dataclass(frozen=True, slots=True)
class Override:
    """Manual override of a life; `user` is the new creator, empty for none."""

    action: Literal["assign", "forget"]
    before: Life
    user: str
    why: str


@contextmanager
def override_audit(settings: Settings) -> Iterator[AuditTrail]:
    """Open the sinks of `[audit]`; on return all records are delivered or spooled on disk.

    Raises:
        ConfigError: the sinks are not usable.
    """
    trail = open_trail(settings, audit_sinks(plugin_manager()))
    try:
        yield trail
    finally:
        trail.close()


@contextmanager
def on_record(audit: AuditTrail, record: AuditRecord) -> Iterator[None]:
    """Write the record of an override before it is made; if it fails, write a second record that says so.

    Raises:
        AuditSinkError: records are required, and this one cannot be written; nothing was changed.
    """
    audit.write([record])
    try:
        yield
    except BaseException as e:
        reason = f"failed ({type(e).__name__}): {record.reason}"
        audit.write_later([replace(record, result=0, reason=reason, id=event_id())])
        raise


def audit_record(settings: Settings, override: Override, *, now: int) -> AuditRecord:
    """Return the record of an override by the user who runs this program; `now` is in epoch milliseconds."""
    entity = override.before.entity
    return AuditRecord(
        repo=settings.ranger.service,
        reqUser=account(),
        evtTime=now,
        access=override.action,
        resource="/".join(to_resource(entity, settings.cdap.instance).values()),
        resType=entity.type,
        action=override.action,
        result=1,
        policy=_NO_POLICY,
        reason=_reason(override),
        cluster_name=settings.plugin.cluster_name,
        enforcer=_PROGRAM,
        agent=_PROGRAM,
    )


def account() -> str:
    """Return the account that runs this program and, with sudo, its caller."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    caller = os.environ.get("SUDO_USER", "")
    return f"{name} (sudo: {caller})" if caller and caller != name else name


def _reason(override: Override) -> str:
    before = override.before
    was = before.state.value
    if is_doubted(before):
        was += f", candidates: {', '.join(candidates(before)) or 'none known'}"
    elif before.creator:
        was += f", creator: {before.creator}"
    what = f"creator is now {override.user}" if override.user else "no creator any more"
    return f"{what} (before: {was}){f': {override.why.strip()}' if override.why.strip() else ''}"
