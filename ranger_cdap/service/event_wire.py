"""Records of the requests CDAP answered, version 1, and the lines they are stored as (docs/reference/events.md)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from ranger_cdap.service.json_body import Repeated, refuse_repeated_fields, refuse_repeated_outer_fields

VERSION: Final = 1

_JavaInt = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Milliseconds = Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An object whose every field is known."""


class CheckRecord(_Strict, frozen=True, kw_only=True):
    """One permission check of a request."""

    principal: str
    kerberos: str | msgspec.UnsetType | None = msgspec.UNSET
    type: str
    parts: list[str]
    child_type: str | msgspec.UnsetType = msgspec.UNSET
    permissions: list[str]
    allowed: bool


class Record(_Strict, frozen=True, kw_only=True):
    """One request that CDAP answered."""

    v: _JavaInt
    instance: str
    method: str
    uri: str
    handler: str | msgspec.UnsetType = msgspec.UNSET
    code: _JavaInt
    user_ip: str | msgspec.UnsetType = msgspec.UNSET
    started: _Milliseconds
    ended: _Milliseconds
    checks: list[CheckRecord]


class StoredRecord(msgspec.Struct, frozen=True):
    """A record as it is stored: what the caller sent, and facts of whoever stores."""

    id: str
    caller: str
    received: int
    record: Record


class AuditRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Records to be stored."""

    records: list[Record]

    @staticmethod
    def read(data: bytes) -> list[bytes]:
        """The records of a body, each as it came: one that is wrong must not stop the others.

        Raises:
            msgspec.MsgspecError: it is not a list of records at all.
            Repeated: it has a field twice.
        """
        raws = [bytes(raw) for raw in _read_envelope(data).records]
        refuse_repeated_outer_fields(data, _Envelope(list(map(msgspec.Raw, raws))))
        return raws


class RefusedRecord(msgspec.Struct):
    """A record that is not stored: its place in the request, and why."""

    index: int
    reason: str


class AuditReply(msgspec.Struct):
    """How many records are stored for good, and which are not and never will be."""

    stored: int
    refused: list[RefusedRecord]


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    records: list[msgspec.Raw]


class _Versioned(msgspec.Struct):
    v: Any = None


_read_envelope: Final = msgspec.json.Decoder(_Envelope).decode
_read_version: Final = msgspec.json.Decoder(_Versioned).decode
_read_record: Final = msgspec.json.Decoder(Record).decode


class Fault(StrEnum):
    """What is wrong with a record."""

    VERSION = "version"
    FORMAT = "format"
    TIMES = "times"
    INSTANCE = "instance"


class BadRecord(Exception):
    """A record that can't be believed or read; the message is for whoever sent it."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Intake:
    """Reads the records of one CDAP instance."""

    instance: str

    def read(self, raw: bytes) -> Record:
        """One record.

        Raises:
            BadRecord: it is not one of version 1, or is of another instance.
        """
        record = _strictly(raw)
        if record.started > record.ended:
            raise BadRecord(Fault.TIMES, "`ended` is before `started`")
        if record.instance != self.instance:
            raise BadRecord(Fault.INSTANCE, f"is of instance `{record.instance[:80]}`, not of `{self.instance}`")
        return record


def stored_line(record: Record, caller: str, received: int) -> bytes:
    """The line, with its end; the same record of the same caller has the same id, however it was written."""
    content = msgspec.json.encode(record)
    # No name of a caller holds a NUL, so no two pairs of caller and record are the same text.
    name = hashlib.sha256(caller.encode() + b"\0" + content).hexdigest()
    return msgspec.json.encode(StoredRecord(name, caller, received, record)) + b"\n"


def _strictly(raw: bytes) -> Record:
    try:
        version = _read_version(raw).v
        if version != VERSION or isinstance(version, bool):
            raise BadRecord(Fault.VERSION, f"unknown version `{str(version)[:80]}`")
        record = _read_record(raw)
        refuse_repeated_fields(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError, Repeated) as e:
        raise BadRecord(Fault.FORMAT, " ".join(str(e).split())[:300]) from None
    return record
