"""Files named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ranger_cdap.config.named_file import open_named
from ranger_cdap.errors import InvalidInput, PolicySetError, reason
from ranger_cdap.ranger.changes.saved_policy import saved_download
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_directory import read_directory
from ranger_cdap.ranger.files.policy_file import collection_of, download_of
from ranger_cdap.ranger.files.strict_text import parse_text

Decoded = TypeVar("Decoded")
Report = Callable[[str], object]
"""Where notes go."""


def read_file(path: Path) -> bytes:
    """Return the content of a file; `-` is standard input.

    Raises:
        InvalidInput: it cannot be read; the message has the reason.
    """
    if str(path) == "-":
        return sys.stdin.buffer.read()
    with reading(path) as file:
        return file.read()


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read it inside this block; a pipe that nothing writes to is empty.

    Raises:
        InvalidInput: it cannot be read; the message has the reason.
    """
    try:
        with open_named(path) as file:
            yield file
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


def checked(path: Path, decode: Callable[[bytes], object]) -> bytes:
    """Return the content of a file with a download, decoded once so that an error names this file and no other.

    Raises:
        InvalidInput: it cannot be read, or is not such a download.
    """

    def look(content: bytes) -> bytes:
        decode(content)
        return content

    return decoded(path, look)


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


def read_policies(path: Path, service: str = "", report: Report | None = None) -> bytes:
    """Return a policy download: that of the file, or one made of other forms or of a directory of policies.

    `service` is the name of their service if they name none. With `report` the policies are as Ranger Admin would save
    them, and it gets what changed.

    Raises:
        InvalidInput: it cannot be read, or is neither; the message names the file.
    """
    if path.is_dir():
        collection = read_directory(path)
        found = _named(path, lambda: collection.download(service))
    else:
        content = read_file(path)
        found = _named(path, lambda: download_of(content, path.suffix, service))
    return found if report is None else reported(path, _named(path, lambda: saved_download(found)), report)


def read_collection(path: Path, report: Report | None = None) -> PolicyCollection:
    """Return the policies of a directory or of a file in any form; `report` is that of `read_policies`.

    Raises:
        InvalidInput: it cannot be read, or is none of these; the message names the file.
    """
    if path.is_dir():
        found = read_directory(path)
    else:
        content = read_file(path)
        found = _named(path, lambda: collection_of(content, path.suffix))
    return found if report is None else reported(path, _named(path, found.as_saved), report)


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        InvalidInput: it cannot be read, or is not JSON; the message names the file.
    """
    content = read_file(path)
    return _named(path, lambda: parse_text(content, ".json"))


def reported(path: Path, saved: tuple[Decoded, tuple[str, ...]], report: Report) -> Decoded:
    """Return policies as Ranger Admin would save them, after a note about each change."""
    for change in saved[1]:
        report(f"note: `{path}`: {change}")
    return saved[0]


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
