"""Paths of audit files: Ranger's tokens and periods, and values that try to leave the directory."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.audit.file_layout import RANDOM_DIGITS, FileLayout, FileNumber, Rollover
from ranger_cdap.errors import ConfigError

SUBDIR = "%app-type%/%time:yyyyMMdd%"
FILE = "%app-type%_ranger_audit_%hostname%.log"
MOMENT = datetime(2026, 3, 5, 7, 8, 9, 45_000, UTC)
BEGUN = f"{int(MOMENT.timestamp())}045"
NUMBER = FileNumber(BEGUN + "123456789012", "node1.example.com")


def path(folder: str = SUBDIR, file: str = FILE, number: FileNumber = NUMBER, **variables: str) -> str:
    return FileLayout.of(folder, file, variables, "cdap").path(number)


def test_the_defaults_are_those_of_ranger_with_a_number_where_it_counts() -> None:
    expected = f"cdap/20260305/cdap_ranger_audit_node1.example.com.{NUMBER.number}.log"
    assert path() == expected


# a folder, and what it becomes
FOLDERS = [
    ("", ""),
    ("/a/b/", "a/b/"),
    ("dt=%time:yyyy-MM-dd%/h=%time:HH%", "dt=2026-03-05/h=07/"),
    ("%time:yy.M.d_H.m.s.SSS%", "26.3.5_7.8.9.045/"),
    ("%time:yyyy'T'DDD%", "2026T064/"),
    ("%env:CLUSTER%", "east/"),
    ("%env:NOT_SET%", "unknown/"),
    ("%hostname%", "node1.example.com/"),
    ("p-%jvm-instance%", f"p-{NUMBER.number}/"),
]


@pytest.mark.parametrize(("folder", "expected"), FOLDERS)
def test_tokens_are_filled_in_as_by_ranger(folder: str, expected: str) -> None:
    assert path(folder, "f.log", CLUSTER="east") == f"{expected}f.{NUMBER.number}.log"


@pytest.mark.parametrize(("file", "expected"), [("a.b.log", f"a.b.{NUMBER.number}.log"), ("a", f"a.{NUMBER.number}")])
def test_the_number_is_before_the_ending(file: str, expected: str) -> None:
    assert path("", file) == expected


@pytest.mark.parametrize(
    ("folder", "file", "said"),
    [
        ("../x", FILE, "`audit.hdfs_subdir` must not have `.`, `..`"),
        ("a//b", FILE, "`audit.hdfs_subdir` must not have"),
        ("%time:..%", FILE, "must not have a time of dots only"),
        ("a\nb", FILE, "`audit.hdfs_subdir` may have letters"),
        ("a%b", FILE, "`audit.hdfs_subdir` may have letters"),
        ("%user%", FILE, "unknown token `%user%`"),
        ("%property:user.name%", FILE, "a property of a JVM; use `%env:NAME%`"),
        ("%time:EEE%", FILE, "no time in numbers"),
        ("%time:MMM%", FILE, "no time in numbers"),
        ("%time:%", FILE, "no time in numbers"),
        ("%time:yyyy/MM%", FILE, "no time in numbers"),
        ("%time:yyyy'%", FILE, "no time in numbers"),
        (SUBDIR, "", "must be the name of a file"),
        (SUBDIR, "a/b.log", "must be the name of a file"),
        (SUBDIR, "..", "`audit.hdfs_filename_format` must not have"),
    ],
)
def test_what_is_no_layout_is_rejected(folder: str, file: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)) as caught:
        path(folder, file)
    assert "\n" not in str(caught.value)


TOKENS = st.sampled_from(
    ["%app-type%", "%hostname%", "%env:X%", "%time:yyyyMMdd%", "%jvm-instance%", "a", "-", ".", "/"]
)
FORMATS = st.lists(TOKENS, max_size=6).map("".join)
VALUES = st.one_of(
    st.sampled_from(["..", ".", "", "/", "../..", "a/../b", "\0", "%hostname%", "%time:yyyy%"]), st.text()
)
NUMBERS = st.builds(
    lambda ms, end: FileNumber(f"{ms}{end:0{RANDOM_DIGITS}}", "h"),
    st.integers(0, 253_402_300_799_999),
    st.integers(0, 10**RANDOM_DIGITS - 1),
)


@given(FORMATS, FORMATS, VALUES, VALUES, VALUES, NUMBERS)
def test_whatever_the_values_are_the_path_stays_below_the_directory(
    folder: str, file: str, variable: str, application: str, host: str, number: FileNumber
) -> None:
    try:
        layout = FileLayout.of(folder, file, {"X": variable}, application)
    except ConfigError:
        return
    found = layout.path(FileNumber(number.number, host))
    parts = found.split("/")
    assert not {"", ".", ".."} & set(parts)
    assert re.fullmatch(r"[A-Za-z0-9._-]+", "".join(parts))
    assert len(parts) <= folder.count("/") + 2


@given(FORMATS, FORMATS, NUMBERS, NUMBERS)
def test_two_files_never_have_one_path(folder: str, file: str, one: FileNumber, other: FileNumber) -> None:
    try:
        layout = FileLayout.of(folder, file, {}, "cdap")
    except ConfigError:
        return
    assert (layout.path(one) == layout.path(other)) == (one == other)


# a period, and when a file that was begun at 2026-03-05 (a Thursday) 07:08:09.045 is complete
PERIODS = [
    ("30s", "2026-03-05T07:08:39.045"),
    ("10m", "2026-03-05T07:18:00"),
    ("1h", "2026-03-05T08:00:00"),
    ("25h", "2026-03-06T08:00:00"),
    ("1d", "2026-03-06T00:00:00"),
    ("1w", "2026-03-09T00:00:00"),
    ("1M", "2026-04-01T00:00:00"),
    ("10M", "2027-01-01T00:00:00"),
    ("1y", "2027-01-01T00:00:00"),
    ("999999999y", "9999-12-31T23:59:59.999999"),
    ("999999999s", "2057-11-11T08:54:48.045"),
]


@pytest.mark.parametrize(("period", "end"), PERIODS)
def test_a_file_is_complete_at_the_top_of_the_unit(period: str, end: str) -> None:
    assert Rollover.of(period).end(MOMENT) == datetime.fromisoformat(end).replace(tzinfo=UTC)


NO_PERIODS = ["", "1", "h", "0h", "-1h", "1 h", "1x", "1H", "1h\n", "1.5h", "9999999999s", "\u0661h"]


@pytest.mark.parametrize("text", NO_PERIODS)
def test_what_is_no_period_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError, match=r"`audit\.hdfs_rollover` must be a number and a unit"):
        Rollover.of(text)


@given(st.integers(1, 999_999_999), st.sampled_from("smhdwMy"), st.datetimes(timezones=st.just(UTC)))
def test_a_file_is_complete_later_than_it_was_begun(amount: int, unit: str, begun: datetime) -> None:
    end = Rollover(amount, unit).end(begun)
    assert end > begun or begun > datetime(9999, 12, 1, tzinfo=UTC)
    if unit in "smhd":
        length = {"s": 1, "m": 60, "h": 3600, "d": 86_400}[unit]
        assert end == datetime.max.replace(tzinfo=UTC) or end - begun <= timedelta(seconds=amount * length)
