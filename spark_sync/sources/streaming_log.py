"""The files that Spark's Structured Streaming has read, by its checkpoint. Without Spark.

Of each batch of files, `sources/0/<n>` of the checkpoint has a line `v1` and then one JSON object per file; every few
batches `<n>.compact` has all files until then. `commits/<q>` exists once the query's batch `q` is finished;
`offsets/<q>`, its third line, names the last batch of files in it. Spark deletes older files of each of these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from ranger_cdap.errors import SyncError

_COMPACT: Final = ".compact"
_LINE_OF_SOURCE: Final = 2


class _Offset(msgspec.Struct):
    logOffset: int  # noqa: N815  (Spark's name)


class _FileEntry(msgspec.Struct):
    path: str
    batchId: int  # noqa: N815  (Spark's name)


def streamed_files(checkpoint: Path) -> list[str]:
    """Return the local paths of the files that finished batches of a streaming query have read; none if never started.

    Raises:
        SyncError: the checkpoint cannot be read.
    """
    try:
        finished = _numbers(checkpoint / "commits")
        if not finished:
            return []
        offset = (checkpoint / "offsets" / str(max(finished))).read_bytes().splitlines()[_LINE_OF_SOURCE]
        last = msgspec.json.decode(offset, type=_Offset).logOffset
        entries = [entry for path in _logs(checkpoint / "sources" / "0") for entry in _entries(path)]
        if all(entry.batchId != last for entry in entries):  # a batch has files
            raise FileNotFoundError(last)
    except (OSError, IndexError, ValueError) as e:  # what msgspec raises is a ValueError
        raise SyncError(
            f"the checkpoint `{checkpoint}` of an earlier release cannot be read ({type(e).__name__}); restore it, or "
            "move it away: then every file is read again, and events already known count once"
        ) from e
    return [_local(entry.path) for entry in entries if entry.batchId <= last]


def _numbers(directory: Path, suffix: str = "") -> list[int]:
    """Return the numbers that are names of files with the suffix; none if the directory is missing."""
    try:
        names = [path.name for path in directory.iterdir()]
    except FileNotFoundError:
        return []
    numbers = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return [int(number) for number in numbers if number.isascii() and number.isdigit()]


def _logs(directory: Path) -> list[Path]:
    """Return the newest compacted log and those after it; all if none is compacted."""
    compacted = max(_numbers(directory, _COMPACT), default=None)
    after = sorted(number for number in _numbers(directory) if compacted is None or number > compacted)
    first = [] if compacted is None else [directory / f"{compacted}{_COMPACT}"]
    return [*first, *(directory / str(number) for number in after)]


def _entries(log: Path) -> list[_FileEntry]:
    version, *lines = log.read_bytes().splitlines()
    if version != b"v1":
        raise ValueError(version)
    return [_entry.decode(line) for line in lines]


def _local(uri: str) -> str:
    return "/" + unquote(uri.removeprefix("file:")).lstrip("/")


_entry = msgspec.json.Decoder(_FileEntry)
