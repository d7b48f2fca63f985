"""The files of a source: which are read, and that they are regular: no links, which Spark would follow. Without Spark.

`path` is a directory or a pattern. Of a directory its files are read, not those of directories below, except of
partitions named as Spark does (`day=2026-11-21`). Nothing hidden is read: no file whose name, or that of a directory
below the fixed part of `path`, begins with a dot or an underscore.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError

_WILDCARDS: Final = "*?[{"
_COMPRESSED: Final = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst")
"""Suffixes by which Spark decompresses files: 5 kB may be 500 MB of lines."""

_HIDDEN: Final = (".", "_")
_COPYING: Final = "._COPYING_"
"""Suffix of a file that Hadoop has not finished copying."""

_ALTERNATIVES: Final = re.compile(r"\{([^{}]*)\}")

_Found = tuple[str, os.stat_result, bool]
"""A path, what is there, and whether it is read, if it is a file."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, and its size in bytes."""

    path: str
    size: int


def check_path(settings: SourceSettings) -> None:
    """Check the settings of a source that reads files, and the kinds of all files it would read now.

    Guaranteed: no file that existed at the time of the call is a symbolic link, a pipe, a device, a socket or a
    compressed file. Files added later are only checked by the next run. Anyone who can write to the directory could as
    well write lines of their own, so only the program that stores may write to it. The directories of `path` before its
    first wildcard are named by the operator: they may be links.

    Raises:
        ConfigError: `path` is missing or does not exist, or a file is not regular.
    """
    list_files(settings)


def list_files(settings: SourceSettings) -> list[SourceFile]:
    """Check as `check_path`, and return the files to read by absolute path, sorted.

    A file must be complete when it appears under its name (move it in).

    Raises:
        ConfigError: as `check_path`; or the name of a file is not UTF-8.
    """
    if settings.path is None:
        raise ConfigError(f"source `{settings.name}` needs `path`, the directory of its files")
    if not is_pattern(settings.path) and not settings.path.exists():
        raise ConfigError(f"`{settings.path}`, the directory of source `{settings.name}`, does not exist")
    sizes = {}
    try:
        for path, found, is_read in _walk(settings.path):
            _refuse_all_but_regular(path, found.st_mode, settings)
            if is_read and stat.S_ISREG(found.st_mode):
                _refuse_all_but_utf8(path, settings)
                sizes[path] = found.st_size
    except re.error:
        raise ConfigError(f"`{settings.path}`, of source `{settings.name}`, is not a valid file pattern") from None
    except OSError as e:
        raise ConfigError(f"`{settings.path}` of source `{settings.name}` cannot be read: {e.strerror}") from None
    return [SourceFile(path, sizes[path]) for path in sorted(sizes)]


def has_others(settings: SourceSettings, known: AbstractSet[str]) -> bool:
    """Return whether `list_files` returns other files than the known paths; it may refuse one instead.

    Of a directory only names are read, about 1 µs each; with patterns and partitions it is `list_files`.

    Raises:
        ConfigError: as `list_files`.
    """
    if settings.path is None or is_pattern(settings.path):
        return any(file.path not in known for file in list_files(settings))
    directory = _absolute(settings.path)
    try:
        with os.scandir(directory) as entries:
            others = [entry for entry in entries if not _is_hidden(entry.name) and entry.path not in known]
            if all(entry.is_dir(follow_symlinks=False) and "=" not in entry.name for entry in others):
                return False
    except OSError:  # `list_files` has the message, or reads a single file
        pass
    return any(file.path not in known for file in list_files(settings))


def check_stored_events(settings: SourceSettings) -> None:
    """As `check_path`, for files of a decision service; also check that this process can read every file.

    The directory is only read: the decision service may be another user, whose files a group can read.

    Raises:
        ConfigError: as `check_path`; or a file cannot be read, with what to do.
    """
    for file in list_files(settings):
        if not os.access(file.path, os.R_OK, effective_ids=True) and Path(file.path).exists():
            raise ConfigError(
                f"`{file.path}`, of source `{settings.name}`, cannot be read: set `service.events_group` where the "
                "decision service runs, put the user of the sync job into that group, and restart both"
            )


