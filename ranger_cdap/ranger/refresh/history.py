"""Versions of the policies that this host has used, on disk: a whole one, then what changed in each; bounded.

Law: the documents at a time are those that were kept last before it. Several processes may keep versions in one
directory: each writes files of its own, and what a killed one left unfinished is no version. A history that cannot
be written stops nothing.
"""

from __future__ import annotations

import errno
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec

from ranger_cdap.disk import replace_file
from ranger_cdap.errors import CacheError, InvalidInput, PolicySetError, reason
from ranger_cdap.ranger.refresh.documents import Documents, pieces
from ranger_cdap.ranger.refresh.policy_text import PolicyText
from ranger_cdap.ranger_model.json_text import Undecodable, decode, decode_or_none

_NOT_IN_A_FILE_NAME: Final = re.compile(r"[/\\:\x00-\x1f\x7f]")
_FILE: Final = re.compile(r"[0-9]{13,}-[0-9a-f]{32}\.jsonl")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MEMBER, _POLICY, _WHOLE = "member ", "policy ", "whole"
_DOWNLOADS: Final = ("roles", "tags", "users")

_Parts = Mapping[str, msgspec.Raw]
"""Documents by parts: members and policies of the policy download, and the other downloads."""


class _Version(msgspec.Struct):
    """A line: the parts that differ from those of the line before, and the names of those that are gone."""

    at: int
    parts: dict[str, msgspec.Raw]
    gone: list[str] = []


class _Time(msgspec.Struct):
    """The part of a line that is read to find a version."""

    at: int


_times_only: Final = msgspec.json.Decoder(_Time)
_versions: Final = msgspec.json.Decoder(_Version)


@dataclass(frozen=True, slots=True)
class HistoricPolicies:
    """Documents that this host used from a time on, in epoch milliseconds."""

    documents: Documents
    since: int


@dataclass(slots=True)
class PolicyHistory:
    """Writer of the versions of one service; at most `max_bytes` are kept, the newest ones."""

    directory: Path
    service: str
    max_bytes: int = 100_000_000
    _file: Path | None = None
    _parts: _Parts | None = None
    _sizes: list[int] = field(default_factory=list)

    def keep(self, documents: Documents, at: int) -> None:
        """Keep documents that are used from `at` on (epoch milliseconds), unless they are those kept last.

        Raises:
            CacheError: they cannot be written.
        """
        parts = dict(_parts(documents))
        try:
            if self._parts is None:
                self._parts = _newest(self.directory, self.service)
            if parts == self._parts:
                return
            if self._file is None or self._parts is None or sum(self._sizes[1:]) >= self._sizes[0]:
                self._begin(parts, at)
            else:
                changed = {name: raw for name, raw in parts.items() if self._parts.get(name) != raw}
                self._append(_Version(at, changed, sorted(self._parts.keys() - parts.keys())), parts, at)
            self._parts = parts
            self._remove_oldest()
        except OSError as e:
            self._file = None
            raise CacheError(f"policy history `{self.directory}` cannot be written: {reason(e)}") from None

    def _begin(self, parts: _Parts, at: int) -> None:
        directory = _place(self.directory, self.service)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = directory / f"{at:013}-{uuid4().hex}.jsonl"
        line = _line(_Version(at, dict(parts)))
        replace_file(file, (line,))
        self._file, self._sizes = file, [len(line)]

    def _append(self, version: _Version, parts: _Parts, at: int) -> None:
        assert self._file is not None
        line = _line(version)
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:  # another process made room
            self._begin(parts, at)
            return
        try:
            written = os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if written < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._sizes.append(len(line))

    def _remove_oldest(self) -> None:
        sizes = {file: file.stat().st_size for file in _files(self.directory, self.service) if file.exists()}
        total = sum(sizes.values())
        for file, size in sizes.items():
            if total <= self.max_bytes or file == self._file:
                return
            file.unlink(missing_ok=True)
            total -= size


