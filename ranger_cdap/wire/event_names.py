"""Names of event files, `TIME-PREVIOUS.jsonl`: when a file was begun, and the file published before it.

So a reader that knows what it has read notices that files were deleted which it has not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

SUFFIX: Final = ".jsonl"

_NAME: Final = re.compile(rf"([0-9]{{15}})-([0-9]{{15}}){re.escape(SUFFIX)}")


def event_name(begun: int, previous: int) -> str:
    """Return the name of a file that was begun at that time, after one begun at `previous`, 0 if that is unknown."""
    return f"{begun:015d}-{previous:015d}{SUFFIX}"


def absolute(directory: Path) -> str:
    """Return the path of a directory as the sync job records it: no link is resolved."""
    return os.path.abspath(directory)  # noqa: PTH100


def gone_files(present: Iterable[str], newest: int) -> set[int]:
    """Return when files were begun of which the names of others say that they were published, and that are gone.

    `newest`: when the last published file was begun, 0 if that is unknown. Pure.
    """
    before = dict(_times(present))
    return {newest, *before.values()} - before.keys()


def missing_file(read: Iterable[str], present: Iterable[str], newest: int) -> int:
    """Return the first of `gone_files` that is newer than all files read; 0 for none.

    Law: as long as only files are deleted that were read, none is missing. Pure.
    """
    last = max((begun for begun, _ in _times(read)), default=None)
    return 0 if last is None else min((each for each in gone_files(present, newest) if each > last), default=0)


def missing_in(directory: Path, read: Iterable[str], newest: int) -> int:
    """Return `missing_file` of a directory, of whose files the paths in `read` were read.

    Raises:
        OSError: the directory cannot be read.
    """
    prefix = f"{absolute(directory)}/"
    names = [path.removeprefix(prefix) for path in read]
    # A list may lack a file that is published meanwhile and have the next one; a second one has both.
    return missing_file(names, names_in(directory), newest) and missing_file(names, names_in(directory), newest)


def names_in(directory: Path) -> list[str]:
    """Return the names of the files in a directory.

    Raises:
        OSError: the directory cannot be read.
    """
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _times(names: Iterable[str]) -> Iterable[tuple[int, int]]:
    return ((int(each[1]), int(each[2])) for each in filter(None, map(_NAME.fullmatch, names)))
