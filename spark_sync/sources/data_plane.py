"""Lines of the decision service's store: data-plane records, versions 1 and 2, and journalled checks. Without Spark.

The format is fixed in docs/reference/events.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeGuard

import msgspec

from ranger_cdap.config import SourceSettings
from ranger_cdap.ranger_model.json_text import convert
from ranger_cdap.ranger_model.strict_json import BadLine, quoted, read_object
from ranger_cdap.wire.event_wire import (
    CHECK_VERSION,
    STAMPED,
    UNSTAMPED,
    CheckRecord,
    JournalledCheck,
    Record,
    StoredCheck,
    StoredRecord,
)
from ranger_cdap.wire.record_events import (
    NO_STATUS,
    RecordedChange,
    change_of_check,
    changes_in,
    refusal_of_check,
    refusals_in,
)
from spark_sync.ledger.event import NEVER, EntityEvent, Outcome, Stage
from spark_sync.sources.line_reader import TOO_EARLY, UNREADABLE_USER, LineReading, event_id


def read(line: str, settings: SourceSettings, instance: str) -> LineReading:
    """Read a line; a record counts only if one of the source's `callers` sent it.

    The decision service itself decides whose checks are journalled: those of callers that may `enforce`.
    """
    try:
        found = read_object(line)
    except BadLine as e:
        return LineReading(str(e))
    try:
        return LineReading(None, tuple(_events(found, settings, instance)))
    except BadLine as e:
        return LineReading(str(e), tuple(_salvaged(found, settings, instance)))


def _events(line: dict[str, Any], settings: SourceSettings, instance: str) -> list[EntityEvent]:
    """Return the events of a trusted line.

    Raises:
        BadLine: the line is not trusted or not readable.
    """
    if "check" in line and "record" not in line:
        _refuse_version(line["check"], (CHECK_VERSION,))
        journalled = convert(line, StoredCheck, BadLine)
        _refuse_instance(journalled.check.instance, instance)
        check, id_ = journalled.check, journalled.id
        change = (
            change_of_check(check, id_, NEVER)
            if check.allowed
            else refusal_of_check(check, id_, check.process, check.at, NEVER)
        )
        return _in_ledger(
            [change] if change else [],
            Stage.CHECK if check.allowed else Stage.REFUSED,
            settings.name,
            id_,
            caller=journalled.caller,
            received=journalled.received,
        )
    record = line.get("record")
    _refuse_version(record, (UNSTAMPED, STAMPED))
    stored = convert(line, StoredRecord, BadLine)
    record = stored.record
    if record.ended >= NEVER:  # a record has an end
        raise BadLine(TOO_EARLY)
    _refuse_stamps(record)
    if stored.caller not in settings.callers:
        raise BadLine(f"caller {quoted(stored.caller)} is not one of the source's `callers`")
    _refuse_instance(record.instance, instance)
    # CDAP's clock was set back while the request was served: when it ended is not known by that clock.
    found = (
        event
        for stage, changes in ((Stage.REQUEST, changes_in(record)), (Stage.REFUSED, refusals_in(record)))
        for event in _in_ledger(
            changes, stage, settings.name, stored.id, caller=stored.caller, received=stored.received
        )
    )
    return [replace(event, ended=NEVER) if record.ended < event.started else event for event in found]


def _refuse_version(what: object, known: tuple[int, ...]) -> None:
    if isinstance(what, dict) and "v" in what and (type(what["v"]) is not int or what["v"] not in known):
        raise BadLine(f"unknown version {quoted(what['v'])}")


def _refuse_instance(named: str, instance: str) -> None:
    if named != instance:
        raise BadLine(f"is of instance {quoted(named)}")


def _refuse_stamps(record: Record) -> None:
    wanted = record.v == STAMPED
    for n, check in enumerate(record.checks):
        for name, value in (("id", check.id), ("process", check.process), ("at", check.at)):
            if (value is msgspec.UNSET) == wanted:
                what = "is missing" if wanted else f"is not part of version {UNSTAMPED}"
                raise BadLine(f"`{name}` of `checks[{n}]` {what}")


def _in_ledger(
    changes: Iterable[RecordedChange], stage: Stage, source: str, name: str, *, caller: str, received: int
) -> list[EntityEvent]:
    return [
        EntityEvent(
            entity=change.entity,
            kind=change.kind,
            stage=stage,
            user=change.user,
            started=change.started,
            ended=change.ended,
            source=source,
            id=event_id(name, change),
            outcome=Outcome(change.outcome),
            requester=change.requester,
            clock=change.clock,
            check=change.check,
            request=change.request,
            version=change.version,
            child=change.child,
            received=received,
            caller=caller,
            requested=change.requested,
            refused=change.refused,
        )
        for change in changes
    ]


def _salvaged(line: dict[str, Any], settings: SourceSettings, instance: str) -> list[EntityEvent]:
    """Return the readable events of a rejected line about this instance."""
    received = line.get("received")
    record, check = _record(line.get("record"), instance), _check(line.get("check"), instance)
    changes = [] if record is None else list(changes_in(record))
    if check is not None and (change := change_of_check(check, _text(line.get("id")), NEVER)) is not None:
        if line["check"].get("allowed") is False:
            change = replace(change, outcome="nothing")
        # An unreadable frame may be one for which a check counts.
        elif not isinstance(line["check"].get("frame"), str):
            change = replace(change, outcome="unclear")
        changes.append(change)
    return _in_ledger(
        (change for change in changes if change.user),
        Stage.REJECTED,
        settings.name,
        "",
        caller=_text(line.get("caller")),
        received=received if _is_time(received) else 0,
    )


def _record(found: object, instance: str) -> Record | None:
    """Return a record of the readable fields; `None` if it is of another instance."""
    if not isinstance(found, dict) or found.get("instance", instance) != instance:
        return None
    code, started, ended, checks = (found.get(name) for name in ("code", "started", "ended", "checks"))
    return Record(
        v=STAMPED,
        instance=instance,
        method=_text(found.get("method")),
        uri=_text(found.get("uri")),
        code=code if type(code) is int else NO_STATUS,
        started=started if _is_time(started) else 0,
        ended=ended if _is_time(ended) else NEVER,
        checks=[_check_of_record(each) for each in checks if isinstance(each, dict)]
        if isinstance(checks, list)
        else [],
    )


def _check_of_record(found: dict[str, Any]) -> CheckRecord:
    at, allowed = found.get("at"), found.get("allowed")
    return CheckRecord(
        principal=_user(found),
        type=_text(found.get("type")),
        parts=_texts(found.get("parts")),
        child_type=msgspec.UNSET if found.get("child_type") is None else "",
        permissions=_texts(found.get("permissions")),
        allowed=allowed is not False,
        id=_text(found.get("id")),
        at=at if _is_time(at) else msgspec.UNSET,
    )


def _check(found: object, instance: str) -> JournalledCheck | None:
    if not isinstance(found, dict) or found.get("instance", instance) != instance:
        return None
    at = found.get("at")
    return JournalledCheck(
        v=CHECK_VERSION,
        instance=instance,
        process="",
        at=at if _is_time(at) else 0,
        principal=_user(found),
        type=_text(found.get("type")),
        parts=_texts(found.get("parts")),
        permissions=_texts(found.get("permissions")),
        frame=_text(found.get("frame")),
    )


def _user(check: dict[str, Any]) -> str:
    """Return the user of a check; empty if it has none."""
    user = check.get("principal")
    return user if isinstance(user, str) else UNREADABLE_USER if user is not None else ""


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def _texts(found: object) -> list[str]:
    return list(map(_text, found)) if isinstance(found, list) else []


def _is_time(found: object) -> TypeGuard[int]:
    return type(found) is int and 0 < found < NEVER
