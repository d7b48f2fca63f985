"""The event source `csv`: accepted lines, and the reasons for rejected ones."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

pyspark_sql = pytest.importorskip("pyspark.sql")

GOOD = {
    "1795233666254,alice,CREATE,dataset,ns1,purchases": ("dataset", ["ns1", "purchases"], "CREATE", "alice"),
    "1795233666255,bob,DELETE,namespace,ns2": ("namespace", ["ns2"], "DELETE", "bob"),
}
BAD = {
    "": "has fewer than 5 fields",
    "1795233666254,alice,CREATE,dataset": "has fewer than 5 fields",
    "yesterday,alice,CREATE,namespace,ns1": "its time cannot be read",
    "0,alice,CREATE,namespace,ns1": "its time cannot be read",
    "1,,CREATE,namespace,ns1": "names no user",
    "1,alice,TOUCH,namespace,ns1": "is neither a creation nor a deletion",
    "1,alice,CREATE,artifact,ns1,a": "is of a type that is not believed",
    "1,alice,CREATE,dataset,ns1": "is of a type that is not believed",
    "1,alice,CREATE,dataset,ns1,a,b": "is of a type that is not believed",
}


@pytest.fixture(scope="module")
def rows() -> Iterator[dict[str, object]]:
    from ranger_cdap.config import SourceSettings
    from spark_sync.sources.registry import event_sources
    from spark_sync.sources.source import LINES

    builder = pyspark_sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    )
    try:
        lines = session.createDataFrame([(line, "file", 1) for line in (*GOOD, *BAD)], LINES)
        source = event_sources()["csv"]
        parsed = source.parse(lines, SourceSettings(name="inventory", kind="csv"), "cdap", 1_900_000_000_000)
        assert parsed.columns == [*LINES.names, "rejected", "found"]
        yield {row.line: row for row in parsed.collect()}
    finally:
        session.stop()
        os.environ.pop("PYSPARK_GATEWAY_PORT", None)


@pytest.mark.parametrize("line", GOOD)
def test_what_is_exactly_as_it_should_be_is_an_event(rows, line: str) -> None:  # type: ignore[no-untyped-def]
    row = rows[line]
    (event,) = row.found
    assert row.rejected is None
    assert (event.type, event.parts, event.kind, event.user) == GOOD[line]
    assert event.started == event.ended == int(line.split(",")[0])
    assert (event.stage, event.outcome) == ("message", "done")


@pytest.mark.parametrize("line", BAD)
def test_everything_else_is_rejected_with_the_reason(rows, line: str) -> None:  # type: ignore[no-untyped-def]
    assert (rows[line].rejected, rows[line].found) == (BAD[line], [])


def test_two_lines_have_two_ids_and_one_line_has_one(rows) -> None:  # type: ignore[no-untyped-def]
    assert len({rows[line].found[0].id for line in GOOD}) == len(GOOD)
