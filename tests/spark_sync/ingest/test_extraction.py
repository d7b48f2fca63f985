"""An event that comes twice in a batch counts once, as without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.spark_sync.sources.reading import frame_of, rows_in
from tests.spark_sync.sources.test_sources import stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_an_event_that_comes_twice_counts_once(spark: SparkSession) -> None:
    lines = frame_of(spark, [json.dumps(stored(stored_received=received)) for received in (3000, 2000, 2500)])
    (row,), dead = rows_in(spark, "data-plane", lines, callers=("cdap-master",))
    assert (row.received, dead) == (2000, [])
