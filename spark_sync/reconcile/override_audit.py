"""Audit of manual overrides, and of the removal of others' rights on deleted entities."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import cache
from typing import Final

from msgspec.structs import replace

from ranger_cdap.audit import AuditRecord, AuditTrail, event_id, open_trail
from ranger_cdap.cdap.entity import to_resource
from ranger_cdap.config import Settings
from ranger_cdap.directory.account_name import account_name
from ranger_cdap.plugins.manager import audit_sinks, plugin_manager
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.rights_of_others import Audited
from spark_sync.ledger.life import Life
from spark_sync.reconcile.overrides import candidates, is_doubted

_PROGRAM: Final = "ranger-cdap-sync"


def override_audit(settings: Settings) -> closing[AuditTrail]:
    """Open the sinks of `[audit]`; at the end all records are delivered or spooled on disk.

    Raises:
        ConfigError: the sinks are not usable.
    """
    return closing(open_trail(settings, audit_sinks(plugin_manager())))


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


def audit_record(settings: Settings, before: Life, user: str | None, why: str, *, now: int) -> AuditRecord:
    """Return the record of a manual override by the user who runs this program; `now` is in epoch milliseconds.

    `user` is the new creator, if there is one.
    """
    was = before.state.value
    if is_doubted(before):
        was += f", candidates: {', '.join(candidates(before)) or 'none known'}"
    elif before.creator:
        was += f", creator: {before.creator}"
    what = f"creator is now {user}" if user else "no creator any more"
    reason = f"{what} (before: {was}){f': {why.strip()}' if why.strip() else ''}"
    return _record(settings, before, "assign" if user else "forget", now=now, reason=reason)


@contextmanager
def removal_audit(settings: Settings, *, now: int) -> Iterator[Audited]:
    """Yield what puts the removal of others' rights on record; the sinks are opened by the first one.

    Raises:
        ConfigError: the sinks are not usable.
    """
    with ExitStack() as opened:
        trail = cache(lambda: opened.enter_context(override_audit(settings)))

        def audited(life: Life, policy: Policy) -> AbstractContextManager[None]:
            given = (
                f"{', '.join(sorted(item.access_types()))} of {', '.join([*item.users, *item.groups, *item.roles])}"
                for item in policy.policy_items
            )
            reason = f"{life.entity} was deleted; revoked by `sync.on_deletion` in `{policy.name}`: {'; '.join(given)}"
            return on_record(trail(), _record(settings, life, "revoke", now=now, reason=reason, policy=policy.id or -1))

        yield audited


def _record(settings: Settings, life: Life, access: str, *, now: int, reason: str, policy: int = -1) -> AuditRecord:
    return AuditRecord(
        repo=settings.ranger.service,
        reqUser=account(),
        evtTime=now,
        access=access,
        resource="/".join(to_resource(life.entity, settings.cdap.instance).values()),
        resType=life.entity.type,
        action=access,
        result=1,
        policy=policy,
        reason=reason,
        cluster_name=settings.plugin.cluster_name,
        enforcer=_PROGRAM,
        agent=_PROGRAM,
    )


def account() -> str:
    """Return the account that runs this program and, with sudo, its caller."""
    name, caller = account_name(os.getuid()), os.environ.get("SUDO_USER", "")
    return f"{name} (sudo: {caller})" if caller and caller != name else name
