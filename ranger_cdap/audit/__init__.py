"""Audit records with Ranger's field names, their sinks, and delivery that does not hold up decisions."""

from ranger_cdap.audit.record import (
    Auditable,
    AuditedAccess,
    AuditedService,
    AuditRecord,
    MissingPrivilege,
    event_id,
    event_id_of,
    event_ids,
    record_of,
)
from ranger_cdap.audit.sinks import BUILT_IN_SINKS, AuditSink, SinkFactory
from ranger_cdap.audit.trail import AuditTrail, check_audit, open_trail

__all__ = [
    "BUILT_IN_SINKS",
    "AuditRecord",
    "AuditSink",
    "AuditTrail",
    "Auditable",
    "AuditedAccess",
    "AuditedService",
    "MissingPrivilege",
    "SinkFactory",
    "check_audit",
    "event_id",
    "event_id_of",
    "event_ids",
    "open_trail",
    "record_of",
]
