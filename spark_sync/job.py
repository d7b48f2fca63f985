"""A run of the sync job: read new events, fold them into lives, send pending changes to Ranger, record results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from ranger_cdap.config import Settings, SourceSettings
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.service.events.watermark import Watermark
from spark_sync.grants.plan import PlanSettings
from spark_sync.grants.push import given_accesses, non_creators, plan_settings, planned, push
from spark_sync.ingest.dead_letters import write_dead_letters
from spark_sync.ingest.extraction import Extraction
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.fold import refold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.grant_terms import counts_of, outdated_grants
from spark_sync.ledger.lease import lease
from spark_sync.ledger.ledger import Baseline, Ledger, Scope
from spark_sync.ledger.ledger_version import CHECKPOINTS, save, verify
from spark_sync.ledger.life import UNDECIDED_STATES, State
from spark_sync.ledger.maintenance import is_due, vacuum
from spark_sync.reconcile.confirmation_round import confirm_round
from spark_sync.reconcile.reconcile import RangerClient
from spark_sync.reconcile.regrant import record, regrants
from spark_sync.report import RunReport, SourceReport
from spark_sync.sources import watermarks
from spark_sync.sources.registry import configured_sources, ranks
from spark_sync.sources.source import EventSource
from spark_sync.spark.spark_errors import spark_errors

Progress = Callable[[str], None]


def run_once(
    settings: Settings,
    spark: SparkSession,
    *,
    now: int,
    ranger: RangerClient | None = None,
    progress: Progress = lambda _: None,
    dry: bool = False,
) -> RunReport:
    """Read everything new since the last run, then send all pending changes; safe to repeat and to kill.

    Args:
        now: the time of the run, in epoch milliseconds; events younger than the hold-back wait for a later run.
        ranger: where policies are written; the Ranger Admin of the settings if `None`.
        progress: receives a short message when a stage begins.
        dry: send nothing; pending grants stay in the ledger and are the report's `planned`.

    Raises:
        ConfigError: a source or the settings of grants are not usable.
        LeaseHeld: another run is going on.
        LedgerLost: the ledger is older than what was read, or another one.
        SyncError: Spark or the ledger failed.
        RangerAdminError: Ranger Admin failed before anything was sent; pending grants stay in the ledger.
    """
    state = settings.sync.state_dir
    sources = configured_sources(settings)
    with lease(state), spark_errors():
        planning, ledger = plan_settings(settings), DeltaLedger(spark, state, settings.cdap.instance)
        verify(state / CHECKPOINTS, ledger.marks())
        # Before the files are listed: a watermark promises that they exist already.
        marks = watermarks.read(settings.sync.sources)
        reports = []
        for configured, source in sources:
            progress(f"reading source {configured.name}")
            reports.append(_ingest(spark, ledger, source, configured, settings, now))
        progress("folding events into lives")
        fold_new(ledger, fold_settings(settings, ledger.baseline(), marks, now))
        if dry:
            progress("planning grants")
            groups = ledger.grant_groups()
            return RunReport(
                tuple(reports),
                silent=known_until(settings, marks, now).silent,
                planned=tuple(planned(ledger, settings)),
                counts=counts_of(groups),
                outdated=outdated_grants(groups, planning.gives, planning.terms),
            )
        unread = _regrant(ledger, settings, planning, ranger) if settings.sync.regrant == "auto" else None
        progress("sending grants to Ranger")
        outcomes, error = push(ledger, settings, ranger, progress=progress)
        if settings.sync.confirm.url:
            # After the grants, which need not wait for CDAP; answers are folded once everything before them is read.
            progress("asking CDAP what exists")
            ledger.add_answers(confirm_round(settings, ledger.lives(UNDECIDED_STATES), marks, now=now))
        if is_due(state, now):
            progress("maintaining the ledger")
            vacuum(spark, state, now=now, keep_days=settings.sync.keep_days)
        save(state / CHECKPOINTS, ledger.marks())
        listed = (State.APPLIED, State.CLOSED, State.KNOWN, State.BLOCKED)
        groups = ledger.grant_groups()
        counts = counts_of(groups)
        blocked = ledger.lives((State.BLOCKED,)) if counts[State.BLOCKED] else []
        return RunReport(
            sources=tuple(reports),
            granted=tuple(outcome.life for outcome in outcomes if outcome.life.state is State.APPLIED),
            revoked=tuple(outcome.step.life for outcome in outcomes if outcome.revoked),
            waiting=(*(outcome.life for outcome in outcomes if outcome.life.state not in listed), *blocked),
            counts=counts,
            outdated=outdated_grants(groups, planning.gives, planning.terms),
            error=error or unread,
            silent=known_until(settings, marks, now).silent,
        )


def _regrant(
    ledger: DeltaLedger,
    settings: Settings,
    planning: PlanSettings,
    ranger: RangerClient | None,
) -> RangerAdminError | None:
    """Make the grants pending that changed settings concern; return why Ranger's policies cannot be read, if so."""
    if outdated_grants(ledger.grant_groups(), planning.gives, planning.terms).total:
        try:
            record(ledger, regrants(ledger, settings, planning, ranger=ranger))
        except RangerAdminError as e:
            return e
    return None


