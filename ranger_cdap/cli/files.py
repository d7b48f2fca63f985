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
        InvalidInput: it can't be read; the message says why.
    """
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as e:
        raise InvalidInput(f"`{path}` can't be read: {reason(e)}") from None


def decoded(path: Path, decode: Callable[[bytes], Decoded]) -> Decoded:
    """What the decoder of a download makes of a file.

    Raises:
        InvalidInput: it can't be read, or is no such download.
    """
    content = read_file(path)
    try:
        return decode(content)
    except PolicySetError as e:
        raise InvalidInput(f"`{path}` can't be used: {e}") from None


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """What goes wrong with policies inside of it is the fault of a file that a person named.

    Raises:
        InvalidInput: in the place of PolicySetError.
    """
    try:
        yield
    except PolicySetError as e:
        raise InvalidInput(f"`{path}` can't be used: {_no_download(path) or e}") from None


class _Download(msgspec.Struct, rename="camel"):
    service_name: str = ""


def _no_download(path: Path) -> str:
    """What to say of a file that is whole, and something else: people try an export, which has policies, too."""
    try:
        named = msgspec.json.decode(path.read_bytes(), type=_Download).service_name
    except (OSError, msgspec.DecodeError):
        return ""
    return "" if named else "it is no policy download; take a plugin's cache file, not what `policies export` writes"


def write_file(path: Path, content: bytes) -> None:
    """Put content into a file.

    Raises:
        InvalidInput: it can't be written; the message says why.
    """
    try:
        path.write_bytes(content)
    except OSError as e:
        raise InvalidInput(f"`{path}` can't be written: {reason(e)}") from None
