"""Sources of other plugins are held to the same rules: names, times, complete events; and each event counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ranger_cdap.config import SourceSettings
from spark_sync.ledger.event import NEVER
from tests.spark_sync.sources.reading import NOW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

EVENT: dict[str, Any] = {
    "id": "1",
    "type": "dataset",
    "parts": ["ns1", "kv"],
    "kind": "CREATE",
    "stage": "request",
    "outcome": "done",
    "user": "alice",
    "started": 1000,
    "ended": 1010,
}
LATE = NOW + 900_001
FUTURE = "its time is more than 15 minutes in the future; is a clock wrong?"
INCOMPLETE = "the source returned an incomplete event"

# What a plugin's source finds in a line, why that is rejected, and what counts of it: stage, time, end.
FOUND_IN_A_LINE: dict[str, tuple[dict[str, Any], str | None, tuple[str, int, int] | None]] = {
    "a creation": ({}, None, ("request", 1000, 1010)),
    "a deletion": ({"kind": "DELETE"}, None, ("request", 1010, 1010)),
    "a deletion whose end is not known": (
        {"kind": "DELETE", "stage": "check", "ended": NEVER},
        None,
        ("check", 1000, NEVER),
    ),
    "of the system namespace": ({"parts": ["system", "kv"]}, None, None),
    "a star": ({"parts": ["ns1", "*"]}, "`dataset:ns1.*` is not a valid CDAP name", None),
    "an unknown type": ({"type": "table"}, "`table:ns1.kv` is not a valid CDAP name", None),
    "a star, and denied": (
        {"parts": ["ns1", "*"], "outcome": "nothing"},
        "`dataset:ns1.*` is not a valid CDAP name",
        None,
    ),
    "nearly too early": ({"started": LATE - 1, "ended": LATE - 1}, None, ("request", LATE - 1, LATE - 1)),
    "too early": ({"started": LATE, "ended": LATE}, FUTURE, ("rejected", 0, NEVER)),
    "ends too late": ({"ended": LATE}, FUTURE, ("rejected", 0, NEVER)),
    "its end is not known": ({"ended": NEVER}, None, ("request", 1000, NEVER)),
    "an end beyond that": ({"ended": NEVER + 1}, FUTURE, ("rejected", 0, NEVER)),
    "too early, and denied": ({"started": LATE, "ended": LATE, "outcome": "nothing"}, FUTURE, None),
    "too early, without a user": ({"started": LATE, "ended": LATE, "user": ""}, FUTURE, None),
    "without a time": ({"started": None}, INCOMPLETE, ("rejected", 0, NEVER)),
    "without a user": ({"user": None}, INCOMPLETE, None),
    "without parts": ({"parts": None}, INCOMPLETE, None),
}


def test_what_a_plugin_finds(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import ArrayType, StructField, StructType

    from spark_sync.ingest.extraction import Extraction
    from spark_sync.sources.source import FOUND, LINES, EventSource

    def parse(lines: DataFrame, settings: SourceSettings, instance: str, now: int) -> DataFrame:
        return lines.withColumn("rejected", F.lit(None).cast("string"))

    found = StructType([*LINES, StructField("found", ArrayType(FOUND))])
    rows = [
        (case, "f", n, [tuple((EVENT | {"id": case} | changes).get(name) for name in FOUND.names)])
        for n, (case, (changes, _, _)) in enumerate(FOUND_IN_A_LINE.items())
    ]
    source = EventSource(read=lambda spark, settings: spark.createDataFrame([], LINES), parse=parse)
    lines = spark.createDataFrame(rows, found)
    with Extraction(lines, source, SourceSettings(name="s", kind="x"), "cdap", now=NOW) as extraction:
        events = {row.id.removeprefix("rejected-"): row for row in extraction.events().collect()}
        dead = {letter.line: letter.reason for letter in extraction.dead_letters()}
    assert dead == {case: reason for case, (_, reason, _) in FOUND_IN_A_LINE.items() if reason}
    assert {case: (row.stage, row.time, row.ended) for case, row in events.items()} == {
        case: wanted for case, (_, _, wanted) in FOUND_IN_A_LINE.items() if wanted
    }
    assert {row.strength for row in events.values()} == {"ambiguous"}
    assert {row.requester for row in events.values()} == {""}


def test_an_event_that_comes_twice_counts_once(spark: SparkSession) -> None:
    import json

    from tests.spark_sync.sources.reading import frame_of, rows_in
    from tests.spark_sync.sources.test_sources import stored

    lines = frame_of(spark, [json.dumps(stored(stored_received=received)) for received in (3000, 2000, 2500)])
    (row,), dead = rows_in(spark, "data-plane", lines, callers=("cdap-master",))
    assert (row.received, dead) == (2000, [])
