"""The plain way to read a line, as an oracle: step by step, without what makes the reader of the package fast."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from ranger_cdap.ranger_model.json_text import convert
from ranger_cdap.ranger_model.strict_json import DEEPEST, LONGEST, NOT_ONE_OBJECT, BadLine, quoted
from ranger_cdap.wire.event_wire import Milliseconds
from ranger_cdap.wire.record_events import is_well_formed
from spark_sync.ledger.event import NEVER, EntityEvent, Outcome, Stage
from spark_sync.sources.line_reader import MOST_AHEAD, TOO_EARLY, UNREADABLE_USER, LineReading, bytes_of, event_id

_READ = ("version", "time", "entityId", "metadataEntity", "user", "type")


class _V1(msgspec.Struct, frozen=True):
    time: Milliseconds
    user: str
    type: str
    entityId: dict[str, Any]  # noqa: N815


class _Entity(msgspec.Struct, frozen=True):
    type: str
    details: dict[str, Any]


class _V2(msgspec.Struct, frozen=True):
    time: Milliseconds
    user: str
    type: str
    metadataEntity: _Entity  # noqa: N815


def plain_object(line: str) -> dict[str, Any]:
    """The object of a line; every text of it is parsed by Python's own parser too, which sees each field."""
    try:
        size = len(line.encode())
    except UnicodeEncodeError:
        size = len(line)
        if size <= LONGEST:
            raise BadLine("not UTF-8") from None
    if size > LONGEST:
        raise BadLine(f"longer than {LONGEST} bytes")
    try:
        value = msgspec.json.decode(line)
        json.loads(line, object_pairs_hook=_once, parse_constant=_refuse)
    except BadLine:
        raise
    except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError):
        raise BadLine(NOT_ONE_OBJECT) from None
    if not isinstance(value, dict):
        raise BadLine(NOT_ONE_OBJECT)
    if _depth(value) > DEEPEST:
        raise BadLine(f"nested more than {DEEPEST} deep")
    return value


def plain_reading(line: str, settings: SourceSettings, now: int) -> LineReading:
    """The reading of a line of CDAP's audit messages."""
    try:
        found = plain_object(line)
    except BadLine as e:
        return plain_check(line, (), now, rejected=str(e))
    try:
        message, kind, details = _message(found)
        rows = [
            row
            for row in load_creations().audit
            if row.message == message.type and kind in row.entity.cdap_names and found["version"] in row.versions
        ]
        events = [_event(row, _parts(row, details), message.user, message.time, message.time, found, settings)
                  for row in rows]  # fmt: skip
    except BadLine as e:
        return plain_check(line, _salvaged(found, settings), now, rejected=str(e))
    return plain_check(line, events, now)


def plain_check(
    line: str, events: Iterable[EntityEvent], now: int, *, rejected: str | None = None, shown: str | None = None
) -> LineReading:
    """The reading of a line with these events, rule by rule."""
    once: dict[str, EntityEvent] = {}
    for event in events:
        once.setdefault(event.id, event)
    named = tuple(once.values())
    bad = [e.entity for e in named if e.outcome is not Outcome.NOTHING and not is_well_formed(e.entity)]
    last = [event.started if event.ended == NEVER else max(event.started, event.ended) for event in named]
    reason = rejected
    if not reason and bad:
        reason = f"`{str(bad[0])[:120]}` is not a valid CDAP name"
    if not reason and max(last, default=0) > now + MOST_AHEAD:
        reason = TOO_EARLY
    counting = [event for event in named if is_well_formed(event.entity) and not load_creations().skips(event.entity)]
    if reason is None:
        return LineReading(None, tuple(counting))
    name = hashlib.sha256(bytes_of(line)).hexdigest()
    some = (event for event in counting if event.user and event.outcome is not Outcome.NOTHING)
    text = bytes_of(line).decode("utf-8", "replace") if shown is None else shown
    return LineReading(reason, tuple(_as_rejected(event, name, now) for event in some), text[:500])


def plain_id(read: Any) -> bytes:
    """The text that identifies an object."""
    return json.dumps(read, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _as_rejected(event: EntityEvent, name: str, now: int) -> EntityEvent:
    started, ended = event.started, event.ended
    if not 0 < started <= min(ended, now + MOST_AHEAD):
        started, ended = 0, NEVER
    elif ended > now + MOST_AHEAD:
        ended = NEVER
    unknown = replace(
        event, stage=Stage.REJECTED, outcome=Outcome.UNCLEAR, started=started, ended=ended, clock="", requested=0
    )
    return replace(unknown, id=event_id(f"rejected-{name}", event))


def _message(found: dict[str, Any]) -> tuple[_V1 | _V2, str, dict[str, Any]]:
    version = found.get("version")
    if "version" not in found:
        raise BadLine("object missing required field `version`")
    if type(version) is not int or version not in (1, 2):
        raise BadLine(f"unknown version {quoted(version)}")
    if version == 1:
        one = convert(found, _V1, BadLine)
        kind = one.entityId.get("entity", one.entityId.get("entityType"))
        if not isinstance(kind, str):
            raise BadLine("`entity` of `entityId` is missing or is no text")
        return one, kind.upper(), one.entityId
    two = convert(found, _V2, BadLine)
    return two, two.metadataEntity.type.upper(), two.metadataEntity.details


def _parts(row: Any, details: dict[str, Any]) -> tuple[str, ...]:
    parts = [details.get(level) for level in row.entity.path[1:]]
    texts = tuple("null" if part is None else str(part) for part in parts)
    if not all(isinstance(part, str) for part in parts):
        raise BadLine(f"`{str(EntityId(row.entity.name, texts))[:120]}` is not a valid CDAP name")
    return texts


def _event(
    row: Any, parts: tuple[str, ...], user: str, started: int, ended: int, found: dict[str, Any],
    settings: SourceSettings,
) -> EntityEvent:  # fmt: skip
    read = plain_id({name: found[name] for name in _READ if name in found})
    return EntityEvent(
        EntityId(row.entity.name, parts), row.kind, Stage.MESSAGE, user, started, ended, settings.name,
        hashlib.sha256(read).hexdigest(), received=started,
    )  # fmt: skip


def _salvaged(found: dict[str, Any], settings: SourceSettings) -> list[EntityEvent]:
    new, old = found.get("metadataEntity"), found.get("entityId")
    kind, details = "", {}
    if isinstance(new, dict) and isinstance(new.get("type"), str) and isinstance(new.get("details"), dict):
        kind, details = new["type"].upper(), new["details"]
    elif isinstance(old, dict) and isinstance(named := old.get("entity", old.get("entityType")), str):
        kind, details = named.upper(), old
    user, time = found.get("user"), found.get("time")
    if user is None or user == "":
        return []
    name = user if isinstance(user, str) else UNREADABLE_USER
    started, ended = (time, time) if type(time) is int and 0 < time < NEVER else (0, NEVER)
    events = []
    for row in {row.entity: row for row in load_creations().audit if row.message == found.get("type")}.values():
        if kind in row.entity.cdap_names:
            try:
                events.append(_event(row, _parts(row, details), name, started, ended, found, settings))
            except BadLine:
                continue
    return events


def _once(pairs: list[tuple[str, Any]]) -> None:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise BadLine(f"field {quoted(name)} is repeated")
        names.add(name)


def _refuse(_: str) -> None:
    raise BadLine(NOT_ONE_OBJECT)


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)
