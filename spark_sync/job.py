"""One run of the sync job: read what is new, fold it into lives, send Ranger what the ledger owes, record what came."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession

from ranger_cdap.cdap.entity import entity_types
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.config import Settings, SourceSettings
from spark_sync.configured import configured_sources
from spark_sync.delta_ledger import DeltaLedger
from spark_sync.extraction import DeadLetter, Extraction
from spark_sync.fold import SAME_CREATION, FoldSettings
from spark_sync.lease import lease
from spark_sync.ledger import Ledger
from spark_sync.ledger_mark import confirm, remember
from spark_sync.life import State
from spark_sync.plan import TakeBack, TakeOut
from spark_sync.push import non_creators, planned, push
from spark_sync.refold import refold
from spark_sync.report import RunReport, SourceReport
from spark_sync.sources.registry import ranks
from spark_sync.sources.source import EventSource
from spark_sync.spark_errors import spark_errors
from spark_sync.upkeep import is_due, tidy
from spark_sync.writer import PolicyRest

CHECKPOINTS = "checkpoints"
DEAD_LETTERS = "dead-letters.jsonl"

Progress = Callable[[str], None]


def run_once(
    settings: Settings,
    spark: SparkSession,
    *,
    now: int,
    ranger: PolicyRest | None = None,
    progress: Progress = lambda _: None,
    dry: bool = False,
) -> RunReport:
    """Everything that is new since the last run, then everything the ledger owes; safe to repeat and to kill.

    Args:
        now: the time of the run, in epoch milliseconds; what is younger than the hold-back waits for a later run.
        ranger: where policies are written; the Ranger Admin of the settings if `None`.
        progress: is told in a few words what begins.
        dry: send nothing; what is owed stays in the ledger and is told as the report's `planned`.

    Raises:
        ConfigError: a source is not usable.
        LeaseHeld: another run is going on.
        LedgerLost: the ledger is older than what was read, or another one.
        SyncError: Spark or the ledger failed.
        RangerAdminError: Ranger Admin failed before anything was sent; what is owed stays in the ledger.
    """
    state = settings.sync.state_dir
    sources = configured_sources(settings)
    with lease(state), spark_errors():
        ledger = DeltaLedger(spark, state, settings.cdap.instance)
        confirm(state / CHECKPOINTS, ledger.marks())
        reports = []
        for configured, source in sources:
            progress(f"reading source {configured.name}")
            reports.append(_ingest(spark, ledger, source, configured, settings, now))
        progress("folding events into lives")
        fold_new(ledger, fold_settings(settings, ledger.baseline(), now))
        if dry:
            progress("planning grants")
            return RunReport(tuple(reports), planned=tuple(planned(ledger, settings)), counts=ledger.counts())
        progress("sending grants to Ranger")
        outcomes, error = push(ledger, settings, ranger, progress=progress)
        if is_due(state, now):
            progress("tidying the ledger")
            tidy(spark, state, now=now, keep_days=settings.sync.keep_days)
        remember(state / CHECKPOINTS, ledger.marks())
        settled = (State.APPLIED, State.CLOSED, State.KNOWN)
        return RunReport(
            sources=tuple(reports),
            granted=tuple(life for _, life in outcomes if life.state is State.APPLIED),
            revoked=tuple(
                step.life
                for step, life in outcomes
                if isinstance(step, TakeBack | TakeOut) and life == step.done and step.life.policy_id >= 0
            ),
            waiting=tuple(life for _, life in outcomes if life.state not in settled),
            counts=ledger.counts(),
            error=error,
        )


def fold_settings(settings: Settings, baseline: int | None, now: int) -> FoldSettings:
    """What the fold needs of the settings, the profile's resultant privileges among it."""
    profile, sync = load_profile(settings.cdap.profile), settings.sync
    hold_back = round(sync.hold_back * 1000)
    window = min(SAME_CREATION, hold_back)
    return FoldSettings(
        baseline=baseline,
        gives={name: profile.resultant(name) for name in entity_types()},
        non_creators=non_creators(settings),
        mapped=sync.mapped,
        until=now - hold_back - window,
        window=window,
        ranks=ranks(sync.sources),
        impersonated=sync.impersonated,
    )


def fold_new(ledger: Ledger, settings: FoldSettings) -> None:
    """Fold what is not folded yet and record the lives that changed."""
    ledger.fold(partial(refold, settings=settings), settings.until, settings.window)
    ledger.mark_folded(settings.until)


def _ingest(
    spark: SparkSession, ledger: Ledger, source: EventSource, configured: SourceSettings, settings: Settings, now: int
) -> SourceReport:
    """One query with its own checkpoint: what was read is never read again, and read twice it changes nothing."""
    lines = rejected = events = 0
    instance = configured.instance or settings.cdap.instance

    def take(batch: DataFrame, _: int) -> None:
        nonlocal lines, rejected, events
        with Extraction(batch, source, configured, instance, now=now) as extraction:
            lines += extraction.line_count()
            rejected += _bury(extraction.dead_letters(), settings.sync.state_dir / DEAD_LETTERS)
            events += ledger.add_events(extraction.events())

    checkpoint = (settings.sync.state_dir / CHECKPOINTS / configured.name).absolute()
    query = (
        source.read(spark, configured)
        .writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str(checkpoint))
        .foreachBatch(take)
        .start()
    )
    query.awaitTermination()
    return SourceReport(configured.name, lines, rejected, events)


def _bury(letters: Iterable[DeadLetter], path: Path) -> int:
    count = 0
    for count, letter in enumerate(letters, start=1):  # noqa: B007  (the count is what is wanted)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(letter) + b"\n")
    return count
