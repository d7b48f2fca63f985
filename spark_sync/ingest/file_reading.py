"""Reading of a few small files in this process: the same lines, events and dead letters as by Spark. Without Spark.

Any difference from `Extraction` on `read_files` would make a result depend on how much is read at once. Files have less
than 4 MiB; larger ones Spark may split, and counts the lines of dead letters from there.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError, reason
from spark_sync.ingest.dead_letters import MOST_OF_A_FILE, DeadLetter
from spark_sync.ledger.event import EntityEvent
from spark_sync.sources.line_reader import LineReader, read_line
from spark_sync.sources.regular_files import SourceFile

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_PLAIN_IN_URIS: Final = "/;:@&=+$,-_.!~*'()"


@dataclass(frozen=True, slots=True)
class FilesReading:
    """Content of files: those that existed, the number of their lines, the events, each id once, the dead letters."""

    files: tuple[SourceFile, ...]
    lines: int
    events: tuple[EntityEvent, ...]
    dead_letters: tuple[DeadLetter, ...]


def read_lines(
    files: Iterable[SourceFile], reader: LineReader, settings: SourceSettings, instance: str, now: int
) -> FilesReading:
    """Read files that `list_files` has found, a few MB in all; one that was deleted since is skipped.

    `now` is the time of the run, in epoch milliseconds.

    Raises:
        ConfigError: a file is no longer regular, or cannot be read.
    """
    contents = {file: content for file in files if (content := _content(file.path, settings)) is not None}
    count = 0
    events: dict[str, EntityEvent] = {}
    letters: list[DeadLetter] = []
    for file, content in sorted(contents.items(), key=lambda each: file_uri(each[0].path)):
        rejected = []
        for number, raw in enumerate(lines_of(content), start=1):
            count += 1
            reading = read_line(reader, raw, settings, instance, now)
            for event in reading.events:
                known = events.setdefault(event.id, event)
                if known is not event and _order(event) < _order(known):
                    events[event.id] = event
            if reading.rejected is not None:
                rejected.append((number, reading.rejected, reading.shown or ""))
        letters += _letters(settings.name, file_uri(file.path), rejected)
    return FilesReading(tuple(contents), count, tuple(events.values()), tuple(letters))


def lines_of(content: bytes) -> list[bytes]:
    """Return the lines of a file as Hadoop splits them: at LF, CR or CRLF, without the byte order mark."""
    return content.removeprefix(_BYTE_ORDER_MARK).splitlines()


def file_uri(path: str) -> str:
    """Return the URI by which Spark calls a local file: Java's, in which only a part of all letters is encoded."""
    return "file:" + "".join(quote(each, safe=_PLAIN_IN_URIS) if _is_encoded(each) else each for each in path)


def _is_encoded(letter: str) -> bool:
    return letter.isascii() or unicodedata.category(letter) in ("Cc", "Zl", "Zp", "Zs")


def _content(path: str, settings: SourceSettings) -> bytes | None:
    """Return the bytes of a file; `None` if it was deleted."""
    try:
        # Without waiting for the writer of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return file.read()
            why = "it is not a regular file"
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        why = reason(e)
    raise ConfigError(f"`{path}`, of source `{settings.name}`, cannot be read: {why}")


def _order(event: EntityEvent) -> tuple[Any, ...]:
    """Return the order of events of one id, of which the first counts: that of the columns in Spark."""
    from spark_sync.ledger.ledger_rows import NEW_EVENTS, event_row

    row = event_row("", event)
    return tuple(row[name] for name in NEW_EVENTS.names)


def _letters(source: str, file: str, rejected: list[tuple[int, str, str]]) -> Iterator[DeadLetter]:
    """Return the dead letters of a file from its rejected lines: number, reason and text."""
    for number, why, text in islice(rejected, MOST_OF_A_FILE):
        yield DeadLetter(source, file, 0, number, why, text)
    if (more := len(rejected) - MOST_OF_A_FILE) > 0:
        last, _, _ = rejected[MOST_OF_A_FILE - 1]
        yield DeadLetter(source, file, 0, last, f"{more:,} more lines of this file were rejected", "", more)
