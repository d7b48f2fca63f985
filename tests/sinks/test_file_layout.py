"""Names of audit files: those of Ranger's HDFS destination, each once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.sinks.file_layout import RANDOM_DIGITS, FileNumber

MOMENT = datetime(2026, 3, 5, 7, 8, 9, 45_000, UTC)
NUMBER = FileNumber(f"{int(MOMENT.timestamp())}045123456789012", "node1.example.com")


def test_the_names_are_those_of_ranger_with_a_number_where_it_counts() -> None:
    assert NUMBER.path == f"cdap/20260305/cdap_ranger_audit_node1.example.com.{NUMBER.number}.log"


def test_a_file_is_complete_at_midnight() -> None:
    assert (NUMBER.begun, NUMBER.end) == (MOMENT, datetime(2026, 3, 6, tzinfo=UTC))


@given(st.integers(0, 10**14), st.integers(0, 10**RANDOM_DIGITS - 1))
def test_a_file_ends_after_it_was_begun_on_the_day_in_its_path(milliseconds: int, random: int) -> None:
    number = FileNumber(f"{milliseconds}{random:0{RANDOM_DIGITS}}", "host")
    assert timedelta(0) < number.end - number.begun <= timedelta(days=1)
    assert number.path.split("/")[1] == f"{number.begun:%Y%m%d}"
