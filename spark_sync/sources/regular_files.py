"""Checks that the files of a source are regular: no links, which Spark would follow, and not hidden. Without Spark."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError

_WILDCARDS: Final = "*?[{"
_COMPRESSED: Final = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst")
"""Suffixes by which Spark decompresses files: 5 kB may be 500 MB of lines."""

_ALTERNATIVES: Final = re.compile(r"\{([^{}]*)\}")


def check_path(settings: SourceSettings) -> None:
    """Check the settings of a source that reads files, and the kinds of all files it would read now.

    Guaranteed: no file that existed at the time of the call is a symbolic link, a pipe, a device, a socket or a
    compressed file. Files added later are only checked by the next run. Anyone who can write to the directory could as
    well write lines of their own, so only the program that stores may write to it. The directories of `path` before its
    first wildcard are named by the operator: they may be links.

    Raises:
        ConfigError: `path` is missing or does not exist, or a file is not regular.
    """
    if settings.path is None:
        raise ConfigError(f"source `{settings.name}` needs `path`, the directory of its files")
    if not is_pattern(settings.path) and not settings.path.exists():
        raise ConfigError(f"`{settings.path}`, the directory of source `{settings.name}`, does not exist")
    try:
        for found, mode in _read_files(settings.path):
            _refuse_all_but_regular(found, mode, settings)
    except re.error:
        raise ConfigError(f"`{settings.path}`, of source `{settings.name}`, is not a valid file pattern") from None
    except OSError as e:
        raise ConfigError(f"`{settings.path}` of source `{settings.name}` cannot be read: {e.strerror}") from None


def check_stored_events(settings: SourceSettings) -> None:
    """As `check_path`, for files of a decision service; also check that this process can read every file.

    The directory is only read: the decision service may be another user, whose files a group can read.

    Raises:
        ConfigError: as `check_path`; or a file cannot be read, with what to do.
    """
    check_path(settings)
    if settings.path is None:
        return
    for found, mode in _read_files(settings.path):
        if stat.S_ISREG(mode) and not os.access(found, os.R_OK, effective_ids=True) and found.exists():
            raise ConfigError(
                f"`{found}`, of source `{settings.name}`, cannot be read: set `service.events_group` where the "
                "decision service runs, put the user of the sync job into that group, and restart both"
            )


def _refuse_all_but_regular(found: Path, mode: int, settings: SourceSettings) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise ConfigError(f"`{found}`, of source `{settings.name}`, is {what}; only regular files are read")
    if stat.S_ISREG(mode) and found.name.lower().endswith(_COMPRESSED):
        raise ConfigError(
            f"`{found}`, of source `{settings.name}`, is compressed, so its size is unknown; decompress it, or "
            "end `path` with a pattern that leaves it out, like `*.log`"
        )
    if found.name.startswith("."):
        raise ConfigError(
            f"`{settings.path}`, the pattern of source `{settings.name}`, matches the hidden directory `{found}`; end "
            "it like `*.jsonl`"
        )


def is_pattern(path: Path) -> bool:
    """Return whether the path has wildcards."""
    return any(letter in str(path) for letter in _WILDCARDS)


def fixed_part(path: Path) -> Path:
    """Return the path up to its first wildcard, absolute."""
    parts = Path(os.path.abspath(path)).parts  # noqa: PTH100  (resolves no links)
    fixed = next((n for n, part in enumerate(parts) if any(letter in part for letter in _WILDCARDS)), len(parts))
    return Path(*parts[:fixed])


def _read_files(path: Path) -> Iterator[tuple[Path, int]]:
    """Return the files and directories that Spark would read, and hidden directories that match; each with its mode."""
    if not is_pattern(path):
        yield from _below(path) if path.is_dir() else [(path, path.lstat().st_mode)]
        return
    text = os.path.abspath(path)  # noqa: PTH100  (resolves no links)
    for one in _without_braces(text):
        parts = Path(one).parts
        fixed = next((n for n, part in enumerate(parts) if any(letter in part for letter in _WILDCARDS)), len(parts))
        yield from _matching(Path(*parts[:fixed]), parts[fixed:])


def _matching(directory: Path, patterns: tuple[str, ...]) -> Iterator[tuple[Path, int]]:
    """Return the paths that match the patterns of names, one per level below the directory, and all below them."""
    if not patterns:
        if directory.exists() or directory.is_symlink():
            mode = directory.lstat().st_mode
            yield directory, mode
            if stat.S_ISDIR(mode):
                yield from _below(directory)
        return
    if not directory.is_dir():
        return
    name = _name_pattern(patterns[0])
    for found, mode in _entries(directory):
        if not name.fullmatch(found.name):
            continue
        if stat.S_ISDIR(mode):
            yield found, mode
            yield from _matching(found, patterns[1:]) if len(patterns) > 1 else _below(found)
        elif not found.name.startswith(".") and (len(patterns) == 1 or stat.S_ISLNK(mode)):
            yield found, mode


def _below(directory: Path) -> Iterator[tuple[Path, int]]:
    """Return everything below a directory except hidden names, which Spark skips."""
    for found, mode in _entries(directory):
        if not found.name.startswith("."):
            yield found, mode
            if stat.S_ISDIR(mode):
                yield from _below(found)


def _entries(directory: Path) -> Iterator[tuple[Path, int]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                yield Path(entry.path), entry.stat(follow_symlinks=False).st_mode
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