def _refuse_all_but_regular(path: str, mode: int, settings: SourceSettings) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise ConfigError(f"`{path}`, of source `{settings.name}`, is {what}; only regular files are read")
    if stat.S_ISREG(mode) and path.lower().endswith(_COMPRESSED):
        raise ConfigError(
            f"`{path}`, of source `{settings.name}`, is compressed, so its size is unknown; decompress it, or "
            "end `path` with a pattern that leaves it out, like `*.log`"
        )
    if _name(path).startswith("."):
        raise ConfigError(
            f"`{settings.path}`, the pattern of source `{settings.name}`, matches the hidden directory `{path}`; end "
            "it like `*.jsonl`"
        )


def _refuse_all_but_utf8(path: str, settings: SourceSettings) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise ConfigError(f"`{shown}`, of source `{settings.name}`, has a name that is not UTF-8; rename it") from None


def is_pattern(path: Path) -> bool:
    """Return whether the path has wildcards."""
    return any(letter in str(path) for letter in _WILDCARDS)


def _absolute(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100  (resolves no links)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _split(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a path before the first with a wildcard, and the others."""
    parts = Path(path).parts
    fixed = next((n for n, part in enumerate(parts) if any(letter in part for letter in _WILDCARDS)), len(parts))
    return parts[:fixed], parts[fixed:]


def _walk(path: Path) -> Iterator[_Found]:
    """Return what is checked: the files to read, what is below their directories, and hidden directories that match."""
    text = _absolute(path)
    if not is_pattern(path):
        # The operator named it, so it may be a link to a directory.
        yield from _below(text, is_read=True) if path.is_dir() else _itself(text, is_read=True)
        return
    named = len(_split(text)[0])
    for one in _without_braces(text):
        fixed, patterns = _split(one)
        yield from _matching(str(Path(*fixed)), patterns, is_read=not any(map(_is_hidden, fixed[named:])))


def _matching(directory: str, patterns: tuple[str, ...], *, is_read: bool) -> Iterator[_Found]:
    """Return the paths that match the patterns of names, one per level below the directory, and all below them."""
    if not patterns:
        yield from _itself(directory, is_read=is_read)
        return
    wanted = _name_pattern(patterns[0])
    for path, found in _entries(directory):
        name = _name(path)
        if not wanted.fullmatch(name):
            continue
        is_directory = stat.S_ISDIR(found.st_mode)
        if is_directory and len(patterns) > 1:
            yield path, found, False
            yield from _matching(path, patterns[1:], is_read=is_read and not _is_hidden(name))
        elif is_directory or (not name.startswith(".") and (len(patterns) == 1 or stat.S_ISLNK(found.st_mode))):
            yield from _itself(path, is_read=is_read)


def _itself(path: str, *, is_read: bool) -> Iterator[_Found]:
    """Return a file; or a directory and all below."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    is_seen = is_read and not _is_hidden(_name(path))
    yield path, found, is_seen
    if stat.S_ISDIR(found.st_mode):
        yield from _below(path, is_read=is_seen)


def _below(directory: str, *, is_read: bool) -> Iterator[_Found]:
    """Return everything below a directory except names with a dot, which Spark skips."""
    for path, found in _entries(directory):
        name = _name(path)
        if name.startswith("."):
            continue
        is_seen = is_read and not _is_hidden(name)
        yield path, found, is_seen
        if stat.S_ISDIR(found.st_mode):
            yield from _below(path, is_read=is_seen and "=" in name)


def _is_hidden(name: str) -> bool:
    return name.startswith(_HIDDEN) or name.endswith(_COPYING)


def _entries(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """Return what is in a directory; nothing if it was deleted or is none."""
    try:
        entries = os.scandir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            try:
                yield entry.path, entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # moved or deleted meanwhile
                continue


def _without_braces(pattern: str) -> list[str]:
    """Expand `{a,b}` in a pattern; the names in braces may contain a slash."""
    found = _ALTERNATIVES.search(pattern)
    if found is None:
        return [pattern]
    return [
        one
        for chosen in found[1].split(",")
        for one in _without_braces(pattern[: found.start()] + chosen + pattern[found.end() :])
    ]


def _name_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of names with Hadoop's syntax."""
    pieces = re.findall(r"\\.|\[[!^]?[^\]]+\]|.", pattern, re.DOTALL)
    return re.compile("".join(map(_expression, pieces)), re.DOTALL)


def _expression(piece: str) -> str:
    if piece in ("*", "?"):
        return {"*": ".*", "?": "."}[piece]
    if piece[0] != "[" or len(piece) == 1:
        return re.escape(piece[-1])
    others = piece[1] in "!^"
    letters = re.escape(piece[2:-1] if others else piece[1:-1]).replace(r"\-", "-")
    return f"[{'^' if others else ''}{letters}]"
