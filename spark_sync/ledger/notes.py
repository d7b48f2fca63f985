"""`Notes`: how far a ledger is, in a table of its own, so that a copy of the tables is a copy of all there is to know.

Lost notes cost only time: everything is read and folded again, which changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import msgspec

from ranger_cdap.config import StoreUrl, named
from ranger_cdap.errors import SyncError
from ranger_cdap.keyed import grouped_once
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
    _seen: dict[str, tuple[TableVersion, Any]] = field(default_factory=dict)

    def read(self, name: str, kind: type[_T]) -> _T | None:
        """Return what was noted last by that name."""
        row = self._notes().get((self.instance, name))
        if row is None:
            return None
        return decode(
            row["value"],
            kind,
            lambda why: SyncError(f"the ledger's note `{name}` cannot be read ({why}); is it of another version?"),
        )

    def write(self, name: str, value: object) -> None:
        """Note a value in place of the last one of that name."""
        last = max((row["sequence"] for row in self._notes().values()), default=0)
        text = msgspec.json.encode(value).decode()
        self.tables.write(
            "notes",
            batches(NOTES, [{"instance": self.instance, "name": name, "value": text, "sequence": last + 1}]),
        )

    def files_read(self, source: str) -> AbstractSet[str]:
        """Return the paths of the files of a source that were read."""
        return self._files().get(source, set())

    def add_files(self, source: str, paths: Iterable[str]) -> None:
        """Note that files were read, all or none. None of them is read again while a file of that name exists."""
        if new := sorted(set(paths) - self.files_read(source)):
            self.tables.write("files", batches(FILES, ({"source": source, "path": path} for path in new)))
            # Only the holder of the lease writes: what was added is all that changed.
            _, files = self._seen["files"]
            files.setdefault(source, set()).update(new)
            self._seen["files"] = self.tables.versions()["files"], files

    def prune(self) -> None:
        """Forget the files that are gone, but for the newest of each source: it says which files are new."""
        newest = {max(paths) for paths in self._files().values()}
        self.forget_files(lambda path: path not in newest and is_gone(path))

    def forget_files(self, is_forgotten: Callable[[str], bool]) -> None:
        """Forget some of the files that were read: one that is there will be read again."""
        known = [{"source": source, "path": path} for source, paths in self._files().items() for path in sorted(paths)]
        kept = [row for row in known if not is_forgotten(row["path"])]
        if len(kept) < len(known):
            self.tables.write("files", batches(FILES, kept), replacing=True)

    def _notes(self) -> dict[tuple[str, str], Row]:
        rows = partial(self.tables.query, NEWEST_NOTES)
        return self._newest("notes", lambda: {(row["instance"], row["name"]): row for row in rows()})

    def _files(self) -> dict[str, set[str]]:
        rows = partial(self.tables.query, "SELECT source, path FROM files")
        return self._newest("files", lambda: grouped_once((row["source"], row["path"]) for row in rows()))

    def _newest(self, name: str, read: Callable[[], _T]) -> _T:
        if (version := self.tables.versions()[name]) != self._seen.get(name, ("",))[0]:
            self._seen[name] = version, read()
        found: _T = self._seen[name][1]
        return found


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
