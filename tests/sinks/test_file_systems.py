"""Remote directories by `fsspec`: HDFS's own adapter over a local file system, and an object store in memory."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.fs
import pytest
from fsspec.implementations.arrow import ArrowFSWrapper
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

from ranger_cdap.errors import AuditSinkError, ConfigError
from ranger_cdap.sinks.file_systems import PublishedDirectory, RemoteDirectory, published_directory

LINES = b'{"id":"1"}\n'


class HdfsOverLocal(ArrowFSWrapper):
    """The adapter that `fsspec` has for HDFS, which needs a Hadoop client only below it."""

    protocol = "hdfs"
    cachable = False
    fails: str = ""

    def __init__(self, **_: Any) -> None:
        super().__init__(pyarrow.fs.LocalFileSystem())

    def put_file(self, lpath: str, rpath: str, **kwargs: Any) -> None:
        if self.fails == "before":
            raise OSError(28, "No space left on device")
        super().put_file(lpath, rpath, **kwargs)
        if self.fails == "after":
            raise RuntimeError("the name node\nis in safe mode")


class ObjectStore(MemoryFileSystem):
    protocol = "s3"
    cachable = False
    store: dict[str, Any] = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012
    fails = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return f"/{path.removeprefix('s3://').strip('/')}"

    def put_file(self, lpath: str, rpath: str, **kwargs: Any) -> None:
        if self.fails:
            raise PermissionError(13, "Forbidden")
        super().put_file(lpath, rpath, **kwargs)

    def exists(self, path: str, **kwargs: Any) -> bool:
        if self.fails:
            raise PermissionError(13, "Forbidden")
        return bool(super().exists(path, **kwargs))


@pytest.fixture(autouse=True)
def systems(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The libraries of the real ones count as installed."""
    before = dict(_registry)
    fsspec.register_implementation("hdfs", HdfsOverLocal, clobber=True)
    fsspec.register_implementation("s3", ObjectStore, clobber=True)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: find_spec("fsspec" if name == "s3fs" else name))
    yield
    _registry.clear()
    _registry.update(before)
    ObjectStore.store.clear()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "staged"
    path.write_bytes(LINES)
    return path


def test_a_file_of_hdfs_has_its_name_when_it_is_whole(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = published_directory(f"hdfs://{tmp_path}/p")
    monkeypatch.setattr(HdfsOverLocal, "fails", "after")
    with pytest.raises(AuditSinkError, match="the name node is in safe mode"):
        directory.publish(source, "cdap/a.1.log")
    assert [path.name for path in (tmp_path / "p" / "cdap").iterdir()] == [".a.1.log.tmp"]
    monkeypatch.setattr(HdfsOverLocal, "fails", "")
    for _ in range(2):
        directory.publish(source, "cdap/a.1.log")
        (found,) = (tmp_path / "p" / "cdap").iterdir()
        assert (found.name, found.read_bytes()) == ("a.1.log", LINES)


def test_an_object_is_put_whole_and_replaces_itself(source: Path) -> None:
    directory = published_directory("s3://bucket/audit/")
    for _ in range(2):
        directory.publish(source, "cdap/20260305/a.1.log")
    assert {name: stored.getvalue() for name, stored in ObjectStore.store.items()} == {
        "/bucket/audit/cdap/20260305/a.1.log": LINES
    }


@pytest.mark.parametrize(
    ("url", "owner", "fault"),
    [("hdfs://{}/p", HdfsOverLocal, "before"), ("s3://bucket/audit", ObjectStore, "forbidden")],
)
def test_a_file_system_that_refuses_is_an_error_in_one_line(
    url: str, owner: type[Any], fault: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "fails", fault)
    directory = published_directory(url.format(tmp_path))
    with pytest.raises(AuditSinkError, match=r"does not take audit files: (No space left on device|Forbidden)"):
        directory.publish(source, "a.1.log")


def test_the_check_asks_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in (f"hdfs://{tmp_path}/p", "s3://bucket/audit"):
        published_directory(url).check()
    assert not (tmp_path / "p").exists()
    assert not ObjectStore.store
    monkeypatch.setattr(ObjectStore, "fails", True)
    with pytest.raises(AuditSinkError, match="`s3://bucket/audit` does not take audit files: Forbidden"):
        published_directory("s3://bucket/audit").check()


def test_nothing_is_connected_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that is down does not keep a program from starting."""
    monkeypatch.setattr(HdfsOverLocal, "__init__", lambda *_, **__: pytest.fail("it is connected"))
    directory: PublishedDirectory = published_directory("hdfs://namenode:8020/ranger/audit")
    assert isinstance(directory, RemoteDirectory)


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'ranger-cdap\[hdfs\]' s3fs$"):
        published_directory("s3a://bucket/audit")
