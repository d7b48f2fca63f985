"""Extraction of events and rejected lines from a batch of lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import ChangeKind, Strength, load_creations
from ranger_cdap.cdap.entity import EntityType, entity_types
from ranger_cdap.config import SourceSettings
from spark_sync.ingest.dead_letters import MOST_OF_A_FILE, SHOWN, DeadLetter
from spark_sync.ledger.event import NEVER, Outcome, Stage
from spark_sync.sources.line_batches import CHECKED
from spark_sync.sources.line_reader import MOST_AHEAD, TOO_EARLY
from spark_sync.sources.source import FOUND, EventSource

_REQUIRED = ("id", "type", "parts", "kind", "stage", "outcome", "user", "started", "ended")
_TEXTS = ("requester", "clock", "check", "request", "version", "child", "caller")


class Extraction:
    """A batch of lines, parsed once on entering the context and persisted by Spark until its end."""

    def __init__(
        self, lines: DataFrame, source: EventSource, settings: SourceSettings, instance: str, *, now: int
    ) -> None:
        self._lines = lines.withColumn("row", F.monotonically_increasing_id())
        self._seen = Observation()
        seen = self._lines.observe(self._seen, F.count(F.lit(1)).alias("lines"))
        parsed, found = source.parse(seen, settings, instance, now), F.col("found")
        is_checked = CHECKED in parsed.columns
        parsed = parsed.drop(CHECKED)
        # Spark evaluates an array only once; without it, it would parse each line again for every condition.
        once = parsed.select(F.inline(F.array(F.struct(*parsed.columns))))
        kept = once.where((F.size("found") > 0) | F.col("rejected").isNotNull())
        refused = F.lit(None).cast("string") if is_checked else _refused(found, now)
        # Of invalid UTF-8, Spark would also show bytes that are in memory after the line.
        valid = F.make_valid_utf8("line")
        self._rows = kept.select(
            *(name for name in kept.columns if name not in ("line", "rejected", "found")),
            # Of accepted lines only the events are kept.
            F.when(F.coalesce(F.col("rejected"), refused).isNotNull(), F.left(valid, F.lit(SHOWN))).alias("line"),
            F.coalesce(F.col("rejected"), refused).alias("rejected"),
            F.when(F.col("rejected").isNotNull(), F.filter(found, _is_of_rejected))
            .when(refused.isNotNull(), _as_rejected(found))
            .otherwise(found)
            .alias("found"),
        )
        self._source = settings.name
        self._line_is_block = source.line_is_block
        self._refused = False
        self._instance = instance

    def __enter__(self) -> Extraction:
        self._rows = self._rows.persist()
        try:
            # Evaluates every row, so that all of them are persisted from now on.
            (counted,) = self._rows.agg(F.count("rejected").alias("refused")).collect()
        except BaseException:
            self._rows.unpersist()
            raise
        self._refused = counted.refused > 0
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.unpersist()

    def line_count(self) -> int:
        """Return the number of lines in the batch."""
        return int(self._seen.get["lines"])

    def events(self) -> DataFrame:
        """Return the events, each id once, without skipped entities but with those of rejected lines.

        Columns: `source, id, instance, entity, type, parts, namespace, application, kind, strength, user, time,
        requester, stage, outcome, started, ended, clock, check, request, version, child, received, caller, requested`.
        """
        entity = F.concat(F.col("type"), F.lit(":"), F.array_join("parts", "."))
        found = self._rows.select(F.inline("found")).withColumn("entity", entity).where(~_skipped(F.col("entity")))
        rest = ["entity", *(name for name in FOUND.names if name != "id")]
        once = found.groupBy("id").agg(F.min(F.struct(*rest)).alias("event")).select("id", "event.*")
        return once.select(
            F.lit(self._source).alias("source"),
            "id",
            F.lit(self._instance).alias("instance"),
            "entity",
            "type",
            "parts",
            _part_of("namespace").alias("namespace"),
            _part_of("application").alias("application"),
            "kind",
            _strength().alias("strength"),
            "user",
            _time().alias("time"),
            _text("requester"),
            "stage",
            "outcome",
            "started",
            "ended",
            *(_text(name) for name in _TEXTS if name not in ("requester", "caller")),
            F.coalesce("received", "started").alias("received"),
            _text("caller"),
            F.coalesce("requested", F.lit(0)).alias("requested"),
        )

    def dead_letters(self) -> Iterator[DeadLetter]:
        """Return the rejected lines by file and line; of a file with many, the first ones and a count."""
        if not self._refused:
            return
        of_file = Window.partitionBy("file")
        rejected = (
            self._rows.where(F.col("rejected").isNotNull())
            .withColumn("place", F.row_number().over(of_file.orderBy("block", "row")))
            .withColumn("more", F.count(F.lit(1)).over(of_file) - MOST_OF_A_FILE)
            .where(F.col("place") <= MOST_OF_A_FILE)
        )
        wanted = ("file", "block", "number", "rejected", "line", "place", "more")
        numbered = self._numbered(rejected).select(*wanted).orderBy("file", "block", "number")
        for row in numbered.toLocalIterator():
            yield DeadLetter(self._source, row.file, row.block, row.number, row.rejected, row.line)
            if row.place == MOST_OF_A_FILE and row.more > 0:
                reason = f"{row.more:,} more lines of this file were rejected"
                yield DeadLetter(self._source, row.file, row.block, row.number, reason, "", row.more)

    def _numbered(self, rejected: DataFrame) -> DataFrame:
        if self._line_is_block:
            return rejected.withColumn("number", F.lit(1))
        # Spark reads the lines of one block of a file in sequence, so the distance from the block's first row is the
        # position in it. Files with rejected lines are read once more for this.
        first = self._lines.groupBy("file", "block").agg(F.min("row").alias("first"))
        return rejected.join(first, ["file", "block"]).withColumn("number", F.col("row") - F.col("first") + 1)


def _text(name: str) -> Column:
    return F.coalesce(name, F.lit("")).alias(name)


def _strength() -> Column:
    is_message = F.col("stage") == Stage.MESSAGE.value
    return F.when(is_message, Strength.AUTHORITATIVE.value).otherwise(Strength.AMBIGUOUS.value)


def _time() -> Column:
    """Return the time in the order of events, as in `EntityEvent.position`."""
    is_over = (F.col("kind") == ChangeKind.DELETE.value) & (F.col("ended") < NEVER)
    return F.when(is_over, F.col("ended")).otherwise(F.col("started"))


def _refused(found: Column, now: int) -> Column:
    """Return the reason for rejecting a line for its events; their parser may have checked nothing."""
    believed = F.filter(found, lambda event: ~_is_of_rejected(event))
    reason = F.coalesce(_incomplete(found), _bad_entity(believed), _too_early(believed, now))
    return F.when(F.size(found) > 0, reason)


def _incomplete(found: Column) -> Column:
    def lacks(event: Column) -> Column:
        return reduce(or_, (event[name].isNull() for name in _REQUIRED))

    return F.when(F.exists(found, lacks), F.lit("the source returned an incomplete event"))


def _bad_entity(found: Column) -> Column:
    bad = F.filter(found, lambda event: ~_is_well_formed(event))
    first = F.get(bad, F.lit(0))
    text = F.concat(first.type, F.lit(":"), F.array_join(first.parts, ".", "null"))
    return F.when(F.size(bad) > 0, F.concat(F.lit("`"), F.substring(text, 1, 120), F.lit("` is not a valid CDAP name")))


def _too_early(found: Column, now: int) -> Column:
    """Reject an event of the future: it would wait in the ledger and later decide in place of another one."""

    def is_early(event: Column) -> Column:
        ends_ahead = (event.ended != NEVER) & (event.ended > now + MOST_AHEAD)
        return (event.started > now + MOST_AHEAD) | ends_ahead

    return F.when(F.exists(found, is_early), F.lit(TOO_EARLY))


def _is_of_rejected(event: Column) -> Column:
    return event.stage == Stage.REJECTED.value


def _as_rejected(found: Column) -> Column:
    """Return the events of a line that is rejected here, stripped to the fact that something happened some time."""
    changed = {
        "stage": F.lit(Stage.REJECTED.value),
        "outcome": F.lit(Outcome.UNCLEAR.value),
        "started": F.lit(0),
        "ended": F.lit(NEVER),
        "clock": F.lit(""),
        "requested": F.lit(0),
    }

    def counts(event: Column) -> Column:
        complete = F.lit(True)
        for name in ("id", "kind", "user", "outcome"):
            complete = complete & event[name].isNotNull()
        return complete & _is_well_formed(event) & (event.user != "") & (event.outcome != Outcome.NOTHING.value)

    def rejected(event: Column) -> Column:
        columns = {name: event[name] for name in FOUND.names} | changed
        # Under its own id it could replace a trusted event.
        columns["id"] = F.concat(F.lit("rejected-"), event.id)
        return F.struct(*(columns[name].alias(name) for name in FOUND.names)).cast(FOUND)

    return F.transform(F.filter(found, counts), rejected)


def _is_well_formed(event: Column) -> Column:
    return F.coalesce(_well_formed(event), F.lit(False))


def _well_formed(event: Column) -> Column:
    result = F.lit(False)
    for kind in _event_types():
        holds = (event.type == kind.name) & (F.size(event.parts) == len(kind.patterns))
        for n, pattern in enumerate(kind.patterns):
            holds = holds & F.get(event.parts, F.lit(n)).rlike(f"^(?:{pattern.pattern})\\z")
        result = result | holds
    return result


def _event_types() -> list[EntityType]:
    names = {kind.name for kind in load_creations().entities}
    return [kind for kind in entity_types().values() if kind.name in names]


def _skipped(entity: Column) -> Column:
    result = F.lit(False)
    for pattern in load_creations().skipped:
        result = result | entity.rlike(pattern)
    return result


def _part_of(level: str) -> Column:
    """Return the entity's part at that level, null if it has none."""
    at = {kind.name: kind.path.index(level) - 1 for kind in entity_types().values() if level in kind.path}
    result = F.lit(None).cast("string")
    for position in sorted(set(at.values())):
        names = [name for name, n in at.items() if n == position]
        result = F.when(F.col("type").isin(*names), F.get(F.col("parts"), F.lit(position))).otherwise(result)
    return result
