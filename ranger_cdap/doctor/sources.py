"""Who else can write what the sync job believes: the files of its sources, and the directories they are in."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from ranger_cdap.config import Settings
from ranger_cdap.doctor.finding import Finding, failed, note, skipped, well
from ranger_cdap.errors import reason

_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_PATTERN: Final = re.compile(r"[*?\[{\\]")
_HADOOP_S: Final = re.compile(r"[{\\^]|\*\*")


def examine_sources(settings: Settings) -> Iterator[Finding]:
    """Whoever can write to a source can make himself a creator, so nobody but its owner may."""
    for source in settings.sync.sources:
        if source.path is not None:
            yield _examine(f"files of source `{source.name}`", source.path)


def _examine(check: str, path: Path) -> Finding:
    if any(part.endswith(":") for part in path.parts):
        return skipped(check, f"`{path}` is of another file system; nobody but CDAP may write there")
    directory = _above_the_pattern(path.absolute())
    try:
        if not directory.exists():
            return note(check, f"`{directory}` is not there", "nothing to do if the sync job runs on another machine")
        open_to_others = next(_open_to_others(path.absolute(), directory), None)
        owner = directory.stat().st_uid
    except OSError as e:
        seen = f"`{e.filename or directory}` can't be looked at: {reason(e)}"
        return failed(check, seen, "run this as the user the sync job runs as")
    if open_to_others is not None:
        seen = f"`{open_to_others}` can be written by others, who could make themselves creators"
        return failed(check, seen, "let nobody write there but CDAP, or what stores for it (chmod go-w)")
    return well(check, f"`{directory}` can be written by its owner alone, user {owner}")


def _above_the_pattern(path: Path) -> Path:
    """The path as far as it names one thing."""
    for n, part in enumerate(path.parts):
        if _PATTERN.search(part):
            return Path(*path.parts[:n])
    return path


def _open_to_others(path: Path, directory: Path) -> Iterator[Path]:
    """Where others could put or change an event, or put another directory in the place of one."""
    for place in _read_from(path, directory):
        between = (above for above in place.parents if above != directory and above.is_relative_to(directory))
        yield from _writable((place, *between))
    yield from _writable((directory,))
    for above in dict.fromkeys((*directory.parents, *directory.resolve().parents)):
        mode = above.stat().st_mode
        if mode & _OTHERS and not mode & stat.S_ISVTX:
            yield above


def _read_from(path: Path, directory: Path) -> Iterator[Path]:
    """What a source reads, or more where Hadoop's pattern is not one of ours."""
    if directory == path:
        return path.iterdir() if path.is_dir() else iter((path,))
    pattern = str(path.relative_to(directory))
    return directory.rglob("*") if _HADOOP_S.search(pattern) else directory.glob(pattern)


def _writable(places: Iterable[Path]) -> Iterator[Path]:
    """Those of the places that others can write to; what is gone meanwhile nobody can."""
    for place in places:
        with suppress(FileNotFoundError):
            if place.stat().st_mode & _OTHERS:
                yield place
