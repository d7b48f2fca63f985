"""Slices of files: whatever the bytes and the slices, each line is read once, as from the whole file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from ranger_cdap.ranger_model.strict_json import HALF, LONGEST
from spark_sync.ingest import file_slices
from spark_sync.ingest.file_slices import FileSlice, read_slice, slices_of
from spark_sync.sources.regular_files import SourceFile, list_files

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PIECES = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\r", b"a", b"bc", b"\xff", b"\x85", b"\x0b", "\u2028".encode()])
CONTENTS = st.builds(
    bytes.__add__, st.sampled_from([b"", BYTE_ORDER_MARK, BYTE_ORDER_MARK[:2]]), st.lists(PIECES).map(b"".join)
)


def lines_of(content: bytes) -> list[bytes]:
    """The law: lines end at LF, CR or CRLF, and a byte order mark is before the first."""
    text = content.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.removesuffix(b"\n").split(b"\n") if text else []


@contextmanager
def file_of(content: bytes, slice_: int, piece: int = file_slices._PIECE) -> Iterator[SourceFile]:
    """A file of these bytes, read in such slices and pieces."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_slices, "SLICE", slice_)
        patch.setattr(file_slices, "_PIECE", piece)
        (Path(name) / "f").write_bytes(content)
        yield SourceFile(f"{name}/f", len(content))


@given(CONTENTS, st.integers(4, 9), st.integers(1, 4))
@example(BYTE_ORDER_MARK + b"a\n" + BYTE_ORDER_MARK, 4, 1)
@settings(suppress_health_check=list(HealthCheck))
def test_each_line_is_in_one_slice(content: bytes, slice_: int, piece: int) -> None:
    with file_of(content, slice_, piece) as file:
        assert [line for part in slices_of(file) for line in read_slice(part, "s")] == lines_of(content)


LONG = {
    "of the most bytes": (b"x" * LONGEST, b"x" * LONGEST),
    "of one more": (b"x" * (LONGEST + 1), b"x" * (LONGEST + 1)),
    "twice as long": (b"a" * HALF + b"b" * LONGEST + b"c" * HALF, b"a" * HALF + b"c" * HALF),
}


@pytest.mark.parametrize("case", LONG)
def test_of_a_long_line_the_ends_are_kept_and_it_stays_too_long(case: str) -> None:
    given_, kept = LONG[case]
    with file_of(b"1\n" + given_ + b"\r2\r\n", 1000) as file:
        lines = [line for part in slices_of(file) for line in read_slice(part, "s")]
    assert lines == [b"1", kept, b"2"]
    assert (len(kept) > LONGEST) == (len(given_) > LONGEST)


def test_a_file_that_grew_since_it_was_listed_is_read_to_its_end() -> None:
    with file_of(b"a\nb\nc\nd\n", 2) as file:
        parts = list(slices_of(SourceFile(file.path, 3)))
        assert [line for part in parts for line in read_slice(part, "s")] == [b"a", b"b", b"c", b"d"]


def source(path: Path) -> SourceSettings:
    return SourceSettings(name="s", kind="audit", path=path)


ODD_NAMES = ["a*b", "[a]", "{x,y}", "b\\c", "q?x", "a b", "%20", "ü", "😀", "a\nb", "c:d", "\u2028", "x=1"]


def test_files_are_read_by_their_very_names(tmp_path: Path) -> None:
    for name in ODD_NAMES:
        (tmp_path / name).write_text(name.replace("\n", " "), encoding="utf-8")
    (tmp_path / ".a*b.crc").write_bytes(b"no checksum")
    found = {next(read_slice(part, "s")).decode() for file in list_files(source(tmp_path)) for part in slices_of(file)}
    assert found == {name.replace("\n", " ") for name in ODD_NAMES}


@pytest.mark.parametrize("what", ["a symbolic link", "a pipe", "a directory"])
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
        list(read_slice(FileSlice(str(path), 0, None), "s"))
