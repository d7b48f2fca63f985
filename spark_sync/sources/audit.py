"""CDAP's audit messages, versions 1 (until CDAP 5) and 2 (CDAP 6), as JSON lines; they prove creations.

`{"version":1,"time":1000,"entityId":{"namespace":"ns1","dataset":"kv","entity":"DATASET"},"user":"alice",
"type":"CREATE","payload":{}}`, where some releases write `entityType` for `entity`;
`{"version":2,"time":1795233666254,"metadataEntity":{"details":{"namespace":"ns1","dataset":"kv"},"type":"dataset"},
"user":"alice","type":"CREATE","payload":{}}` (cdap-facts.md §4.1).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final

import msgspec

from ranger_cdap.cdap.creations import AuditRow, load_creations
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import SyncError
from ranger_cdap.ranger_model.json_text import convert
from ranger_cdap.ranger_model.strict_json import BadLine, quoted, read_object
from ranger_cdap.wire.event_wire import Milliseconds
from spark_sync.ledger.event import NEVER, EntityEvent, Stage
from spark_sync.sources.line_reader import UNREADABLE_USER, LineReading, bad_name

_VERSIONS: Final = (1, 2)
_READ: Final = ("version", "time", "entityId", "metadataEntity", "user", "type")
_NOTHING: Final = LineReading()

_TEXT: Final = r"[ !#-\[\]-~]*+"
"""Printable ASCII without quotation marks and backslashes: equal bytes in every encoder."""
_PAIRS: Final = rf'(?:"{_TEXT}":"{_TEXT}"(?:,"{_TEXT}":"{_TEXT}")*+)?+'
_SCOPE: Final = rf'\{{"{_TEXT}":\{{"properties":\{{({_PAIRS})\}},"tags":\[(?:"{_TEXT}"(?:,"{_TEXT}")*+)?+\]\}}\}}'
_EXACT_VERSION: Final = 2
_EXACT: Final = re.compile(
    rf'(?P<head>\{{"version":{_EXACT_VERSION},"time":(?P<time>[1-9][0-9]{{0,17}}),"metadataEntity":'
    rf'\{{"details":\{{(?P<details>{_PAIRS})\}},"type":"(?P<kind>{_TEXT})"\}},"user":"(?P<user>{_TEXT})",'
    rf'"type":"(?P<message>{_TEXT})"),"payload":'
    rf'\{{(?:"previous":{_SCOPE},"additions":{_SCOPE},"deletions":{_SCOPE})?+\}}\}}'
)
"""A message as CDAP writes it: no space, no escape, the fields in this order."""

_SAMPLE: Final = "000"
"""The end of the time of one message in a thousand, which is read in both ways."""

_encode: Final = msgspec.json.Encoder().encode
_encode_float: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class _AuditMessage(msgspec.Struct, frozen=True):
    """Fields common to both versions; CDAP may add others."""

    time: Milliseconds
    user: str
    type: str


class _AuditMessageV1(_AuditMessage, frozen=True):
    entityId: dict[str, Any]  # noqa: N815  (CDAP's name)


class _MetadataEntity(msgspec.Struct, frozen=True):
    type: str
    details: dict[str, Any]


class _AuditMessageV2(_AuditMessage, frozen=True):
    metadataEntity: _MetadataEntity  # noqa: N815  (CDAP's name)


def read(line: str, settings: SourceSettings, instance: str) -> LineReading:
    """Read a line; messages name no instance, so all belong to the one configured for the source.

    A message in the exact form in which CDAP writes it is not parsed, but for one in a thousand, to be compared.

    Raises:
        SyncError: that one is read differently (a bug).
    """
    found = _EXACT.fullmatch(line)
    reading = None if found is None else _read_exactly(found, settings)
    if found is None or reading is None:
        return read_strictly(line, settings)
    if found["time"].endswith(_SAMPLE) and reading != read_strictly(line, settings):
        raise SyncError(f"source `{settings.name}`: two readers differ about a message; report this bug: {line[:500]}")
    return reading


def _read_exactly(found: re.Match[str], settings: SourceSettings) -> LineReading | None:
    """Return the content of a message in CDAP's exact form; `None` if it needs the strict reader."""
    head, time, details, kind, user, message, *properties = found.groups()
    for pairs in (details, *properties):
        if pairs and len(names := pairs.split('"')[1::4]) != len(set(names)):
            return None  # a name is repeated
    if (rows := _rows().get(message)) is None:  # most messages: they create and delete nothing
        return _NOTHING
    texts = details.split('"')
    names, kind = dict(zip(texts[1::4], texts[3::4], strict=True)), kind.upper()
    events = []
    for row in rows:
        if kind in row.entity.cdap_names and _EXACT_VERSION in row.versions:
            if not names.keys() >= {*row.entity.path[1:]}:
                return None
            parts = tuple(names[level] for level in row.entity.path[1:])
            # The text that `canonical` makes of the fields read.
            id_ = hashlib.sha256(f"{head}}}".encode()).hexdigest()
            events.append(_event(row, parts, user, int(time), int(time), id_, settings))
    return LineReading(None, tuple(events))


