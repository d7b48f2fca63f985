"""Few files are read in this process as Spark reads many: the same lines, events and dead letters for any bytes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from ranger_cdap.ranger_model.strict_json import HALF, LONGEST
from spark_sync.ingest.dead_letters import MOST_OF_A_FILE, DeadLetter
from spark_sync.ingest.file_reading import FilesReading, file_uri, lines_of, read_lines
from spark_sync.ledger.event import EntityEvent
from spark_sync.sources.line_reader import SHOWN
from spark_sync.sources.regular_files import SourceFile, list_files
from tests.spark_sync.sources.reading import NOW, READERS, event_of, read_line, rows_in
from tests.spark_sync.sources.test_http_access import MARKER, entry, marked
from tests.spark_sync.sources.test_sources import stored
from tests.spark_sync.sources.test_strict import GIVEN, GOOD, NOT_ONE, REPEATED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = ("data-plane", "audit", "http-access")
ODD_NAMES = [
    "a*b",
    "a[b]",
    "{x,y}",
    "b\\c",
    "q?x",
    "a b",
    "100%",
    "%20",
    "a+b",
    "ü",
    "😀",
    "a\nb",
    "c:d",
    "e#f",
    "\u2028",
]
ODD_NAMES += ["\xa0", "<>|^`", '"', "~!$&'()*,;=@-", "\x01\x7f", "e\u0301", "x=1"]

# Each pair of files reports an event under one id; the first in the order of columns counts.
REPEATED_IDS = [
    json.dumps(stored(**changes)).encode()
    for changes in (
        {"stored_received": 2000},
        {"stored_received": 1999},
        {"check_principal": "bob"},
        {"check_principal": "b\xfcb"},
        {"check_principal": "b\U0001f600b"},
        {"check_principal": "b\uffeeb"},
        {"record_started": 999},
        {"record_code": 500},
    )
]

INVALID = [b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"]
ENDS = [b"\n", b"\r", b"\r\n", b"\n\r", b"\n\n", b""]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def lines_of_kind(kind: str) -> list[bytes]:
    """Lines that the reader accepts or rejects for one reason or another."""
    lines = [line.encode() for table in (GOOD, NOT_ONE, REPEATED) for of, line in table.values() if of == kind]
    return [*lines, *(REPEATED_IDS if kind == "data-plane" else [])]


def spoiled(line: bytes) -> st.SearchStrategy[bytes]:
    """The line, cut off anywhere or with bytes that are no text."""
    places = st.integers(0, len(line))
    cut = st.tuples(places, places).map(lambda at: line[min(at) : max(at)])
    inside = st.tuples(places, st.sampled_from(INVALID)).map(lambda at: line[: at[0]] + at[1] + line[at[0] :])
    return st.one_of(st.just(line), cut, inside)


def contents(kind: str) -> st.SearchStrategy[bytes]:
    """Files of lines, garbage and ends of lines, and sometimes a byte order mark."""
    line = st.sampled_from(lines_of_kind(kind)).flatmap(spoiled)
    pieces = st.one_of(
        line, line, st.sampled_from([*INVALID, BYTE_ORDER_MARK, b" ", b"\0", b"x" * 499]), st.binary(max_size=9)
    )
    parts = st.lists(st.tuples(pieces, st.sampled_from(ENDS)).map(b"".join), max_size=6).map(b"".join)
    return st.tuples(st.sampled_from([b"", b"", BYTE_ORDER_MARK]), parts).map(b"".join)


def by_python(kind: str, directory: Path) -> FilesReading:
    configured = SourceSettings(name="s", kind=kind, path=directory, **GIVEN[kind])
    return read_lines(list_files(configured), READERS[kind], configured, "cdap", NOW)


def by_spark(spark: SparkSession, kind: str, directory: Path) -> tuple[int, dict[str, EntityEvent], list[DeadLetter]]:
    from spark_sync.sources.text_files import read_files

    configured = SourceSettings(name="s", kind=kind, path=directory, **GIVEN[kind])
    lines = read_files(spark, [file.path for file in list_files(configured)])
    rows, dead = rows_in(spark, kind, lines, **GIVEN[kind])
    return lines.count(), {row.id: event_of(row) for row in rows}, dead


def assert_alike(spark: SparkSession, kind: str, files: Sequence[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        for n, content in enumerate(files):
            (Path(name) / f"{n}{ODD_NAMES[n % len(ODD_NAMES)]}").write_bytes(content)
        found = by_python(kind, Path(name))
        lines, events, dead = by_spark(spark, kind, Path(name))
    assert list(found.dead_letters) == dead
    assert {event.id: event for event in found.events} == events
    assert (found.lines, len(found.files)) == (lines, len(files))


@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
def test_any_bytes_are_read_alike(spark: SparkSession, kind: str) -> None:
    @settings(max_examples=4, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(st.lists(contents(kind), min_size=5, max_size=30))
    def search(files: list[bytes]) -> None:
        assert_alike(spark, kind, files)

    search()


LONG = b'{"a":"' + b"\xc3\xa9" * (LONGEST // 2) + b'"}'
ADVERSE: dict[str, tuple[str, list[bytes]]] = {
    "ends of lines": ("audit", [b"a\rb\r\nc\n\rd", b"\r", b"\n", b"\r\n", b"x\r", b"", b"\n\n\n", b"a\n\r\n\rb"]),
    "byte order marks": (
        "audit",
        [
            BYTE_ORDER_MARK,
            BYTE_ORDER_MARK + b"\n",
            BYTE_ORDER_MARK * 2,
            BYTE_ORDER_MARK + b"\r",
            b"\n" + BYTE_ORDER_MARK,
            BYTE_ORDER_MARK[:2],
        ],
    ),
    "other ends of lines than these": ("audit", ["a\u2028b\x0bc\x0cd\x85e\x1cf\u2029".encode()]),
    "no text": ("audit", [*INVALID, *(b"x" * (SHOWN - 1) + each for each in INVALID), b"".join(INVALID) * 100]),
    "long characters": ("audit", [("\U0001f600" * (SHOWN + 1)).encode(), ("e\u0301" * SHOWN).encode()]),
    "long lines": ("audit", [LONG, LONG + b"\n" + LONG, b"x" * LONGEST, b"x" * (LONGEST + 1), b"x" * (2 * HALF + 1)]),
    "long lines of a log": (
        "http-access",
        [
            marked(entry("PUT /v3/namespaces/long", f"- {'é' * LONGEST} 200 46 -")).encode(),
            marked(entry("PUT /v3/namespaces/l2", f"- {'x' * HALF} 200 46 -")).encode()[:-1],
            f"{MARKER} {'é' * LONGEST} {MARKER}".encode(),
        ],
    ),
    "many rejected lines": ("audit", [b"\n" * n for n in (0, 1, MOST_OF_A_FILE, MOST_OF_A_FILE + 1, 5000)]),
    "one id, several events": ("data-plane", [b"\n".join(REPEATED_IDS), b"\n".join(reversed(REPEATED_IDS))]),
    "one event in several files": ("data-plane", [each + b"\n" for each in REPEATED_IDS]),
}


@pytest.mark.spark
@pytest.mark.parametrize("case", ADVERSE)
def test_adverse_bytes_are_read_alike(spark: SparkSession, case: str) -> None:
    assert_alike(spark, *ADVERSE[case])


@pytest.mark.spark
def test_a_file_has_the_uri_that_spark_gives_it(spark: SparkSession, tmp_path: Path) -> None:
    from spark_sync.sources.text_files import read_files

    letters = (
        chr(n) for n in [*range(1, 0x250), 0x378, 0x1680, *range(0x2000, 0x2070), 0x3000, 0xE000, 0xFEFF, 0x1F600]
    )
    files = [tmp_path / f"-{letter}-" for letter in letters if letter != "/"]
    for file in files:
        file.write_text("x")
    found = read_files(spark, [str(file) for file in files]).select("file").collect()
    assert sorted(row.file for row in found) == sorted(file_uri(str(file)) for file in files)


def test_lines_end_as_in_hadoop() -> None:
    assert lines_of(b"a\rb\r\nc\n\nd") == [b"a", b"b", b"c", b"", b"d"]
    assert lines_of(BYTE_ORDER_MARK + b"a\n" + BYTE_ORDER_MARK) == [b"a", BYTE_ORDER_MARK]
    assert lines_of(BYTE_ORDER_MARK) == lines_of(b"") == []


def source(path: Path) -> SourceSettings:
    return SourceSettings(name="s", kind="audit", path=path)


def test_a_file_that_was_deleted_since_it_was_listed_is_not_among_those_read(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"{\n")
    files = list_files(source(tmp_path))
    (tmp_path / "b").unlink()
    found = read_lines(files, READERS["audit"], source(tmp_path), "cdap", NOW)
    assert [Path(file.path).name for file in found.files] == ["a", "c"]
    assert (found.lines, len(found.dead_letters)) == (2, 2)


SWAPPED = ["a symbolic link", "a pipe", "a directory"]


@pytest.mark.parametrize("what", SWAPPED)
def test_what_replaced_a_listed_file_is_not_read(tmp_path: Path, what: str) -> None:
    path = tmp_path / "events" / "1.jsonl"
    path.parent.mkdir()
    (tmp_path / "secret").write_text("secret")
    if what == "a symbolic link":
        path.symlink_to(tmp_path / "secret")
    elif what == "a pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(ConfigError, match=r"1.jsonl`, of source `s`, cannot be read: "):
        read_lines([SourceFile(str(path), 6)], READERS["audit"], source(tmp_path), "cdap", NOW)


def test_of_equal_ids_the_first_event_counts_whatever_the_order(tmp_path: Path) -> None:
    for order in (1, -1):
        (tmp_path / "1.jsonl").write_bytes(b"\n".join(REPEATED_IDS[:2][::order]))
        (event,) = by_python("data-plane", tmp_path).events
        assert event.received == 1999
        assert read_line("data-plane", REPEATED_IDS[1].decode(), **GIVEN["data-plane"]).events == (event,)