def policies_at(directory: Path, service: str, at: int) -> HistoricPolicies:
    """Return the documents that were kept last until `at` (epoch milliseconds).

    Raises:
        InvalidInput: the history has none so old, or none of the service, or cannot be read.
    """
    try:
        found = _last(directory, service, at)
        if found is not None:
            return HistoricPolicies(_documents(_folded(found.file, found.line)), found.at)
        first = min((at for file in _files(directory, service) for at in _times(file)), default=None)
    except OSError as e:
        raise InvalidInput(f"the policy history `{directory}` cannot be read: {reason(e)}") from None
    except ValueError:
        raise InvalidInput(f"the policy history `{directory}` is damaged: a line of it is no version") from None
    so_old = (
        "" if first is None else f" so old: it begins at {_EPOCH + timedelta(milliseconds=first):%Y-%m-%d %H:%M:%S} UTC"
    )
    raise InvalidInput(f"the policy history `{directory}` has no policies of service `{service}`{so_old}")


@dataclass(frozen=True, slots=True, order=True)
class _KeptVersion:
    """A version in a file, ordered by time."""

    at: int
    file: Path
    line: int


def _last(directory: Path, service: str, until: float) -> _KeptVersion | None:
    places = (
        _KeptVersion(at, file, line)
        for file in _files(directory, service)
        for line, at in enumerate(_times(file))
        if at <= until
    )
    return max(places, default=None)


def _newest(directory: Path, service: str) -> _Parts | None:
    """Return the version kept last; None if there is none that can be read."""
    found = _last(directory, service, math.inf)
    try:
        return None if found is None else _folded(found.file, found.line)
    except Undecodable:
        return None


def _place(directory: Path, service: str) -> Path:
    return directory / (_NOT_IN_A_FILE_NAME.sub("_", service) or "_")


def _files(directory: Path, service: str) -> list[Path]:
    """Return the files of a service, the oldest first."""
    place = _place(directory, service)
    return sorted(file for file in place.iterdir() if _FILE.fullmatch(file.name)) if place.is_dir() else []


def _times(file: Path) -> list[int]:
    """Return the time of each version of a file, up to a line that is none."""
    times: list[int] = []
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:  # another process made room
        return times
    for line in lines:
        if (version := decode_or_none(line, _times_only)) is None:
            return times
        times.append(version.at)
    return times


def _folded(file: Path, last: int) -> _Parts:
    """Return the parts at a line of a file, from 0."""
    parts: dict[str, msgspec.Raw] = {}
    for line in file.read_bytes().splitlines()[: last + 1]:
        version = decode(line, _versions)
        for name in version.gone:
            parts.pop(name, None)
        parts |= version.parts
    return parts


def _line(version: _Version) -> bytes:
    # In JSON a line feed is never part of a text, so a space may stand for it.
    return msgspec.json.encode(version).replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def _parts(documents: Documents) -> Iterator[tuple[str, msgspec.Raw]]:
    policies = documents.policies
    try:
        text = policies if isinstance(policies, PolicyText) else PolicyText.of(policies)
    except PolicySetError:  # policies without ids of their own
        yield _WHOLE, _raw(b"".join(pieces(policies)))
    else:
        yield from ((_MEMBER + name, _raw(raw)) for name, raw in text.members.items())
        yield from ((f"{_POLICY}{number}", _raw(raw)) for number, raw in text.policies.items())
    yield from (
        (name, _raw(content))
        for name, content in zip(_DOWNLOADS, (documents.roles, documents.tags, documents.users), strict=True)
        if content is not None
    )


def _raw(content: bytes | msgspec.Raw) -> msgspec.Raw:
    return msgspec.Raw(bytes(content).replace(b"\n", b" ").replace(b"\r", b" "))


def _documents(parts: _Parts) -> Documents:
    if _WHOLE in parts:
        policies = bytes(parts[_WHOLE])
    else:
        text = PolicyText(
            {name.removeprefix(_MEMBER): raw for name, raw in parts.items() if name.startswith(_MEMBER)},
            {int(name.removeprefix(_POLICY)): raw for name, raw in parts.items() if name.startswith(_POLICY)},
        )
        policies = b"".join(text.pieces())
    roles, tags, users = (bytes(parts[name]) if name in parts else None for name in _DOWNLOADS)
    return Documents(policies, roles or b"{}", tags, users)