def read_strictly(line: str, settings: SourceSettings) -> LineReading:
    """Read a line in whatever form."""
    try:
        found = read_object(line)
    except BadLine as e:
        return LineReading(str(e))
    try:
        message, kind, details = _message(found)
        rows = _rows().get(message.type)
        if rows is None:  # most messages: they create and delete nothing
            return _NOTHING
        events = tuple(
            _event(row, _parts(row, details), message.user, message.time, message.time, _id(found), settings)
            for row in rows
            if kind in row.entity.cdap_names and found["version"] in row.versions
        )
    except BadLine as e:
        return LineReading(str(e), tuple(_salvaged(found, settings)))
    return LineReading(None, events)


def _message(found: Mapping[str, Any]) -> tuple[_AuditMessage, str, Mapping[str, Any]]:
    """Return a message, CDAP's name of its entity's type, and the entity's names.

    Raises:
        BadLine: it is not a message.
    """
    version = found.get("version")
    if "version" not in found:
        raise BadLine("object missing required field `version`")
    if type(version) is not int or version not in _VERSIONS:
        raise BadLine(f"unknown version {quoted(version)}")
    if version == 1:
        message_1 = convert(found, _AuditMessageV1, BadLine)
        kind = message_1.entityId.get("entity", message_1.entityId.get("entityType"))
        if not isinstance(kind, str):
            raise BadLine("`entity` of `entityId` is missing or is no text")
        return message_1, kind.upper(), message_1.entityId
    message = convert(found, _AuditMessageV2, BadLine)
    return message, message.metadataEntity.type.upper(), message.metadataEntity.details


def _parts(row: AuditRow, details: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the entity's parts.

    Raises:
        BadLine: one is missing or not text.
    """
    parts = [details.get(level) for level in row.entity.path[1:]]
    texts = tuple("null" if part is None else str(part) for part in parts)
    if not all(isinstance(part, str) for part in parts):
        raise BadLine(bad_name(EntityId(row.entity.name, texts)))
    return texts


def _id(found: Mapping[str, Any]) -> str:
    """Return a hash of the fields read: messages have no id, and a repeated one is the same event."""
    return hashlib.sha256(canonical({name: found[name] for name in _READ if name in found})).hexdigest()


def _event(
    row: AuditRow, parts: tuple[str, ...], user: str, started: int, ended: int, id_: str, settings: SourceSettings
) -> EntityEvent:
    return EntityEvent(
        entity=EntityId(row.entity.name, parts),
        kind=row.kind,
        stage=Stage.MESSAGE,
        user=user,
        started=started,
        ended=ended,
        source=settings.name,
        id=id_,
        received=started,
    )


def canonical(value: dict[str, Any]) -> bytes:
    """Return the JSON text that identifies an object, as `json.dumps` writes it without spaces and in UTF-8.

    Other encoders write all but numbers with a fraction or an exponent in the same way, in a tenth of the time.
    """
    return _encode_float(value).encode() if _has_float(value) else _encode(value)


def _has_float(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_float, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


@cache
def _rows() -> Mapping[str, tuple[AuditRow, ...]]:
    """Return the rows by the type of message."""
    rows = load_creations().audit
    return {message: tuple(row for row in rows if row.message == message) for message in {row.message for row in rows}}


def _salvaged(found: Mapping[str, Any], settings: SourceSettings) -> list[EntityEvent]:
    """Return the readable events of a rejected message, whatever its version."""
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
                events.append(_event(row, _parts(row, details), name, started, ended, _id(found), settings))
    return events


def _entity_of(found: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return CDAP's name of the type and the entity's names in any version; empty if unreadable."""
    new, old = found.get("metadataEntity"), found.get("entityId")
    if isinstance(new, dict) and isinstance(new.get("type"), str) and isinstance(new.get("details"), dict):
        return new["type"].upper(), new["details"]
    if isinstance(old, dict) and isinstance(kind := old.get("entity", old.get("entityType")), str):
        return kind.upper(), old
    return "", {}
