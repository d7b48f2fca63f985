"""Only regular files of a source are read: no links, no pipes, nothing hidden."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.sources.regular_files import check_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def source(path: Path) -> SourceSettings:
    return SourceSettings(name="s", kind="audit", path=path)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A directory of events as the decision service leaves it, and a secret elsewhere."""
    directory = tmp_path / "events"
    (directory / ".incoming").mkdir(parents=True)
    (directory / "a.jsonl").write_text("a\n")
    (directory / "b.jsonl").write_text("b\n")
    (directory / ".watermark").write_text("watermark\n")
    (directory / ".incoming" / "1.jsonl").write_text("half a line\n")
    (directory / "deeper").mkdir()
    (directory / "deeper" / "c.jsonl").write_text("c\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.jsonl").write_text("secret\n")
    return directory


FINE = ["events", "events/*.jsonl", "events/[ab].jsonl", "events/{a,b}.jsonl", "ev*/a.jsonl", "events/deeper", "none/*"]


@pytest.mark.parametrize("pattern", FINE)
def test_regular_files_are_fine(events: Path, pattern: str) -> None:
    check_path(source(events.parent / pattern))


# Where a link stands, to what, and the paths that would follow it.
LINKS: dict[str, tuple[str, str, list[str]]] = {
    "a file": ("events/x.jsonl", "elsewhere/secret.jsonl", ["events", "events/*.jsonl", "events/{x,y}.jsonl", "ev*/*"]),
    "a file, by its name": ("events/x.jsonl", "elsewhere/secret.jsonl", ["events/x.jsonl", "events/[x-z].jsonl"]),
    "a directory": ("events/more", "elsewhere", ["events", "events/m*", "events/*/secret.jsonl", "events/mor?"]),
    "a directory that a pattern passes": ("other", "elsewhere", ["o*/*.jsonl", "{other,events}*/secret.jsonl"]),
    "something in a deeper directory": ("events/deeper/x", "elsewhere/secret.jsonl", ["events", "events/d*"]),
    "nothing": ("events/x.jsonl", "nowhere", ["events", "events/*.jsonl"]),
}


@pytest.mark.parametrize("case", LINKS)
def test_a_link_ends_it_with_its_name(events: Path, case: str) -> None:
    link, target, paths = LINKS[case]
    (events.parent / link).symlink_to(events.parent / target)
    for path in paths:
        with pytest.raises(ConfigError, match=f"{link}`, of source `s`, is a symbolic link; only regular files"):
            check_path(source(events.parent / path))


def test_a_pipe_ends_it_too(events: Path) -> None:
    os.mkfifo(events / "pipe")
    with pytest.raises(ConfigError, match="pipe`, of source `s`, is not a regular file"):
        check_path(source(events))


@pytest.mark.parametrize("name", ["1.jsonl.gz", "2.BZ2", "3.log.zst"])
def test_what_is_compressed_ends_it_unless_the_pattern_leaves_it_out(events: Path, name: str) -> None:
    (events / name).write_bytes(b"")
    with pytest.raises(ConfigError, match=f"{name}`, of source `s`, is compressed"):
        check_path(source(events))
    check_path(source(events / "*.jsonl"))


def test_links_that_nothing_follows_are_fine(events: Path) -> None:
    (events / "latest.log").symlink_to(events / "a.jsonl")
    (events / ".incoming" / "x").symlink_to(events / "a.jsonl")
    check_path(source(events / "*.jsonl"))
    (events / "latest.log").unlink()
    check_path(source(events))


def test_the_directory_itself_may_be_a_link(events: Path) -> None:
    (events.parent / "named").symlink_to(events)
    check_path(source(events.parent / "named"))
    check_path(source(events.parent / "named" / "*.jsonl"))


def test_a_pattern_that_takes_in_a_hidden_directory_is_refused(events: Path) -> None:
    with pytest.raises(ConfigError, match=r"matches the hidden directory `.*\.incoming`; end it like"):
        check_path(source(events / "*"))


@pytest.mark.parametrize("path", [None, Path("nowhere-at-all")])
def test_no_directory(path: Path | None) -> None:
    with pytest.raises(ConfigError, match=r"needs `path`|does not exist"):
        check_path(SourceSettings(name="s", kind="audit", path=path))


@pytest.mark.spark
def test_nothing_hidden_is_read_and_a_link_is_found_at_the_next_run(spark: SparkSession, events: Path) -> None:
    assert read(spark, events, "1") == ["a", "b"]
    assert read(spark, events / "*.jsonl", "2") == ["a", "b"]
    assert read(spark, events.parent / "{events,events/.incoming}" / "*.jsonl", "3") == ["a", "b"]
    assert read(spark, events.parent / "*" / "[ab1]*", "4") == ["a", "b"]
    (events / "x.jsonl").symlink_to(events.parent / "elsewhere" / "secret.jsonl")
    with pytest.raises(ConfigError, match="is a symbolic link"):
        read(spark, events, "1")
    (events / "x.jsonl").unlink()
    (events / "d.jsonl").write_text("d\n")
    assert read(spark, events, "1") == ["d"]


def read(spark: SparkSession, path: Path, checkpoint: str) -> list[str]:
    """What a run of the stream reads."""
    from spark_sync.sources.text_files import read_text_files

    lines: list[str] = []
    (
        read_text_files(spark, source(path))
        .writeStream.trigger(availableNow=True)
        .option("checkpointLocation", str((path.parent.parent if "*" in str(path) else path.parent) / checkpoint))
        .foreachBatch(lambda batch, _: lines.extend(row.line for row in batch.collect()))
        .start()
        .awaitTermination()
    )
    return sorted(lines)
