"""Lines of the Java predecessor's audit: events of Ranger (`AuthzAuditEvent`), as accesses to be decided again. Pure.

Its binding names no operation: `action` is the access type, `resource` the values of the levels from the instance on,
`resType` the last level, `cliIP` the CDAP master. A check of several permissions has a record for each.
"""

from __future__ import annotations

from ranger_cdap.cdap.checks.predecessor_access import PredecessorAccess, action_of_access, entity_of, known_types
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger_model.audit_event import POLICIES_DECIDED, AuditEvent, read_audit_line
from ranger_cdap.ranger_model.strict_json import text_of
from ranger_cdap.tools.shadow.shadow_replay import RecordedAnswer, WhyUndecided


def read_predecessor_line(text: bytes, service: str, instance: str) -> RecordedAnswer | WhyUndecided | None:
    """Return the access of a line, None for another service: a JSON object, after what log4j may have put before it.

    Raises:
        BadLine: it is no event of Ranger's audit; the message is the reason.
    """
    line = text_of(text)
    event = read_audit_line(line[max(0, line.find("{")) :])
    if event is None:
        return WhyUndecided.OWN_RECORD
    return _access(event, instance) if event.service == service else None


def _access(event: AuditEvent, instance: str) -> RecordedAnswer | WhyUndecided:
    if event.enforcer not in POLICIES_DECIDED:
        return WhyUndecided.OTHER_AUTHORIZER
    if "." in event.operation:
        return WhyUndecided.OWN_RECORD
    if not event.user.strip():
        return WhyUndecided.NO_USER
    if event.type not in known_types():
        return WhyUndecided.UNKNOWN_TYPE
    try:
        action = action_of_access(event.access)
    except InvalidInput:
        return WhyUndecided.UNKNOWN_ACCESS
    if (event.type, action, event.allowed) == ("namespace", "READ", False):
        # It misnamed the level of secure keys, which Ranger then left out of the record.
        return WhyUndecided.SECURE_KEY
    try:
        entity = entity_of(event.type, event.resource, instance)
    except InvalidInput:
        return WhyUndecided.NO_ENTITY
    if entity is None:
        return WhyUndecided.OTHER_INSTANCE
    return RecordedAnswer(event.user, PredecessorAccess(entity, action), event.allowed, event.time, event.count)
