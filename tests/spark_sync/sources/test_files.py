"""Only regular files of a source are read: no links, no pipes, nothing hidden."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ranger_cdap.config import SourceSettings
from ranger_cdap.errors import ConfigError
from spark_sync.sources.regular_files import has_others, list_files


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


FINE = ["events", "events/*", "events/*.jsonl", "events/[ab].jsonl", "ev*/a.jsonl", "events/deeper", "none/*"]


@pytest.mark.parametrize("pattern", FINE)
def test_regular_files_are_fine(events: Path, pattern: str) -> None:
    list_files(source(events.parent / pattern))


# Where a link stands, to what, and the paths that would follow it.
LINKS: dict[str, tuple[str, str, list[str]]] = {
    "a file": ("events/x.jsonl", "elsewhere/secret.jsonl", ["events", "events/*.jsonl", "ev*/*"]),
    "a file, by its name": ("events/x.jsonl", "elsewhere/secret.jsonl", ["events/x.jsonl", "events/[x-z].jsonl"]),
    "a directory": ("events/more", "elsewhere", ["events", "events/m*", "events/*/secret.jsonl", "events/mor?"]),
    "a directory that a pattern passes": ("other", "elsewhere", ["o*/*.jsonl", "[oe]*/secret.jsonl"]),
    "nothing": ("events/x.jsonl", "nowhere", ["events", "events/*.jsonl"]),
}


@pytest.mark.parametrize("case", LINKS)
def test_a_link_ends_it_with_its_name(events: Path, case: str) -> None:
    link, target, paths = LINKS[case]
    (events.parent / link).symlink_to(events.parent / target)
    for path in paths:
        with pytest.raises(ConfigError, match=f"{link}`, of source `s`, is a symbolic link; only regular files"):
            list_files(source(events.parent / path))


def test_a_pipe_ends_it_too(events: Path) -> None:
    os.mkfifo(events / "pipe")
    with pytest.raises(ConfigError, match="pipe`, of source `s`, is not a regular file"):
        list_files(source(events))


@pytest.mark.parametrize("name", ["1.jsonl.gz", "2.BZ2", "3.log.zst"])
def test_what_is_compressed_ends_it_unless_the_pattern_leaves_it_out(events: Path, name: str) -> None:
    (events / name).write_bytes(b"")
    with pytest.raises(ConfigError, match=f"{name}`, of source `s`, is compressed"):
        list_files(source(events))
    list_files(source(events / "*.jsonl"))


def test_links_that_nothing_follows_are_fine(events: Path) -> None:
    (events / "latest.log").symlink_to(events / "a.jsonl")
    (events / ".incoming" / "x").symlink_to(events / "a.jsonl")
    list_files(source(events / "*.jsonl"))
    (events / "latest.log").unlink()
    list_files(source(events))


def test_the_directory_itself_may_be_a_link(events: Path) -> None:
    (events.parent / "named").symlink_to(events)
    list_files(source(events.parent / "named"))
    list_files(source(events.parent / "named" / "*.jsonl"))


@pytest.mark.parametrize("path", [None, Path("nowhere-at-all")])
def test_no_directory(path: Path | None) -> None:
    with pytest.raises(ConfigError, match=r"needs `path`|does not exist"):
        list_files(SourceSettings(name="s", kind="audit", path=path))


# What is read of the files of `TREE`, by path or pattern.
TREE = ["a.jsonl", "b.log", "_c.jsonl", ".d.jsonl", "e.jsonl._COPYING_", "deeper/f.jsonl", "_hidden/g.jsonl"]
TREE += ["day=1/h.jsonl", "day=1/hour=2/i.jsonl", "day=1/_hour=2/j.jsonl", "deeper/day=1/k.jsonl"]
READ: dict[str, list[str]] = {
    "in": ["a.jsonl", "b.log"],
    "in/deeper": ["deeper/f.jsonl"],
    "in/_hidden": ["_hidden/g.jsonl"],
    "in/*.jsonl": ["a.jsonl"],
    "in/[!_]*.jsonl": ["a.jsonl"],
    "in/*/*.jsonl": ["day=1/h.jsonl", "deeper/f.jsonl"],
    "in/d*/*": ["day=1/h.jsonl", "deeper/f.jsonl"],
    "in/*/*/*": ["day=1/hour=2/i.jsonl", "deeper/day=1/k.jsonl"],
    "in/d*": [],
    "in/_*/*": [],
    "in/a.jsonl": ["a.jsonl"],
    "in/_c.jsonl": [],
    "in/../in/b.log": ["b.log"],
    "none/*": [],
}


@pytest.mark.parametrize("path", READ)
def test_which_files_are_read(tmp_path: Path, path: str) -> None:
    for n, name in enumerate(TREE):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text("x" * n)
    found = list_files(source(tmp_path / path))
    assert [file.path for file in found] == [str(tmp_path / "in" / name) for name in READ[path]]
    assert [file.size for file in found] == [TREE.index(name) for name in READ[path]]


@pytest.mark.parametrize("path", READ)
def test_a_look_at_names_finds_others_exactly_if_a_listing_does(tmp_path: Path, path: str) -> None:
    for name in TREE:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    found = {file.path for file in list_files(source(tmp_path / path))}
    assert not has_others(source(tmp_path / path), found)
    for missing in found:
        assert has_others(source(tmp_path / path), found - {missing})


def test_a_name_that_is_no_text_ends_it(events: Path) -> None:
    Path(os.fsdecode(os.fsencode(events) + b"/\xff.jsonl")).touch()
    with pytest.raises(ConfigError, match="\ufffd\\.jsonl`, of source `s`, has a name that is not UTF-8; rename it"):
        list_files(source(events))
