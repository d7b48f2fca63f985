"""Files named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from ranger_cdap.errors import InvalidInput, PolicySetError, reason

Decoded = TypeVar("Decoded")


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
        raise InvalidInput(f"`{path}` cannot be used: {_not_a_download(path) or e}") from None


class _DownloadHeader(msgspec.Struct, rename="camel"):
    service_name: str = ""


def _not_a_download(path: Path) -> str:
    """Return the message for a file of another kind: an export is a likely mistake, as it has policies too."""
    try:
        named = msgspec.json.decode(path.read_bytes(), type=_DownloadHeader).service_name
    except (OSError, msgspec.DecodeError):
        return ""
    return "" if named else "not a policy download; use a plugin's cache file, not the output of `policies export`"


def write_file(path: Path, content: bytes) -> None:
    """Write content to a file.

    Raises:
        InvalidInput: it cannot be written; the message has the reason.
    """
    try:
        path.write_bytes(content)
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be written: {reason(e)}") from None
