"""`News`: whether a run would find something, by a look at files only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ranger_cdap.config import SyncSettings
from ranger_cdap.wire.watermark import Watermark
from spark_sync.report import RunReport
from spark_sync.sources import service_watermarks
from spark_sync.sources.registry import configured_sources
from spark_sync.sources.regular_files import has_others

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger


class News:
    """Callable: there is news if a file was not read yet, or events wait for a watermark and one has moved.

    Other sources, overrides and the end of a hold-back are no news: they wait for the next regular run.
    """

    def __init__(self, settings: SyncSettings, ledger: DeltaLedger) -> None:
        """Raises: ConfigError: a source cannot be used."""
        self._sources = settings.sources
        self._ledger = ledger
        self._of_files = [configured for configured, source in configured_sources(settings) if source.stream is None]
        self._marks: Mapping[str, Watermark] = {}
        self._waiting = False

    def run_begins(self) -> None:
        """Note the watermarks before a run, which decides at least as far."""
        self._marks = service_watermarks.read(self._sources)

    def run_ended(self, report: RunReport) -> None:
        """Note whether events wait after a run."""
        self._waiting = report.undecided

    def __call__(self) -> bool:
        """Return whether there is news.

        Raises:
            ConfigError: a file of a source cannot be read.
            SyncError: the ledger cannot be read.
        """
        if self._waiting and service_watermarks.read(self._sources) != self._marks:
            return True
        return any(has_others(each, self._ledger.notes.files_read(each.name)) for each in self._of_files)
