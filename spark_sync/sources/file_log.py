"""`FileLog`: the files of a source that were read; each is read once. Without Spark.

`files.jsonl` in the checkpoint of the source has one line per run, `{"files":["/events/1.jsonl"]}`. A line that a kill
or a full disk has cut off counts as not written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.config import Settings, SourceSettings
from ranger_cdap.disk import fsync_directory, replace_file
from ranger_cdap.errors import SyncError, reason
from spark_sync.ledger.ledger_version import CHECKPOINTS
from spark_sync.sources.regular_files import SourceFile

FILE_LOG: Final = "files.jsonl"
"""The file in the checkpoint of a source."""

SLACK: Final = 500
"""Files by which the log may grow beyond twice its size when it was last rewritten."""


def checkpoint_of(settings: Settings, configured: SourceSettings) -> Path:
    """Return the directory that records how far a source was read."""
    return (settings.sync.state_dir / CHECKPOINTS / configured.name).absolute()


class _Run(msgspec.Struct):
    files: list[str]


_Stamp = tuple[int, int, int]


class FileLog:
    """The paths of the files that were read, durable; one process at a time may add to it (the lease).

    A path that was read is never read again while a file of that name exists. Methods raise `SyncError` if the log
    cannot be read or written.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._path = checkpoint / FILE_LOG
        self._stamp: _Stamp | None = None
        self._files: set[str] = set()
        self._rewritten = 0
        self._length = 0

    def unread(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """Return the files that are not in the log, in their order."""
        self._refresh()
        return [file for file in files if file.path not in self._files]

    def paths(self) -> AbstractSet[str]:
        """Return the paths in the log."""
        self._refresh()
        return self._files

    def add(self, files: Iterable[SourceFile]) -> None:
        """Record files, all or none; they are on the disk when this returns."""
        added = [file.path for file in self.unread(files)]
        if not added:
            return
        stamp, self._stamp = self._stamp, None  # whatever fails, the file is read again
        try:
            self._make_directory()
            if stamp is None or len(self._files) + len(added) > 2 * self._rewritten + SLACK:
                paths = [*self._files, *added]
                newest = max(paths)  # says which files are new even if all are gone
                self._rewrite([path for path in paths if path == newest or not _is_gone(path)])
            else:
                self._append(added)
        except OSError as e:
            raise SyncError(f"`{self._path}` cannot be written: {reason(e)}") from e

    def _refresh(self) -> None:
        """Read the log unless it is as it was left."""
        try:
            with self._path.open("rb") as file:
                stamp = _stamp_of(os.fstat(file.fileno()))
                if stamp == self._stamp:
                    return
                content = file.read()
        except FileNotFoundError:
            self._stamp, self._files = None, set()
            return
        except OSError as e:
            raise SyncError(f"`{self._path}` cannot be read: {reason(e)}") from e
        *lines, cut_off = content.split(b"\n")
        runs = [self._read(line, number) for number, line in enumerate(lines, start=1)]
        self._files = {path for run in runs for path in run.files}
        self._rewritten = len(runs[0].files) if runs else 0
        self._length, self._stamp = len(content) - len(cut_off), stamp

    def _read(self, line: bytes, number: int) -> _Run:
        try:
            return _run.decode(line)
        except ValueError as e:
            raise SyncError(
                f"line {number} of `{self._path}` is damaged; restore the file, or delete it: then every file is read "
                "again, and events already known count once"
            ) from e

    def _make_directory(self) -> None:
        checkpoint = self._path.parent
        for directory in (checkpoint.parent, checkpoint):
            if not directory.exists():
                directory.mkdir(mode=0o700)
                fsync_directory(directory.parent)

    def _rewrite(self, files: list[str]) -> None:
        replace_file(self._path, [_line(files)])
        self._files, self._rewritten = set(files), len(files)
        found = self._path.stat()
        self._length, self._stamp = found.st_size, _stamp_of(found)

    def _append(self, added: list[str]) -> None:
        # Only the run that holds the lease writes, so the log still has the length that was read.
        with os.fdopen(os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "r+b") as file:
            file.truncate(self._length)  # a line that was cut off
            file.seek(self._length)
            file.write(_line(added))
            file.flush()
            os.fsync(file.fileno())
            found = os.fstat(file.fileno())
        self._files.update(added)
        self._length, self._stamp = found.st_size, _stamp_of(found)


def _line(files: list[str]) -> bytes:
    return msgspec.json.encode(_Run(files)) + b"\n"


def _stamp_of(found: os.stat_result) -> _Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _is_gone(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # it may still be there
        return False
    return False


_run = msgspec.json.Decoder(_Run)
