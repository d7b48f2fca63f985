"""Slices of files: lines of a few megabytes that are read by themselves, whatever a file's size, in bounded memory.

Lines end as Hadoop ends them: at LF, CR or CRLF; a byte order mark at a file's beginning is none of its text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from ranger_cdap.config import StoreUrl, named
from ranger_cdap.errors import ConfigError
from ranger_cdap.ranger_model.strict_json import HALF
from ranger_cdap.store import open_file
from spark_sync.ledger.ledger_health import reason_of
from spark_sync.sources.regular_files import SourceFile

SLICE: Final = 16_000_000
"""Bytes of a slice."""

_PIECE: Final = 1 << 16
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_ENDS: Final = b"\r\n"


@dataclass(frozen=True, slots=True)
class FileSlice:
    """The lines of a file that follow a line feed at or after the byte before `start`, and before `end` if it has one.

    The first slice begins with the file; the last one has no `end`, so that a file that grew is read as a whole.
    """

    path: str
    start: int
    end: int | None


def slices_of(file: SourceFile) -> Iterator[FileSlice]:
    """Yield the slices of a file, at least one, in order: each line is in one of them."""
    starts = range(0, max(file.size, 1), SLICE)
    for start in starts:
        yield FileSlice(file.path, start, None if start == starts[-1] else start + SLICE)


def read_slice(part: FileSlice, source: str) -> Iterator[bytes]:
    """Yield the lines of a slice; of a line that is too long only the ends, joined, and still too long.

    Raises:
        FileNotFoundError, NotADirectoryError: the file was deleted.
        ConfigError: it is no longer regular, or cannot be read; the message names the source.
    """
    try:
        if isinstance(at := named(part.path), StoreUrl):
            with open_file(at) as file:
                yield from _lines(file, _seek(file, part.start), part.end)
            return
        # Without waiting for the writer of a pipe.
        descriptor = os.open(part.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"`{part.path}`, of source `{source}`, cannot be read: it is not a regular file")
            yield from _lines(file, _seek(file, part.start), part.end)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as e:
        raise ConfigError(f"`{part.path}`, of source `{source}`, cannot be read: {e.strerror or reason_of(e)}") from e


def _seek(file: BinaryIO, start: int) -> int:
    """Move to the first line of a slice, and return its place."""
    if not start:
        if file.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK:
            return len(_BYTE_ORDER_MARK)
        return file.seek(0)
    at = file.seek(start - 1)
    while piece := file.readline(_PIECE):
        at += len(piece)
        if piece.endswith(b"\n"):
            break
    return at


def _lines(file: BinaryIO, at: int, end: int | None) -> Iterator[bytes]:
    """Yield the lines from `at`, where the file is, to the first line feed at or after the byte before `end`."""
    line, piece, ended = b"", b"", end is not None and at >= end
    while not ended:
        half_ended = piece.endswith(b"\r")
        if not (piece := file.readline(_PIECE)):
            break
        at += len(piece)
        ended = end is not None and at >= end and piece.endswith(b"\n")
        if half_ended and piece == b"\n":
            continue
        if not line and b"\r" not in piece and piece.endswith(b"\n"):  # as nearly all
            yield piece[:-1]
            continue
        *whole, rest = piece.splitlines(keepends=True)
        for one in whole:
            yield _shortened(line + one.rstrip(_ENDS))
            line = b""
        line = _shortened(line + rest.rstrip(_ENDS))
        if rest[-1:] in (b"\r", b"\n"):
            yield line
            line = b""
    if line:
        yield line


def _shortened(line: bytes) -> bytes:
    return line if len(line) <= 2 * HALF else line[:HALF] + line[-HALF:]