def fold_settings(
    settings: Settings, baseline: Baseline | None, marks: Mapping[str, Watermark], now: int
) -> FoldSettings:
    """Return the settings of the fold, with the profile's resultant privileges and the watermarks.

    A baseline counts only if every current journal existed when it was taken.
    """
    sync = settings.sync
    hold_back, skew = round(sync.hold_back * 1000), round(sync.clock_skew * 1000)
    known = known_until(settings, marks, now)
    journals = {name: mark.service for name, mark in marks.items()}
    counts = baseline is not None and baseline.counts_for(journals)
    return FoldSettings(
        baseline=baseline.taken if baseline is not None and counts else None,
        gives=given_accesses(settings),
        terms=plan_settings(settings).terms,
        non_creators=non_creators(settings),
        mapped=sync.mapped,
        ranks=ranks(sync.sources),
        impersonated=sync.impersonated,
        skew=skew,
        unfinished_after=round(sync.unfinished_after * 1000),
        journals=known.journals,
        horizons=known.horizons,
        until=now - hold_back,
        named_elsewhere=any(source.kind != "data-plane" for source in sync.sources),
        uncorroborated=sync.uncorroborated == "grant",
        recordless=frozenset(name for name, mark in marks.items() if mark.records is False),
    )


def known_until(settings: Settings, marks: Mapping[str, Watermark], now: int) -> watermarks.Horizons:
    """Return how far a run at that time decides each source."""
    sync = settings.sync
    hold_back, skew = round(sync.hold_back * 1000), round(sync.clock_skew * 1000)
    return watermarks.horizons(sync.sources, marks, now=now, hold_back=hold_back, skew=skew)


def fold_new(ledger: Ledger, settings: FoldSettings) -> None:
    """Fold new events and record the lives that changed."""
    ledger.fold(partial(refold, settings=settings))
    ledger.mark_folded(scope_of(settings))


def scope_of(settings: FoldSettings) -> Scope:
    """Return how far a fold with these settings decides; later events are folded again."""
    decided = min([settings.until, *settings.horizons.values()])
    # A journal may lag far behind, and its checks count as lost by its own time.
    closed = min([decided, *settings.journals.values()]) - settings.unfinished_after
    return Scope(decided, closed)


def _ingest(
    spark: SparkSession, ledger: Ledger, source: EventSource, configured: SourceSettings, settings: Settings, now: int
) -> SourceReport:
    """Read a source by one query with its own checkpoint: lines are read once, and reading twice changes nothing."""
    lines = rejected = events = 0
    instance = configured.instance or settings.cdap.instance

    def take(batch: DataFrame, _: int) -> None:
        nonlocal lines, rejected, events
        with Extraction(batch, source, configured, instance, now=now) as extraction:
            lines += extraction.line_count()
            rejected += write_dead_letters(extraction.dead_letters(), settings.sync.state_dir)
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
