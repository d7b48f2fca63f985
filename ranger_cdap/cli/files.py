"""Files that a person names on the command line."""

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
    """The content of a file; `-` is standard input.

    Raises:
        InvalidInput: it cannot be read; the message says why.
    """
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be read: {reason(e)}") from None


def decoded(path: Path, decode: Callable[[bytes], Decoded]) -> Decoded:
    """Decode a file like a download.

    Raises:
        InvalidInput: it cannot be read, or is no such download.
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
        InvalidInput: in the place of PolicySetError.
    """
    try:
        yield
    except PolicySetError as e:
        raise InvalidInput(f"`{path}` cannot be used: {_no_download(path) or e}") from None


class _Download(msgspec.Struct, rename="camel"):
    service_name: str = ""


def _no_download(path: Path) -> str:
    """The message about a valid file of another kind: people try an export, which has policies, too."""
    try:
        named = msgspec.json.decode(path.read_bytes(), type=_Download).service_name
    except (OSError, msgspec.DecodeError):
        return ""
    return "" if named else "it is no policy download; take a plugin's cache file, not what `policies export` writes"


def write_file(path: Path, content: bytes) -> None:
    """Put content into a file.

    Raises:
        InvalidInput: it cannot be written; the message says why.
    """
    try:
        path.write_bytes(content)
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be written: {reason(e)}") from None
