"""One run of the sync job: read what is new, fold it into lives, send Ranger what the ledger owes, record what came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ranger_cdap.cdap.entity import entity_types
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.config import Settings, SourceSettings
from ranger_cdap.errors import ConfigError, RangerAdminError, SyncError
from ranger_cdap.policies.ranger_admin import RangerAdmin
from spark_sync.delta_ledger import DeltaLedger
from spark_sync.extraction import DeadLetter, Extraction
from spark_sync.fold import FoldSettings, fold
from spark_sync.lease import lease
from spark_sync.ledger import Change, History, Ledger
from spark_sync.life import OWED, Life, State
from spark_sync.plan import PlanSettings, Step, TakeBack, plan
from spark_sync.report import RunReport, SourceReport
from spark_sync.sources.registry import event_sources
from spark_sync.sources.source import EventSource
from spark_sync.writer import PolicyRest, carry_out

DEAD_LETTERS = "dead-letters.jsonl"

Progress = Callable[[str], None]


def run_once(
    settings: Settings, spark: SparkSession, *, ranger: PolicyRest | None = None, progress: Progress = lambda _: None
) -> RunReport:
    """Everything that is new since the last run, then everything the ledger owes; safe to repeat and to kill.

    Args:
        ranger: where policies are written; the Ranger Admin of the settings if `None`.
        progress: is told in a few words what begins.

    Raises:
        ConfigError: a source is not usable.
        LeaseHeld: another run is going on.
        SyncError: Spark or the ledger failed.
        RangerAdminError: Ranger Admin failed before anything was sent; what is owed stays in the ledger.
    """
    state = settings.sync.state_dir
    sources = _sources(settings)
    with lease(state), spark_errors():
        ledger = DeltaLedger(spark, state, settings.cdap.instance)
        reports = []
        for configured, source in sources:
            progress(f"reading source {configured.name}")
            reports.append(_ingest(spark, ledger, source, configured, settings))
        progress("folding events into lives")
        fold_new(ledger, fold_settings(settings, ledger.baseline()))
        progress("sending grants to Ranger")
        outcomes, trouble = push(ledger, settings, ranger)
        return RunReport(
            sources=tuple(reports),
            granted=tuple(life for _, life in outcomes if life.state is State.APPLIED),
            revoked=tuple(
                life
                for step, life in outcomes
                if isinstance(step, TakeBack) and life.state is State.CLOSED and life.policy_id >= 0
            ),
            waiting=tuple(life for _, life in outcomes if life.state not in (State.APPLIED, State.CLOSED)),
            counts=ledger.counts(),
            trouble=trouble,
        )


def fold_settings(settings: Settings, baseline: int | None) -> FoldSettings:
    """What the fold needs of the settings, the profile's resultant privileges among it."""
    profile = load_profile(settings.cdap.profile)
    return FoldSettings(
        baseline=baseline,
        gives={name: profile.resultant(name) for name in entity_types()},
        non_creators=frozenset(settings.sync.non_creators),
    )


def fold_new(ledger: Ledger, settings: FoldSettings) -> None:
    """Fold what is not folded yet and record the lives that changed."""
    ledger.record([change for history in ledger.unfolded() if (change := _change(history, settings))])
    ledger.mark_folded()


def push(ledger: Ledger, settings: Settings, ranger: PolicyRest | None) -> tuple[list[tuple[Step, Life]], str]:
    """Send everything the ledger owes and record it; what was done, and why it stopped early if it did."""
    owed = ledger.lives(OWED)
    if not owed:
        return [], ""
    steps = plan(
        owed,
        PlanSettings(
            instance=settings.cdap.instance,
            service=settings.ranger.service,
            non_creators=frozenset(settings.sync.non_creators),
            delegate_admin=settings.sync.delegate_admin,
        ),
    )
    outcomes: list[tuple[Step, Life]] = []
    trouble = ""
    with _ranger(settings, ranger) as rest:
        try:
            for step in _one_life_at_a_time(steps, outcomes):
                outcomes.append((step, carry_out(step, rest)))
        except RangerAdminError as e:
            trouble = str(e)
    before = frozenset(owed)
    ledger.record([Change(life.entity, (life,)) for _, life in outcomes if life not in before])
    return outcomes, trouble


def _one_life_at_a_time(steps: Iterable[Step], outcomes: list[tuple[Step, Life]]) -> Iterator[Step]:
    """The steps, but none for an entity whose earlier life still owes that something is taken back."""
    for step in steps:
        last = outcomes[-1][1] if outcomes else None
        if last and last.entity == step.life.entity and last.state is State.CLOSING:
            continue
        yield step


@contextmanager
def _ranger(settings: Settings, given: PolicyRest | None) -> Iterator[PolicyRest]:
    if given is not None:
        yield given
        return
    with RangerAdmin.connect(settings.ranger, settings.sync.username, settings.sync.password) as admin:
        yield admin


def _change(history: History, settings: FoldSettings) -> Change | None:
    before = {life.number: life for life in history.lives}
    after = {life.number: life for life in fold(history.entity, history.events, history.lives, settings)}
    changed = tuple(life for number, life in after.items() if before.get(number) != life)
    dropped = tuple(number for number in before if number not in after)
    return Change(history.entity, changed, dropped) if changed or dropped else None


def _sources(settings: Settings) -> list[tuple[SourceSettings, EventSource]]:
    known = event_sources()
    found = []
    for configured in settings.sync.sources:
        if configured.kind not in known:
            kinds = ", ".join(sorted(known))
            raise ConfigError(f"source `{configured.name}` has the kind `{configured.kind}`; known are {kinds}")
        if not any(c in str(configured.path) for c in "*?[{") and not configured.path.exists():
            raise ConfigError(f"`{configured.path}`, the directory of source `{configured.name}`, does not exist")
        found.append((configured, known[configured.kind]))
    names = [configured.name for configured, _ in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"two sources are named `{min(twice)}`; a source's name is its place in the ledger")
    return found


def _ingest(
    spark: SparkSession, ledger: Ledger, source: EventSource, configured: SourceSettings, settings: Settings
) -> SourceReport:
    """One query with its own checkpoint: what was read is never read again, and read twice it changes nothing."""
    lines = rejected = events = 0
    instance = configured.instance or settings.cdap.instance

    def take(batch: DataFrame, _: int) -> None:
        nonlocal lines, rejected, events
        with Extraction(batch, source, configured, instance) as extraction:
            lines += extraction.line_count()
            rejected += _bury(extraction.dead_letters(), settings.sync.state_dir / DEAD_LETTERS)
            events += ledger.add_events(extraction.events())

    checkpoint = (settings.sync.state_dir / "checkpoints" / configured.name).absolute()
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


@contextmanager
def spark_errors() -> Iterator[None]:
    """Translate what Spark raises into one sentence.

    Raises:
        SyncError: Spark failed.
    """
    try:
        yield
    except PySparkException as e:
        condition = e.getCondition() or type(e).__name__
        first_line = str(e).strip().splitlines()[0][:300] if str(e).strip() else ""
        raise SyncError(f"Spark failed with {condition}: {first_line}") from e
