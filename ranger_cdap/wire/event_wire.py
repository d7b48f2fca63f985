"""Records of requests that CDAP answered, journalled checks, and the lines of both (docs/reference/events.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from ranger_cdap.ranger_model.json_text import Undecodable, decode
from ranger_cdap.ranger_model.strict_json import decode_strictly, refuse_repeated
from ranger_cdap.wire.json_body import Strict

UNSTAMPED: Final = 1
STAMPED: Final = 2
"""Versions of a record: without and with `id`, `process` and `at` in its checks."""

CHECK_VERSION: Final = 1

_JavaInt = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Milliseconds = Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]
# In Python `$` also matches before a line break at the end, which would be the 33rd character.
Hex = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$", max_length=32)]
"""128 random bits: the id of a check or of a process."""


class CheckRecord(Strict, frozen=True, omit_defaults=True, kw_only=True):
    """One permission check of a request; `at` is when its process was about to ask, by its own clock."""

    principal: str
    kerberos: str | msgspec.UnsetType | None = msgspec.UNSET
    type: str
    parts: list[str]
    child_type: str | msgspec.UnsetType | None = msgspec.UNSET
    permissions: list[str]
    allowed: bool
    id: Hex | msgspec.UnsetType = msgspec.UNSET
    process: Hex | msgspec.UnsetType = msgspec.UNSET
    at: Milliseconds | msgspec.UnsetType = msgspec.UNSET


class Record(Strict, frozen=True, omit_defaults=True, kw_only=True):
    """One request that CDAP answered."""

    v: _JavaInt
    instance: str
    method: str
    uri: str
    handler: str | msgspec.UnsetType | None = msgspec.UNSET
    code: _JavaInt
    user_ip: str | msgspec.UnsetType | None = msgspec.UNSET
    started: Milliseconds
    ended: Milliseconds
    checks: list[CheckRecord]


class StoredRecord(Strict, frozen=True, omit_defaults=True):
    """Stored record: the caller's fields, and those of the service that stores it."""

    id: Annotated[str, msgspec.Meta(min_length=1)]
    caller: str
    received: Milliseconds
    record: Record


class JournalledCheck(Strict, frozen=True, omit_defaults=True, kw_only=True):
    """Allowed check that may begin or end the life of an entity, or refused one that may end a deletion.

    `frame` is the nearest calling method of CDAP, empty if the request had none.
    """

    v: _JavaInt
    instance: str
    process: Hex
    at: Milliseconds
    principal: str
    type: str
    parts: list[str]
    permissions: list[str]
    frame: str
    allowed: bool = True


class StoredCheck(Strict, frozen=True, omit_defaults=True):
    """Stored journalled check, under the id of its stamp."""

    id: Hex
    caller: str
    received: Milliseconds
    check: JournalledCheck


class AuditRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Records to be stored."""

    records: list[Record]

    @staticmethod
    def read(data: bytes) -> list[bytes]:
        """Return the records of a body, undecoded, so that an invalid one does not block the others.

        Raises:
            Undecodable: it is not a list of records at all, or has a field twice.
        """
        raws = [bytes(raw) for raw in decode(data, _envelopes).records]
        refuse_repeated(_RawAuditRequest(list(map(msgspec.Raw, raws))), data)
        return raws


class RefusedRecord(msgspec.Struct):
    """A record that is not stored: its place in the request, and the reason."""

    index: int
    reason: str


class AuditReply(msgspec.Struct):
    """The number of records stored, and those rejected for good."""

    stored: int
    refused: list[RefusedRecord]


class _RawAuditRequest(msgspec.Struct, forbid_unknown_fields=True):
    records: list[msgspec.Raw]


class _RawStoredRecord(msgspec.Struct, frozen=True):
    """`StoredRecord` with the record as it was sent."""

    id: str
    caller: str
    received: int
    record: msgspec.Raw


class _Versioned(msgspec.Struct):
    v: Any = None


_envelopes: Final = msgspec.json.Decoder(_RawAuditRequest)
_versions: Final = msgspec.json.Decoder(_Versioned)
_records: Final = msgspec.json.Decoder(Record)


class Fault(StrEnum):
    """Kind of rejected record."""

    VERSION = "version"
    FORMAT = "format"
    INSTANCE = "instance"


class BadRecord(Exception):
    """Record that is not trusted or not readable; the message is for its sender."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Intake:
    """Reader of the records of one CDAP instance."""

    instance: str

    def read(self, raw: bytes) -> Record:
        """Decode one record.

        Raises:
            BadRecord: it is not one of a known version, or is of another instance.
        """
        record = _strictly(raw)
        if record.instance != self.instance:
            raise BadRecord(Fault.INSTANCE, f"is of instance `{record.instance[:80]}`, not of `{self.instance}`")
        _check_stamps(record)
        return _without_nulls(record)


def line_of(record: Record, caller: str) -> Callable[[int], bytes]:
    """Return what makes the stored line, with its end, for a time of receipt; the expensive part is already done.

    The same record of the same caller has the same id, however it was written.
    """
    content = msgspec.json.encode(record)
    # No name of a caller contains a NUL, so no two pairs of caller and record are the same text.
    name = hashlib.sha256(caller.encode() + b"\0" + content).hexdigest()
    return lambda received: msgspec.json.encode(_RawStoredRecord(name, caller, received, msgspec.Raw(content))) + b"\n"


def journal_line(id_: str, caller: str, received: int, check: JournalledCheck) -> bytes:
    """Return the line of a journalled check, with its end."""
    return msgspec.json.encode(StoredCheck(id_, caller, received, check)) + b"\n"


def _without_nulls(record: Record) -> Record:
    """Return the record with its nulls left out: a missing field and null are one record, which is stored once."""
    checks = [
        msgspec.structs.replace(check, child_type=msgspec.UNSET) if check.child_type is None else check
        for check in record.checks
    ]
    nulls = {name: msgspec.UNSET for name in ("handler", "user_ip") if getattr(record, name) is None}
    return msgspec.structs.replace(record, checks=checks, **nulls)


def _check_stamps(record: Record) -> None:
    wanted = record.v == STAMPED
    for n, check in enumerate(record.checks):
        for name, value in (("id", check.id), ("process", check.process), ("at", check.at)):
            if (value is msgspec.UNSET) == wanted:
                what = "is missing" if wanted else f"is not part of version {UNSTAMPED}"
                raise BadRecord(Fault.FORMAT, f"`{name}` of `checks[{n}]` {what}")


def _strictly(raw: bytes) -> Record:
    try:
        version = decode(raw, _versions).v
        if version not in (UNSTAMPED, STAMPED) or type(version) is not int:
            raise BadRecord(Fault.VERSION, f"unknown version `{str(version)[:80]}`")
        return decode_strictly(raw, _records)
    except Undecodable as e:
        raise BadRecord(Fault.FORMAT, str(e)) from None
