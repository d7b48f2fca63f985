"""Dead letters: rejected lines with reason and position, in a file of bounded size."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from ranger_cdap.config import Location, StoreUrl
from ranger_cdap.errors import SyncError
from ranger_cdap.ranger_model.json_text import decode_or_none
from ranger_cdap.store import is_there, open_file, replace_object
from spark_sync.ledger.ledger_health import reason_of

DEAD_LETTERS: Final = "dead-letters.jsonl"
"""The file in the state directory."""

OLDER: Final = "dead-letters.1.jsonl"
"""The previous, full file."""

MOST_LETTERS: Final = 100
"""Lines of one slice of a file, or of one batch of messages, with a letter each; one more letter counts the others."""

FULL: Final = 16_000_000
"""Bytes after which the file is started again."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A rejected line; `line_number` counts from 1 at the byte `block` of the file (0 except in huge files).

    `lines`: the number of lines it represents; more than one if the lines of a file are only counted.
    """

    source: str
    file: str
    block: int
    line_number: int
    reason: str
    line: str
    lines: int = 1


def write_dead_letters(letters: Collection[DeadLetter], state_dir: Location) -> int:
    """Append letters to the file; return the number of lines they represent.

    Raises:
        SyncError: the file cannot be written.
    """
    if not letters:
        return 0
    path, content = state_dir / DEAD_LETTERS, b"".join(msgspec.json.encode(letter) + b"\n" for letter in letters)
    try:
        if isinstance(path, StoreUrl):
            _add_to_object(path, content)
        else:
            if path.exists() and path.stat().st_size >= FULL:
                path.replace(str(state_dir / OLDER))
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
                file.write(content)
    except OSError as e:
        raise SyncError(f"`{path}` cannot be written: {e.strerror or reason_of(e)}") from e
    return sum(letter.lines for letter in letters)


def _add_to_object(path: StoreUrl, content: bytes) -> None:
    """As `write_dead_letters`: nothing can be appended to an object, and the holder of the lease alone replaces it."""
    before = b""
    if is_there(path):
        with open_file(path) as file:
            before = file.read()
    if len(before) >= FULL:
        replace_object(replace(path, path=path.path.replace(DEAD_LETTERS, OLDER)), before)
        before = b""
    replace_object(path, before + content)


def rejected_lines(state_dir: Location) -> int:
    """Return the number of rejected lines in the files.

    Raises:
        SyncError: the file cannot be read.
    """
    return sum(_lines_in(state_dir / name) for name in (OLDER, DEAD_LETTERS))


def _lines_in(path: Location) -> int:
    try:
        with open_file(path) as file:
            return sum(map(_lines_of, file))
    except FileNotFoundError:
        return 0
    except OSError as e:
        raise SyncError(f"`{path}` cannot be read: {e.strerror or reason_of(e)}") from e


def _lines_of(letter: bytes) -> int:
    """Return the lines of a letter; 1 if it was cut off."""
    found = decode_or_none(letter, _letter)
    return 1 if found is None else found.lines


_letter: Final = msgspec.json.Decoder(DeadLetter)
