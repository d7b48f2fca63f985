"""A run of the sync job: read new events, fold them into lives, send pending changes to Ranger, record results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from ranger_cdap.config import Settings, SyncSettings
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.wire.watermark import Watermark
from spark_sync.changed_lives import ChangedLives
from spark_sync.grants.ledger_mark import marked_rest
from spark_sync.grants.observe import observe
from spark_sync.grants.plan import Plan, PlanSettings
from spark_sync.grants.plan_settings import configured_name, plan_settings
from spark_sync.grants.policy_rest import PolicyRest, held_rest, policy_rest
from spark_sync.grants.push import SENDING, push
from spark_sync.grants.ranger_names import RangerNames
from spark_sync.grants.rights_of_others import shown_rights
from spark_sync.grants.zones import all_policies, zones_of
from spark_sync.ingest.ingestion import Ingestion
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.fold import refold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.grant_terms import OutdatedGrants, counts_of, outdated_grants
from spark_sync.ledger.lease import lease
from spark_sync.ledger.ledger import Baseline, History, LedgerChange, Scope
from spark_sync.ledger.ledger_version import note_versions, verify
from spark_sync.ledger.life import PUSH_STATES, UNDECIDED_STATES, State
from spark_sync.notify import notify
from spark_sync.reconcile.confirmation_round import confirm_round
from spark_sync.reconcile.lost_ledger import compare
from spark_sync.reconcile.override_audit import removal_audit
from spark_sync.reconcile.regrant import regrants
from spark_sync.report import RunReport
from spark_sync.sources import service_watermarks
from spark_sync.sources.registry import configured_sources, ranks
from spark_sync.spark.on_demand import FEW, Few
from spark_sync.spark.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]


def run_once(
    settings: Settings,
    spark: Callable[[], SparkSession],
    *,
    now: int,
    ranger: PolicyRest | None = None,
    progress: Progress = lambda _: None,
    dry: bool = False,
    few: Few = FEW,
    ledger: DeltaLedger | None = None,
    names: RangerNames | None = None,
) -> RunReport:
    """Read everything new since the last run, then send all pending changes; safe to repeat and to kill.

    Args:
        spark: returns the Spark session, started if necessary; called only if much is new, a source needs it, or
            maintenance is due.
        now: the time of the run, in epoch milliseconds; events younger than the hold-back wait for a later run.
        ranger: where policies are written; the Ranger Admin of the settings if `None`.
        progress: receives a short message when a stage begins.
        dry: send nothing; pending grants stay in the ledger and are the report's `planned`.
        few: amounts up to which the run needs no Spark.
        ledger: that of the run before, which remembers counts; opened if `None`.
        names: those of the run before, which remember what was downloaded.

    Raises:
        ConfigError: a source or the settings of grants are not usable.
        LeaseHeld: another run is going on.
        LedgerLost: the ledger is older than what was read or is in Ranger, or another one; nothing was sent.
        SyncError: Spark or the ledger failed.
        RangerAdminError: Ranger Admin failed before anything was sent; pending grants stay in the ledger.
        PolicySetError: Ranger's transformation of names is uncertain.
    """
    sync = settings.sync
    sources = configured_sources(sync)
    with lease(sync.state_dir) as held, spark_errors():
        planning = plan_settings(settings, names=(names or RangerNames(settings)).current())
        ledger = ledger or DeltaLedger(sync.state_dir, settings.cdap.instance, spark, few=few.events)
        ledger.hold(held)
        before = verify(ledger, noting=True)
        # Before the files are listed: a watermark promises that they exist already.
        marks = service_watermarks.read(sync.sources)
        ingestion = Ingestion(settings.network, ledger, spark, marks, now, few, progress)
        reports = [ingestion.read(configured, source) for configured, source in sources]
        progress("folding events into lives")
        known = known_until(sync, marks, now)
        undecided = fold_new(ledger, fold_settings(sync, planning, ledger.baseline(), marks, known))
        if dry:
            note_versions(ledger)
            progress("planning grants")
            return RunReport(
                tuple(reports),
                silent=known.silent,
                planned=Plan(partial(ledger.pages, PUSH_STATES), planning),
                counts=counts_of(ledger.grant_groups()),
                outdated=_outdated(ledger, planning),
            )
        changed, went_back, error = ChangedLives(), "", None
        with policy_rest(settings, ranger) as unguarded:
            rest = marked_rest(held_rest(unguarded, held), ledger)
            zones = cache(partial(zones_of, planning, rest))
            policies = cache(lambda: all_policies(rest, planning.service, zones()))
            try:
                if ledger.compared != before:  # else the last run of this process has left it so
                    compare(ledger, policies(), planning.instance)
                    ledger.compared = before
                went_back = observe(ledger, rest, planning, zones, policies, now=now)
                if sync.regrant == "auto" and _outdated(ledger, planning).total:
                    ledger.record(regrants(ledger, rest, planning, policies()))
            except RangerAdminError as e:
                error = e
            if ledger.compared == before:
                progress(SENDING)
                with removal_audit(settings, now=now) as audited:
                    stopped = push(ledger, rest, planning, changed.add, zones=zones, audited=audited, progress=progress)
                error = stopped or error
        notified = notify(settings) if changed.granted or changed.revoked or went_back else ()
        if sync.confirm.url:
            # After the grants, which need not wait for CDAP; answers are folded once everything before them is read.
            progress("asking CDAP what exists")
            ledger.add_events(confirm_round(settings, ledger.notes, ledger.lives(UNDECIDED_STATES), marks, now=now))
        if ledger.needs_maintenance(now):
            progress("maintaining the ledger")
            ledger.maintain(now=now, keep_days=sync.keep_days)
        ledger.tidy()
        note_versions(ledger)
        if ledger.compared == before:
            ledger.compared = ledger.marks()
        counts = counts_of(ledger.grant_groups())
        for page in ledger.pages((State.BLOCKED,)) if counts[State.BLOCKED] else ():
            changed.waiting.extend(page)
        changed.waiting.extend(shown_rights(ledger) if counts[State.CLOSED] else ())
        return RunReport(
            sources=tuple(reports),
            granted=changed.granted,
            revoked=changed.revoked,
            waiting=changed.waiting,
            counts=counts,
            outdated=_outdated(ledger, planning),
            error=error,
            notified=notified,
            undecided=undecided,
            silent=known.silent,
            went_back=went_back,
        )


def _outdated(ledger: DeltaLedger, planning: PlanSettings) -> OutdatedGrants:
    return outdated_grants(ledger.grant_groups(), planning.gives, planning.terms)


def fold_settings(
    sync: SyncSettings,
    planning: PlanSettings,
    baseline: Baseline | None,
    marks: Mapping[str, Watermark],
    known: service_watermarks.Horizons,
) -> FoldSettings:
    """Return the settings of the fold, with the profile's resultant privileges and the service_watermarks.

    A baseline counts only if every current journal existed when it was taken. `known`: how far events are decided.
    """
    journals = {name: mark.service for name, mark in marks.items()}
    counts = baseline is not None and baseline.counts_for(journals)
    return FoldSettings(
        baseline=baseline.taken if baseline is not None and counts else None,
        gives=planning.gives,
        terms=planning.terms,
        non_creators=planning.non_creators,
        mapped={
            configured_name(planning.names, one, "sync.mapped"): configured_name(planning.names, other, "sync.mapped")
            for one, other in sync.mapped.items()
        },
        names=planning.names,
        ranks=ranks(sync.sources),
        impersonated=sync.impersonated,
        skew=round(sync.clock_skew * 1000),
        journals=known.journals,
        horizons=known.horizons,
        held=known.held,
        until=known.until,
        latest=known.latest,
        named_elsewhere=known.named_elsewhere,
        uncorroborated=sync.uncorroborated == "grant",
        recordless=frozenset(name for name, mark in marks.items() if mark.records is False),
    )


def known_until(sync: SyncSettings, marks: Mapping[str, Watermark], now: int) -> service_watermarks.Horizons:
    """Return how far a run at that time decides each source."""
    hold_back, skew = round(sync.hold_back * 1000), round(sync.clock_skew * 1000)
    return service_watermarks.horizons(sync.sources, marks, now=now, hold_back=hold_back, skew=skew)


def fold_new(ledger: DeltaLedger, settings: FoldSettings) -> bool:
    """Fold new events and record the lives that changed; return whether one of few events waits to be decided."""
    waits = False

    def decide(history: History) -> list[LedgerChange]:
        nonlocal waits
        waits = waits or not all(map(settings.is_settled, history.events))
        return refold(history, settings)

    ledger.fold(decide, settings)
    ledger.mark_folded(scope_of(settings))
    return waits


def scope_of(settings: FoldSettings) -> Scope:
    """Return how far a fold with these settings decides; later events are folded again."""
    decided = settings.decided
    # A journal may lag far behind, and its checks count as lost by its own time.
    closed = min([decided, *settings.journals.values()]) - settings.unfinished_after
    return Scope(decided, closed, settings.horizons, settings.until, settings.latest, settings.skew)
