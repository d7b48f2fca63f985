"""Check the sources of the sync job: it can read their files, and only their owner can write them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from ranger_cdap.config import Location, SourceSettings
from ranger_cdap.config.secret_files import Program
from ranger_cdap.doctor.finding import Finding, failed, note, skipped, well
from ranger_cdap.doctor.users import ROOT, LocalUser, Users, name_of
from ranger_cdap.errors import reason
from spark_sync.sources.service_watermarks import PATTERN

_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_HADOOP_S: Final = re.compile(r"[{\\^]|\*\*")


def examine_sources(sources: Iterable[SourceSettings], users: Users) -> Iterator[Finding]:
    """Check the sources: anyone who can write to one can become a creator, so only its owner may write."""
    return (_examine(source, source.path, users) for source in sources if source.path is not None)


def _examine(source: SourceSettings, path: Location, users: Users) -> Finding:
    check = f"files of source `{source.name}`"
    if not isinstance(path, Path):
        return skipped(check, f"`{path}` is of another file system; only CDAP may write there")
    directory = _above_the_pattern(path.absolute())
    try:
        if not directory.exists():
            return note(check, f"`{directory}` does not exist", "nothing to do if the sync job runs on another machine")
        open_to_others = next(_open_to_others(path.absolute(), directory), None)
        unreadable = _unreadable(path.absolute(), directory, users)
        owner = directory.stat().st_uid
    except OSError as e:
        seen = f"`{e.filename or directory}` cannot be examined: {reason(e)}"
        if users.of_viewer == {Program.SYNC}:
            return failed(check, seen, _advice(source, users.viewer))
        if users.of_viewer:
            return skipped(check, f"{seen}; run this as the user of the sync job as well")
        return failed(check, seen, "run this as the user of the sync job")
    if open_to_others is not None:
        return failed(
            check,
            f"`{open_to_others}` can be written by others, who could become creators",
            "let only CDAP, or the service that stores for it, write there (chmod go-w)",
        )
    if unreadable is not None:
        reader = users.runs[Program.SYNC]
        return failed(
            check, f"user {reader}, who runs the sync job, cannot read `{unreadable}`", _advice(source, reader)
        )
    return well(check, f"`{directory}` can be written by its owner alone, user {name_of(owner)}")


def _unreadable(path: Path, directory: Path, users: Users) -> Path | None:
    """Return the first file that the sync job's user cannot read, if root or that user runs the check."""
    reader = users.runs.get(Program.SYNC)
    if reader is None or users.viewer.uid not in (ROOT, reader.uid):
        return None
    if not reader.can(directory, os.R_OK | os.X_OK if directory.is_dir() else os.R_OK):
        return directory
    for place in _read_from(path, directory):
        with suppress(FileNotFoundError):  # removed meanwhile
            status = place.lstat()
            if not place.name.startswith(".") and stat.S_ISREG(status.st_mode) and not reader.may(status, os.R_OK):
                return place
    return None


def _advice(source: SourceSettings, reader: LocalUser) -> str:
    name = str(reader).strip("`")
    if source.kind == "data-plane":
        return f"set `service.events_group` where the decision service runs, then usermod -aG that group {name}"
    return f"let user {name} read it and write nothing, by a group of that user's"


def _above_the_pattern(path: Path) -> Path:
    """Return the part of the path before any wildcard."""
    for n, part in enumerate(path.parts):
        if PATTERN.search(part):
            return Path(*path.parts[:n])
    return path


def _open_to_others(path: Path, directory: Path) -> Iterator[Path]:
    """Return where others could add or change an event, or replace a directory."""
    for place in _read_from(path, directory):
        between = (above for above in place.parents if above != directory and above.is_relative_to(directory))
        yield from _writable((place, *between))
    yield from _writable((directory,))
    for above in dict.fromkeys((*directory.parents, *directory.resolve().parents)):
        mode = above.stat().st_mode
        if mode & _OTHERS and not mode & stat.S_ISVTX:
            yield above


def _read_from(path: Path, directory: Path) -> Iterator[Path]:
    """Return the files a source reads, or more where Hadoop's pattern is not a Python one."""
    if directory == path:
        return path.iterdir() if path.is_dir() else iter((path,))
    pattern = str(path.relative_to(directory))
    return directory.rglob("*") if _HADOOP_S.search(pattern) else directory.glob(pattern)


def _writable(places: Iterable[Path]) -> Iterator[Path]:
    """Yield the places that others can write to; those removed meanwhile are skipped."""
    for place in places:
        with suppress(FileNotFoundError):
            if place.stat().st_mode & _OTHERS:
                yield place
