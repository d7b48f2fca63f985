"""Files named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from ranger_cdap.errors import InvalidInput, PolicySetError, reason
from ranger_cdap.policies.manage.policy_collection import PolicyCollection
from ranger_cdap.policies.manage.policy_directory import read_directory
from ranger_cdap.policies.manage.strict_text import YAML_SUFFIXES, parse_text

Decoded = TypeVar("Decoded")

_MISSING: Final = msgspec.Raw(b"")


def read_file(path: Path) -> bytes:
    """Return the content of a file; `-` is standard input.

    Raises:
        InvalidInput: it cannot be read; the message has the reason.
    """
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be read: {reason(e)}") from None


def decoded(path: Path, decode: Callable[[bytes], Decoded]) -> Decoded:
    """Read and decode a file with a download.

    Raises:
        InvalidInput: it cannot be read, or is not such a download.
    """
    content = read_file(path)
    try:
        return decode(content)
    except PolicySetError as e:
        raise InvalidInput(f"`{path}` cannot be used: {e}") from None


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Report errors of policies inside this block as errors of the file that the user named.

    Raises:
        InvalidInput: instead of PolicySetError.
    """
    try:
        yield
    except PolicySetError as e:
        raise InvalidInput(f"`{path}` cannot be used: {e}") from None


class _Heading(msgspec.Struct, rename="camel"):
    """Members that tell an export of policies from a download."""

    service_name: msgspec.Raw = _MISSING
    service_def: msgspec.Raw = _MISSING
    policy_deltas: msgspec.Raw = _MISSING
    policies: msgspec.Raw = _MISSING

    @property
    def is_download(self) -> bool:
        return any(bytes(part) for part in (self.service_name, self.service_def, self.policy_deltas))


def read_policies(path: Path, service: str = "") -> bytes:
    """Return a policy download: that of the file, or one made of an export or of a directory of policies.

    `service` is the name of their service if they name none.

    Raises:
        InvalidInput: it cannot be read, or is neither; the message names the file.
    """
    if path.is_dir():
        found = read_directory(path)
        return _named(path, lambda: found.download(service))
    content = read_file(path)
    if path.suffix.lower() not in YAML_SUFFIXES and not _is_export(content):
        return content
    return _named(path, lambda: _collection(path, content).download(service))


def read_collection(path: Path) -> PolicyCollection:
    """Return the policies of a directory, an export or a download.

    Raises:
        InvalidInput: it cannot be read, or is none of these; the message names the file.
    """
    if path.is_dir():
        return read_directory(path)
    content = read_file(path)
    return _named(path, lambda: _collection(path, content))


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        InvalidInput: it cannot be read, or is not JSON; the message names the file.
    """
    content = read_file(path)
    return _named(path, lambda: parse_text(content, ".json"))


def _collection(path: Path, content: bytes) -> PolicyCollection:
    if path.suffix.lower() not in YAML_SUFFIXES and (heading := _heading(content)) and heading.is_download:
        return PolicyCollection.of_download(content)
    return PolicyCollection.of_document(parse_text(content, path.suffix))


def _is_export(content: bytes) -> bool:
    heading = _heading(content)
    return heading is not None and not heading.is_download and bool(bytes(heading.policies))


def _heading(content: bytes) -> _Heading | None:
    try:
        return msgspec.json.decode(content, type=_Heading)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _named(path: Path, read: Callable[[], Decoded]) -> Decoded:
    try:
        return read()
    except (InvalidInput, PolicySetError) as e:
        raise InvalidInput(f"`{path}` cannot be used: {e}") from None


def write_file(path: Path, content: bytes) -> None:
    """Write content to a file.

    Raises:
        InvalidInput: it cannot be written; the message has the reason.
    """
    try:
        path.write_bytes(content)
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be written: {reason(e)}") from None
