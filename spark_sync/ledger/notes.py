"""`Notes`: how far a ledger is, in a table of its own, so that a copy of the tables is a copy of all there is to know.

Lost notes cost only time: everything is read and folded again, which changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from ranger_cdap.config import StoreUrl, named
from ranger_cdap.errors import SyncError
from ranger_cdap.ranger_model.json_text import decode
from ranger_cdap.store import is_there
from spark_sync.ledger.ledger_queries import NEWEST_NOTES
from spark_sync.ledger.ledger_rows import FILES, NOTES, Row, batches
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.ledger_version import TableVersion

_T = TypeVar("_T")


@dataclass(eq=False, slots=True)
class Notes:
    """The tables `notes` and `files` of a ledger, for one CDAP instance; read again only if they changed.

    Methods raise `SyncError` if the tables cannot be read or written.
    """

    tables: LedgerTables
    instance: str
    _seen: dict[str, TableVersion] = field(default_factory=dict)
    _notes: dict[tuple[str, str], Row] = field(default_factory=dict)
    _files: dict[str, set[str]] = field(default_factory=dict)

    def read(self, name: str, kind: type[_T]) -> _T | None:
        """Return what was noted last by that name."""
        self._refresh("notes", self._read_notes)
        row = self._notes.get((self.instance, name))
        if row is None:
            return None
        return decode(
            row["value"],
            kind,
            lambda why: SyncError(f"the ledger's note `{name}` cannot be read ({why}); is it of another version?"),
        )

    def write(self, name: str, value: object) -> None:
        """Note a value in place of the last one of that name."""
        self._refresh("notes", self._read_notes)
        last = max((row["sequence"] for row in self._notes.values()), default=0)
        text = msgspec.json.encode(value).decode()
        self.tables.write(
            "notes",
            batches(NOTES, [{"instance": self.instance, "name": name, "value": text, "sequence": last + 1}]),
        )

    def files_read(self, source: str) -> AbstractSet[str]:
        """Return the paths of the files of a source that were read."""
        self._refresh("files", self._read_files)
        return self._files.get(source, set())

    def add_files(self, source: str, paths: Iterable[str]) -> None:
        """Note that files were read, all or none. None of them is read again while a file of that name exists."""
        if new := sorted(set(paths) - self.files_read(source)):
            self.tables.write("files", batches(FILES, ({"source": source, "path": path} for path in new)))
            # Only the holder of the lease writes: what was added is all that changed.
            self._files.setdefault(source, set()).update(new)
            self._seen["files"] = self.tables.versions()["files"]

    def prune(self) -> None:
        """Forget the files that are gone, but for the newest of each source: it says which files are new."""
        self._refresh("files", self._read_files)
        newest = {max(paths) for paths in self._files.values()}
        self.forget_files(lambda path: path not in newest and is_gone(path))

    def forget_files(self, is_forgotten: Callable[[str], bool]) -> None:
        """Forget some of the files that were read: one that is there will be read again."""
        self._refresh("files", self._read_files)
        known = [{"source": source, "path": path} for source, paths in self._files.items() for path in sorted(paths)]
        kept = [row for row in known if not is_forgotten(row["path"])]
        if len(kept) < len(known):
            self.tables.write("files", batches(FILES, kept), replacing=True)

    def _refresh(self, name: str, read: Callable[[], None]) -> None:
        if (version := self.tables.versions()[name]) != self._seen.get(name):
            read()
            self._seen[name] = version

    def _read_notes(self) -> None:
        self._notes = {(row["instance"], row["name"]): row for row in self.tables.query(NEWEST_NOTES)}

    def _read_files(self) -> None:
        files: dict[str, set[str]] = {}
        for row in self.tables.query("SELECT source, path FROM files"):
            files.setdefault(row["source"], set()).add(row["path"])
        self._files = files


def is_gone(path: str) -> bool:
    """Return whether a file is certainly not there."""
    try:
        if isinstance(at := named(path), StoreUrl):
            return not is_there(at)
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # it may still be there
        return False
    return False
