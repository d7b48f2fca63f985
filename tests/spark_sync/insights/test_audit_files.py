"""Files of an audit: which are read, and what is refused by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ranger_cdap.errors import InvalidInput
from spark_sync.insights.audit_files import list_audit


def names(root: Path, *paths: Path) -> list[str]:
    return [str(Path(file.name).relative_to(root)) for file in list_audit([str(path) for path in paths])]


def test_the_layout_of_rangers_plugins_is_read_below_a_directory(tmp_path: Path) -> None:
    wanted = [
        "cdapdev/20261117/cdapdev_ranger_audit_node1.log",
        "cdapdev/20261118/cdapdev_ranger_audit_node1.1.log",
        "cdapdev/20261118/cdapdev_ranger_audit_node1.log",
        "records.jsonl",
        "records.jsonl.1",
    ]
    for name in (*wanted, "cdapdev/_SUCCESS", "cdapdev/.part.crc", "_temporary/0/part.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n")
    found = list_audit([str(tmp_path)])
    assert [str(Path(file.name).relative_to(tmp_path)) for file in found] == wanted


def test_a_file_named_twice_is_read_once_and_a_hidden_one_if_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("")
    (tmp_path / "_b.log").write_text("")
    assert names(tmp_path, tmp_path, tmp_path / "a.log", tmp_path / "_b.log") == ["_b.log", "a.log"]


@pytest.mark.parametrize("name", ["*.log", "a[b].log", "{a,b}.log", "a b:c%20#.log", "ä.log", "?"])
def test_a_name_is_no_pattern(name: str, tmp_path: Path) -> None:
    for each in (name, "ab.log"):
        (tmp_path / each).write_text("")
    assert names(tmp_path, tmp_path / name) == [name]


def test_a_named_directory_may_be_a_link_but_nothing_below_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.log").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert len(list_audit([str(tmp_path / "link")])) == 1
    (tmp_path / "real" / "down").symlink_to("/etc")
    with pytest.raises(InvalidInput, match="down`, of the audit, is a symbolic link"):
        list_audit([str(tmp_path / "real")])


def refused(path: Path | str) -> str:
    with pytest.raises(InvalidInput) as e:
        list_audit([str(path)])
    return str(e.value)


def test_what_is_no_file_of_an_audit_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("")
    (tmp_path / "link.log").symlink_to(tmp_path / "a.log")
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "a.log.gz").write_bytes(b"")
    (tmp_path / "two\nlines.log").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.PARQUET").write_bytes(b"PAR1")
    Path(os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.log")).write_text("")
    assert "link.log`, of the audit, is a symbolic link" in refused(tmp_path / "link.log")
    assert "pipe.log`, of the audit, is not a regular file" in refused(tmp_path / "pipe.log")
    assert "a.log.gz` is compressed" in refused(tmp_path / "a.log.gz")
    assert "has a name of several lines" in refused(tmp_path / "two\nlines.log")
    assert "there are no files" in refused(tmp_path / "empty")
    assert "a.PARQUET` has columns and no lines" in refused(tmp_path / "a.PARQUET")
    assert "missing.log`, of the audit, cannot be read: No such file" in refused(tmp_path / "missing.log")
    assert "a name that is not UTF-8" in refused(os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.log"))
    assert "is a symbolic link" in refused(f"file://{tmp_path}/link.log"), "a URL of a local file is its path"
    assert "an empty path" in refused("")
    assert "can only be listed by Spark" in refused("hdfs://namenode/audit")
