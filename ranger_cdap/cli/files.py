"""Files named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from ranger_cdap.config import Location
from ranger_cdap.disk import os_errors_as
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_directory import read_directory
from ranger_cdap.ranger.files.policy_file import policies_of
from ranger_cdap.ranger.files.strict_text import other_content, parse_text
from ranger_cdap.store import open_file

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
def reading(path: Location) -> Iterator[BinaryIO]:
    """Open a file to read it inside this block; a pipe that nothing writes to is empty.

    Raises:
        InvalidInput: it cannot be read; the message has the reason.
    """
    with os_errors_as(InvalidInput, f"`{path}` cannot be read"), open_file(path) as file:
        yield file


def decoded(path: Path, decode: Callable[[bytes], Decoded]) -> Decoded:
    """Read and decode a file with a download.

    Raises:
        InvalidInput: it cannot be read, or is not such a download.
    """
    content = read_file(path)
    with naming(path, content):
        return decode(content)


def read_policies(path: Path, service: str = "") -> bytes | PolicyCollection:
    """Return the policies of a file in any form or of a directory: a policy download as it is, others as a collection.

    With `service` they are those of the service of this name.

    Raises:
        InvalidInput: it cannot be read, or has no such policies; the message names the file.
    """
    if not path.is_dir():
        content = read_file(path)
        with naming(path, content):
            return policies_of(content, path.suffix, service)
    found = read_directory(path)
    if service not in ("", found.service.service):
        raise InvalidInput(f"`{path}` has the policies of service `{found.service.service}`, not of `{service}`")
    return found


def read_json(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        InvalidInput: it cannot be read, or is not JSON; the message names the file.
    """
    content = read_file(path)
    with naming(path, content):
        return parse_text(content, ".json")


@contextmanager
def naming(
    path: Path, content: bytes = b"{}", kinds: tuple[type[Exception], ...] = (InvalidInput, PolicySetError)
) -> Iterator[None]:
    """Name the file in errors of these kinds inside this block, or say what it is if it is no text of JSON or YAML.

    Raises:
        InvalidInput: instead of such an error, which does not name the file.
    """
    try:
        yield
    except kinds as e:
        raise InvalidInput(f"`{path}` cannot be used: {other_content(content) or e}") from None


usable = partial(naming, kinds=(PolicySetError,))
"""Name the file in errors of policies."""


def write_file(path: Path, content: bytes) -> None:
    """Write content to a file.

    Raises:
        InvalidInput: it cannot be written; the message has the reason.
    """
    with os_errors_as(InvalidInput, f"`{path}` cannot be written"):
        path.write_bytes(content)
