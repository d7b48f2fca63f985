"""CDAP's audit messages, versions 1 (until CDAP 5) and 2 (CDAP 6), as JSON lines: what proves a creation.

`{"version":1,"time":1000,"entityId":{"namespace":"ns1","dataset":"kv","entity":"DATASET"},"user":"alice",
"type":"CREATE","payload":{}}`, where some releases write `entityType` for `entity`;
`{"version":2,"time":1795233666254,"metadataEntity":{"details":{"namespace":"ns1","dataset":"kv"},"type":"dataset"},
"user":"alice","type":"CREATE","payload":{}}` (cdap-facts.md §4.1).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from ranger_cdap.cdap.creations import AuditRow, load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from ranger_cdap.service.wire.event_wire import Milliseconds
from spark_sync.ledger.event import NEVER, EntityEvent, Stage
from spark_sync.sources.line_reader import UNREADABLE_USER, Reading, bad_name, reading_of
from spark_sync.sources.strict_json import BadLine, fitted, quoted, read_object

_VERSIONS: Final = (1, 2)
_READ: Final = ("version", "time", "entityId", "metadataEntity", "user", "type")


class _Message(msgspec.Struct, frozen=True):
    """What both versions have; CDAP may add what it likes."""

    time: Milliseconds
    user: str
    type: str


class _Message1(_Message, frozen=True):
    entityId: dict[str, Any]  # noqa: N815  (CDAP's name)


class _Entity(msgspec.Struct, frozen=True):
    type: str
    details: dict[str, Any]


class _Message2(_Message, frozen=True):
    metadataEntity: _Entity  # noqa: N815  (CDAP's name)


def read(line: str, settings: SourceSettings, instance: str, now: int) -> Reading:
    """The reading of a line; the messages name no instance, so all belong to the one the source is configured for."""
    try:
        found = read_object(line)
    except BadLine as e:
        return Reading(str(e))
    try:
        message, kind, details = _message(found)
        events = [
            _event(row, _parts(row, details), message.user, message.time, message.time, found, settings)
            for row in load_creations().audit
            if row.message == message.type and kind in row.entity.cdap_names and found["version"] in row.versions
        ]
    except BadLine as e:
        return reading_of(line, _salvaged(found, settings), now, rejected=str(e))
    return reading_of(line, events, now)


def _message(found: Mapping[str, Any]) -> tuple[_Message, str, Mapping[str, Any]]:
    """A message, CDAP's name of its entity's type, and the entity's names.

    Raises:
        BadLine: it is none.
    """
    version = found.get("version")
    if "version" not in found:
        raise BadLine("object missing required field `version`")
    if type(version) is not int or version not in _VERSIONS:
        raise BadLine(f"unknown version {quoted(version)}")
    if version == 1:
        message_1 = fitted(found, _Message1)
        kind = message_1.entityId.get("entity", message_1.entityId.get("entityType"))
        if not isinstance(kind, str):
            raise BadLine("`entity` of `entityId` is missing or is no text")
        return message_1, kind.upper(), message_1.entityId
    message = fitted(found, _Message2)
    return message, message.metadataEntity.type.upper(), message.metadataEntity.details


def _parts(row: AuditRow, details: Mapping[str, Any]) -> tuple[str, ...]:
    """The entity's parts.

    Raises:
        BadLine: one is missing or no text.
    """
    parts = [details.get(level) for level in row.entity.path[1:]]
    texts = tuple("null" if part is None else str(part) for part in parts)
    if not all(isinstance(part, str) for part in parts):
        raise BadLine(bad_name(EntityId(row.entity.name, texts)))
    return texts


def _event(
    row: AuditRow,
    parts: tuple[str, ...],
    user: str,
    started: int,
    ended: int,
    found: Mapping[str, Any],
    settings: SourceSettings,
) -> EntityEvent:
    # Messages have no id; what we read of one stands for it, so that a repeated message is the same event.
    read = json.dumps(
        {name: found[name] for name in _READ if name in found}, ensure_ascii=False, separators=(",", ":")
    ).encode("utf-8")
    return EntityEvent(
        entity=EntityId(row.entity.name, parts),
        kind=row.kind,
        stage=Stage.MESSAGE,
        user=user,
        started=started,
        ended=ended,
        source=settings.name,
        id=hashlib.sha256(read).hexdigest(),
        received=started,
    )


def _salvaged(found: Mapping[str, Any], settings: SourceSettings) -> list[EntityEvent]:
    """What a message that is rejected says, as far as it can be read, whatever its version."""
    kind, details = _entity_of(found)
    user, time = found.get("user"), found.get("time")
    if user is None or user == "":
        return []
    name = user if isinstance(user, str) else UNREADABLE_USER
    started, ended = (time, time) if type(time) is int and 0 < time < NEVER else (0, NEVER)
    rows = {row.entity: row for row in load_creations().audit if row.message == found.get("type")}
    events = []
    for row in rows.values():
        with suppress(BadLine):
            if kind in row.entity.cdap_names:
                events.append(_event(row, _parts(row, details), name, started, ended, found, settings))
    return events


def _entity_of(found: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """CDAP's name of the type and the names, wherever they stand; empty where they cannot be read."""
    new, old = found.get("metadataEntity"), found.get("entityId")
    if isinstance(new, dict) and isinstance(new.get("type"), str) and isinstance(new.get("details"), dict):
        return new["type"].upper(), new["details"]
    if isinstance(old, dict) and isinstance(kind := old.get("entity", old.get("entityType")), str):
        return kind.upper(), old
    return "", {}
