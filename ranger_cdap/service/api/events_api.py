"""`/cdap/v1/audit`: records of CDAP's answers, stored for the sync job before the request is confirmed."""

from __future__ import annotations

from ranger_cdap.service.http.metrics import EVENTS_REFUSED, EVENTS_STORED
from ranger_cdap.service.http.reply import Refused, Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.event_wire import AuditReply, BadRecord, RefusedRecord, line_of


def audit(call: HandlerCall) -> Reply:
    """Store records, and reply once they are on disk."""
    state, raws = call.state, call.body
    most = state.limits.batch
    if len(raws) > most:
        raise Refused(400, f"`records` has more than {most}")
    events = state.events
    if events is None:
        raise Refused(503, "this service does not store records")
    records, refused = [], []
    for index, raw in enumerate(raws):
        try:
            records.append(events.intake.read(raw))
        except BadRecord as e:
            refused.append(RefusedRecord(index, str(e)))
            events.log_rejection(call.caller.name, e)
    if records:
        try:
            lines = [line_of(record, call.caller.name) for record in records]
            events.store.append(lambda received: b"".join(line(received) for line in lines))
        except OSError as e:
            raise Refused(503, f"the records are not stored ({e}); send them again") from None
    for record in records:
        events.add_record(call.caller.name, record)
    state.metrics.count(EVENTS_STORED, len(records))
    state.metrics.count(EVENTS_REFUSED, len(refused))
    return json_reply(AuditReply(len(records), refused))
