"""The files of a source: which are read, and that they are regular: no links. Without Spark.

`path` is a file, a directory, of which the files directly in it are read, or a pattern. Nothing hidden is read or
passed: no name that begins with a dot or an underscore.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from ranger_cdap.config import SourceSettings, StoreUrl, named
from ranger_cdap.errors import ConfigError
from ranger_cdap.store import entries, file_size
from ranger_cdap.wire.event_names import absolute
from spark_sync.ledger.ledger_health import reason_of

_WILDCARDS: Final = frozenset("*?[")
_COMPRESSED: Final = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst")
"""Suffixes by which Spark decompresses files: 5 kB may be 500 MB of lines."""

_HIDDEN: Final = (".", "_")
_COPYING: Final = "._COPYING_"
"""Suffix of a file that Hadoop has not finished copying."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read, and its size in bytes."""

    path: str
    size: int


def list_files(settings: SourceSettings) -> list[SourceFile]:
    """Check the settings of a source that reads files, and return the files to read by absolute path, sorted.

    Guaranteed: none is a symbolic link, a pipe, a device, a socket or a compressed file. Files added later are only
    checked by the next run. Anyone who can write to the directory could as well write lines of their own, so only the
    program that stores may write to it. The directories of `path` before its first wildcard are named by the operator:
    they may be links. A file must be complete when it appears under its name (move it in).

    Raises:
        ConfigError: `path` is missing or does not exist, a file is not regular, or its name is not UTF-8.
    """
    if settings.path is None:
        raise ConfigError(f"source `{settings.name}` needs `path`, the directory of its files")
    if isinstance(settings.path, StoreUrl):
        return _list_objects(settings, settings.path)
    if not _is_pattern(settings.path) and not settings.path.exists():
        raise ConfigError(f"`{settings.path}`, the directory of source `{settings.name}`, does not exist")
    files = []
    try:
        for path, found in _matching(*_split(settings.path)):
            _refuse_all_but_regular(path, found.st_mode, settings)
            files.append(SourceFile(path, found.st_size))
    except OSError as e:
        raise ConfigError(f"`{settings.path}` of source `{settings.name}` cannot be read: {e.strerror}") from None
    return sorted(files, key=lambda file: file.path)


def has_others(settings: SourceSettings, known: AbstractSet[str]) -> bool:
    """Return whether `list_files` returns other files than the known paths; it may refuse one instead.

    Of a directory only names are read, about 1 µs each; with patterns it is `list_files`.

    Raises:
        ConfigError: as `list_files`.
    """
    if isinstance(settings.path, Path) and not _is_pattern(settings.path):
        try:
            with os.scandir(absolute(settings.path)) as entries:
                others = [entry for entry in entries if not _is_hidden(entry.name) and entry.path not in known]
                if all(entry.is_dir(follow_symlinks=False) for entry in others):
                    return False
        except OSError:  # `list_files` has the message, or reads a single file
            pass
    return any(file.path not in known for file in list_files(settings))


def check_stored_events(settings: SourceSettings) -> None:
    """As `list_files`, for files of a decision service; also check that this process can read every file.

    The directory is only read: the decision service may be another user, whose files a group can read.

    Raises:
        ConfigError: as `list_files`; or a file cannot be read, with what to do.
    """
    for file in list_files(settings):
        at = named(file.path)
        if isinstance(at, Path) and not os.access(at, os.R_OK, effective_ids=True) and at.exists():
            raise ConfigError(
                f"`{file.path}`, of source `{settings.name}`, cannot be read: set `service.events_group` where the "
                "decision service runs, put the user of the sync job into that group, and restart both"
            )


def _list_objects(settings: SourceSettings, path: StoreUrl) -> list[SourceFile]:
    """As `list_files`, of a shared file system, which has files and directories only."""
    parts = path.path.split("/")
    fixed = next((n for n, part in enumerate(parts) if not _WILDCARDS.isdisjoint(part)), len(parts))
    directory, found = replace(path, path="/".join(parts[:fixed])), list[SourceFile]()
    try:
        if fixed == len(parts) and (size := file_size(path)) is not None:
            found = [SourceFile(str(path), size)]
        else:
            found = sorted(_objects(directory, *(parts[fixed:] or "*")), key=lambda file: file.path)
    except FileNotFoundError:
        raise ConfigError(
            f"`{path}`, the directory of source `{settings.name}`, does not exist, or an object store has no file in it"
        ) from None
    except OSError as e:
        raise ConfigError(f"`{path}` of source `{settings.name}` cannot be read: {reason_of(e)}") from e
    for file in found:
        _refuse_all_but_regular(file.path, stat.S_IFREG, settings)
    return found


def _objects(directory: StoreUrl, wanted: str, *below: str) -> Iterator[SourceFile]:
    for entry in entries(directory):
        if _is_hidden(entry.name) or not fnmatchcase(entry.name, wanted):
            continue
        if entry.size is None and below:
            yield from _objects(directory / entry.name, *below)
        elif entry.size is not None and not below:
            yield SourceFile(str(directory / entry.name), entry.size)


def _refuse_all_but_regular(path: str, mode: int, settings: SourceSettings) -> None:
    if not stat.S_ISREG(mode):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise ConfigError(f"`{path}`, of source `{settings.name}`, is {what}; only regular files are read")
    if path.lower().endswith(_COMPRESSED):
        raise ConfigError(
            f"`{path}`, of source `{settings.name}`, is compressed, so its size is unknown; decompress it, or "
            "end `path` with a pattern that leaves it out, like `*.log`"
        )
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        raise ConfigError(f"`{shown}`, of source `{settings.name}`, has a name that is not UTF-8; rename it") from None


def _is_pattern(path: Path) -> bool:
    return not _WILDCARDS.isdisjoint(str(path))


def _split(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the directory that the operator named, which may be a link, and patterns of names, one per level below."""
    parts = Path(absolute(path)).parts
    if not _is_pattern(path):
        return (absolute(path), ("*",)) if path.is_dir() else (str(Path(*parts[:-1])), parts[-1:])
    fixed = next(n for n, part in enumerate(parts) if not _WILDCARDS.isdisjoint(part))
    return str(Path(*parts[:fixed])), parts[fixed:]


def _matching(directory: str, patterns: tuple[str, ...]) -> Iterator[tuple[str, os.stat_result]]:
    """Return what matches the patterns and is no directory, and every link on the way."""
    wanted, *below = patterns
    for entry, found in _entries(directory):
        if _is_hidden(entry.name) or not fnmatchcase(entry.name, wanted):
            continue
        if stat.S_ISDIR(found.st_mode):
            if below:
                yield from _matching(entry.path, tuple(below))
        elif not below or stat.S_ISLNK(found.st_mode):
            yield entry.path, found


def _is_hidden(name: str) -> bool:
    return name.startswith(_HIDDEN) or name.endswith(_COPYING)


def _entries(directory: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """Return what is in a directory; nothing if it was deleted or is none."""
    try:
        entries = os.scandir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            try:
                yield entry, entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # moved or deleted meanwhile
                continue
