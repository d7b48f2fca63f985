"""Event files of a decision service that were deleted before they were read: a ledger that went back is noticed so."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from ranger_cdap.config import SourceSettings
from ranger_cdap.disk import os_errors_as
from ranger_cdap.errors import SyncError
from ranger_cdap.wire.event_names import absolute, event_name, gone_files, missing_in, names_in
from ranger_cdap.wire.watermark import Watermark
from spark_sync.ledger.ledger_version import lost
from spark_sync.sources.service_watermarks import watermark_file

_UNREADABLE: Final = "`{0.path}` of source `{0.name}` cannot be read"


def check_files(source: SourceSettings, mark: Watermark | None, read: AbstractSet[str]) -> None:
    """Check that no file was deleted that is not among the paths `read`; `mark`: the source's watermark, from before.

    Without one, as of other sources, nothing is known.

    Raises:
        LedgerLost: one was; or the ledger is a copy from before it was read.
        SyncError: the directory cannot be read.
    """
    file = watermark_file(source)
    if mark is None or file is None:
        return
    with os_errors_as(SyncError, _UNREADABLE.format(source)):
        missing = missing_in(file.parent, read, mark.newest)
    if missing:
        raise lost(
            f"`{file.parent}/{missing:015d}-….jsonl` is gone and not in the ledger: it was deleted before it was read,"
            " or the ledger is a copy from before; put such files back or, if they are lost"
        )


def gone_as_read(source: SourceSettings, mark: Watermark | None) -> str | None:
    """Return the path of the newest file that is gone; once it is among those that were read, none is missing.

    Raises:
        SyncError: as `check_files`.
    """
    file = watermark_file(source)
    if mark is None or file is None:
        return None
    with os_errors_as(SyncError, _UNREADABLE.format(source)):
        gone = gone_files(names_in(file.parent), mark.newest)
    return f"{absolute(file.parent)}/{event_name(max(gone, default=0), 0)}"
