"""From a batch of lines to events of one schema, and to the lines that were rejected, with reason and position."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityType, entity_types
from ranger_cdap.config import SourceSettings
from spark_sync.sources.source import EventSource

# A dead letter shows the beginning of its line; the file has all of it.
SHOWN = 500

# So many milliseconds the clock of a source may be ahead of ours.
MOST_AHEAD = 300_000


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A line that was not taken; `line_number` counts from 1 at the byte `block` of the file (0 but in huge files)."""

    source: str
    file: str
    block: int
    line_number: int
    reason: str
    line: str


class Extraction:
    """One batch, fetched and parsed once: when it is entered, as a context manager; Spark keeps it until the end."""

    def __init__(
        self, lines: DataFrame, source: EventSource, settings: SourceSettings, instance: str, *, now: int
    ) -> None:
        self._lines = lines.withColumn("row", F.monotonically_increasing_id())
        self._seen = Observation()
        seen = self._lines.observe(self._seen, F.count(F.lit(1)).alias("lines"))
        parsed, found = source.parse(seen, settings, instance), F.col("found")
        refused = F.when(F.size(found) > 0, F.coalesce(_bad_entity(found), _too_early(found, now)))
        told = parsed.withColumn("rejected", F.coalesce(F.col("rejected"), refused))
        self._source = settings.name
        self._line_is_block = source.line_is_block
        self._refused = False
        self._instance = instance
        # Spark works out what stands in an array once; otherwise it would parse each line again for every condition.
        once = told.select(F.inline(F.array(F.struct(*told.columns))))
        self._rows = once.where((F.size("found") > 0) | F.col("rejected").isNotNull())

    def __enter__(self) -> Extraction:
        self._rows = self._rows.persist()
        try:
            # Looks at every row that is kept, so that from now on all of them are.
            (counted,) = self._rows.agg(F.count("rejected").alias("refused")).collect()
        except BaseException:
            self._rows.unpersist()
            raise
        self._refused = counted.refused > 0
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.unpersist()

    def line_count(self) -> int:
        """How many lines the batch has."""
        return int(self._seen.get["lines"])

    def events(self) -> DataFrame:
        """The events that count, each id once, skipped entities left out.

        Columns: `source, id, instance, entity, type, parts, namespace, application, kind, strength, user, time,
        requester`.
        """
        entity = F.concat(F.col("type"), F.lit(":"), F.array_join("parts", "."))
        found = (
            self._rows.where(F.col("rejected").isNull())
            .select(F.inline("found"))
            .withColumn("requester", F.coalesce("requester", F.lit("")))
            .withColumn("entity", entity)
            .where(~_skipped(F.col("entity")))
        )
        rest = ("type", "parts", "entity", "kind", "strength", "user", "time", "requester")
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
            "strength",
            "user",
            "time",
            "requester",
        )

    def dead_letters(self) -> Iterator[DeadLetter]:
        """The rejected lines, in the order of files and lines."""
        if not self._refused:
            return
        rejected = self._rows.where(F.col("rejected").isNotNull())
        wanted = ("file", "block", "number", "rejected", "line")
        numbered = self._numbered(rejected).select(*wanted).orderBy("file", "block", "number")
        for row in numbered.toLocalIterator():
            yield DeadLetter(self._source, row.file, row.block, row.number, row.rejected, row.line[:SHOWN])

    def _numbered(self, rejected: DataFrame) -> DataFrame:
        if self._line_is_block:
            return rejected.withColumn("number", F.lit(1))
        # Spark reads the lines of one block of one file one after another, so the distance from the block's first
        # row is the place in it. This reads the files once more, where anything in them was rejected.
        first = self._lines.groupBy("file", "block").agg(F.min("row").alias("first"))
        return rejected.join(first, ["file", "block"]).withColumn("number", F.col("row") - F.col("first") + 1)


def _bad_entity(found: Column) -> Column:
    bad = F.filter(found, lambda event: ~F.coalesce(_well_formed(event), F.lit(False)))
    first = F.get(bad, F.lit(0))
    text = F.concat(first.type, F.lit(":"), F.array_join(first.parts, ".", "null"))
    return F.when(F.size(bad) > 0, F.concat(F.lit("`"), F.substring(text, 1, 120), F.lit("` is no name CDAP allows")))


def _too_early(found: Column, now: int) -> Column:
    """An event of the future would wait in the ledger and then decide in the place of somebody else's."""
    late = F.exists(found, lambda event: event.time > now + MOST_AHEAD)
    minutes = MOST_AHEAD // 60_000
    return F.when(late, F.lit(f"its time is more than {minutes} minutes in the future; is a clock wrong?"))


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
    """The entity's part on that level, null where it has none."""
    at = {kind.name: kind.path.index(level) - 1 for kind in entity_types().values() if level in kind.path}
    result = F.lit(None).cast("string")
    for position in sorted(set(at.values())):
        names = [name for name, n in at.items() if n == position]
        result = F.when(F.col("type").isin(*names), F.get(F.col("parts"), F.lit(position))).otherwise(result)
    return result
