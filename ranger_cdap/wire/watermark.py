"""The watermark of a directory of events: everything that was received before it is in a published file.

The sync job reads it with the files: anything that could contradict a record was journalled before it, so that the
record can be decided as soon as the watermark has passed it. The id changes when the directory, and with it the
journal, is lost.
"""

from __future__ import annotations

import os
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.disk import fsync_directory
from ranger_cdap.ranger_model.json_text import Undecodable, decode
from ranger_cdap.wire.event_access import EventAccess

WATERMARK: Final = ".watermark"
JOURNAL_ID: Final = "journal-id"

_VERSION: Final = 1
_ID: Final = re.compile("[0-9a-f]{32}")


class Watermark(msgspec.Struct, frozen=True):
    """Content of the file `.watermark`.

    `service` is the id of the journal, `watermark` is in epoch milliseconds. `records`: whether CDAP's extension
    delivers records, by its last handshake; None before the first. `since`: when the journal began, in epoch
    milliseconds, and `newest`: the time in the name of the last published file; 0 if unknown.
    """

    v: int
    service: str
    watermark: int
    records: bool | None
    since: int = 0
    newest: int = 0


@dataclass(frozen=True, slots=True)
class WatermarkFile:
    """Watermark of a directory; `incoming` is where a file is written before it is moved.

    The watermark has the permissions of `access`; the id of the journal is for its owner only.
    """

    directory: Path
    incoming: Path
    access: EventAccess = field(default_factory=EventAccess)

    def read(self) -> Watermark | None:
        """Return the last watermark; None if there is none that can be read."""
        with suppress(OSError, Undecodable):
            found = decode((self.directory / WATERMARK).read_bytes(), Watermark)
            return found if found.v == _VERSION else None
        return None

    def write(self, mark: int, records: bool | None, newest: int = 0) -> None:
        """Replace it durably.

        Raises:
            OSError: the disk fails; the previous one stays.
        """
        service = self._journal_id()
        since = (self.incoming / JOURNAL_ID).stat().st_mtime_ns // 1_000_000
        content = msgspec.json.encode(Watermark(_VERSION, service, mark, records, since, newest)) + b"\n"
        self._replace(self.directory / WATERMARK, content, self.access)

    def _journal_id(self) -> str:
        path = self.incoming / JOURNAL_ID
        with suppress(FileNotFoundError):
            text = path.read_text(encoding="ascii", errors="replace").strip()
            if _ID.fullmatch(text):
                return text
        made = uuid.uuid4().hex
        self._replace(path, made.encode(), EventAccess())
        return made

    def _replace(self, path: Path, content: bytes, access: EventAccess) -> None:
        written = self.incoming / f"{path.name}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(written, flags, 0o600), "wb") as file:
            access.give_file(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
        fsync_directory(path.parent)
