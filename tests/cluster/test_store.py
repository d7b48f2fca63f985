"""Files of a shared file system: what is written is listed and read, by any name that the store takes."""

from __future__ import annotations

import pytest

from ranger_cdap import store as stores
from ranger_cdap.config import SourceSettings, StoreUrl, location, named
from ranger_cdap.errors import ConfigError
from ranger_cdap.store import StoreEntry
from spark_sync.ingest.file_slices import SLICE, FileSlice, read_slice, slices_of
from spark_sync.ledger.notes import is_gone
from spark_sync.sources.regular_files import SourceFile, has_others, list_files
from tests.cluster.conftest import put

NAMES = (
    "a.log", "a b.log", "p%25.log", "d%e.log", "h#.log", "q?.log", "ü.log", "st*r.log", "s[1].log", "e=f,g+h.log",
    "b\\c.log", "{x}.log", "a&b;c'd\".log",
)  # fmt: skip


def source(path: StoreUrl) -> SourceSettings:
    return SourceSettings(name="s", kind="audit", path=path)


def test_what_is_written_is_listed_and_read(store: StoreUrl) -> None:
    for name in NAMES:
        put(store / "d" / name, f"1 {name}\r\n2\n")
    put(store / "d" / "below" / "x.log", "x")
    assert {each.name: each.size for each in stores.entries(store / "d")} == {
        name: len(f"1 {name}\r\n2\n".encode()) for name in NAMES
    } | {"below": None}
    assert StoreEntry("below/x.log", 1) in stores.entries(store / "d", below=True)
    files = list_files(source(store / "d"))
    assert [file.path for file in files] == sorted(str(store / "d" / name) for name in NAMES)
    for file in files:
        (part,) = slices_of(file)
        assert list(read_slice(part, "s")) == [f"1 {named(file.path).path[len(store.path) + 3 :]}".encode(), b"2"]
        assert not is_gone(file.path)
    assert is_gone(str(store / "d" / "none"))
    assert not has_others(source(store / "d"), {file.path for file in files})
    assert has_others(source(store / "d"), {file.path for file in files[1:]})


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("events", ["events/1.jsonl", "events/2.log"]),
        ("events/*.jsonl", ["events/1.jsonl"]),
        ("*/1.jsonl", ["events/1.jsonl", "other/1.jsonl"]),
        ("*/*/*", ["events/below/3.log"]),
        ("events/2.log", ["events/2.log"]),
        ("none/*.log", []),
    ],
)
def test_what_a_pattern_matches(store: StoreUrl, path: str, found: list[str]) -> None:
    for name in ("events/1.jsonl", "events/2.log", "events/_hidden", "events/.hidden", "events/4._COPYING_",
                 "events/below/3.log", "other/1.jsonl"):  # fmt: skip
        put(store / name, "x")
    assert [file.path for file in list_files(source(store / path))] == [str(store / name) for name in found]


def test_nothing_is_listed_silently(store: StoreUrl) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        list_files(source(store / "none"))
    put(store / "d" / "1.log.gz", "x")
    with pytest.raises(ConfigError, match="is compressed"):
        list_files(source(store / "d"))


def test_a_file_that_is_gone_and_one_of_several_slices(store: StoreUrl) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_slice(FileSlice(str(store / "none"), 0, None), "s"))
    line = b"x" * 999 + b"\n"
    content = line * (SLICE // 1000 + 500)
    put(store / "big", content)
    parts = list(slices_of(SourceFile(str(store / "big"), len(content))))
    assert len(parts) == 2
    assert sum(len(list(read_slice(part, "s"))) for part in parts) == SLICE // 1000 + 500


def test_a_file_is_replaced_and_a_directory_moved_and_removed(store: StoreUrl) -> None:
    put(store / "a" / "x", "1")
    put(store / "a" / "x", "22")
    put(store / "a" / "b" / "y", "")
    assert (stores.file_size(store / "a" / "x"), stores.file_size(store / "a" / "b" / "y")) == (2, 0)
    if store.root != "file://":
        stores.move_directory(store / "a", store / "c")
        assert stores.file_size(store / "c" / "b" / "y") == 0
        assert not stores.is_there(store / "a" / "x")
        stores.remove_directory(store / "c")
        assert not stores.is_there(store / "c" / "x")


@pytest.mark.cluster
@pytest.mark.parametrize("url", ["s3://no-such-bucket/events", "hdfs://127.0.0.1:1/events"])
def test_a_store_that_does_not_answer_is_an_error(s3: str, url: str) -> None:
    found = location(url)
    assert isinstance(found, StoreUrl)
    with pytest.raises(ConfigError, match=r"cannot be read: Generic .*(404 Not Found|Connection refused)"):
        list_files(source(found / "*.log"))
