"""A shared file system for each test: a URL of this machine's, which is quick, and those of two real servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from ranger_cdap import store as stores
from ranger_cdap.config import StoreUrl
from tests.cluster.servers import BUCKET, Hdfs, hdfs_server, s3_server
from tests.cluster.spark_clusters import SparkCluster, standalone, yarn
from tests.spark_sync.conftest import (  # noqa: F401
    _grants_one_at_a_time,
    embedded,
    new_ranger,
    ranger,
)

REAL = [pytest.param(name, marks=pytest.mark.cluster) for name in ("s3", "hdfs")]
"""The real ones alone."""


@pytest.fixture(scope="session")
def s3_variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of clients of a server, also if a test sets another one for itself."""
    with s3_server(tmp_path_factory.mktemp("s3")) as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield dict(variables)


@pytest.fixture(scope="session")
def s3(s3_variables: dict[str, str]) -> str:
    assert s3_variables
    return f"s3://{BUCKET}"


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with hdfs_server(tmp_path_factory.mktemp("hdfs")) as server:
        yield server


@pytest.fixture(scope="session")
def standalone_cluster(
    tmp_path_factory: pytest.TempPathFactory, s3: str, s3_variables: dict[str, str]
) -> Iterator[SparkCluster]:
    with standalone(tmp_path_factory.mktemp("standalone"), s3, s3_variables) as cluster:
        yield cluster


@pytest.fixture(params=["standalone", "yarn"])
def cluster(request: pytest.FixtureRequest) -> SparkCluster:
    """Spark on two machines that are one."""
    if request.param == "yarn":
        return yarn(request.getfixturevalue("hdfs"))
    found: SparkCluster = request.getfixturevalue("standalone_cluster")
    return found


@pytest.fixture(params=["file", *REAL])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUrl:
    """An empty directory."""
    return empty_directory(request, tmp_path)


def empty_directory(request: pytest.FixtureRequest, tmp_path: Path) -> StoreUrl:
    """An empty directory in the store that a parameter names."""
    name = uuid4().hex
    match request.param:
        case "s3":
            return StoreUrl(request.getfixturevalue("s3"), name)
        case "hdfs":
            return StoreUrl(request.getfixturevalue("hdfs").root, name)
    (tmp_path / name).mkdir()
    return StoreUrl("file://", str(tmp_path / name).lstrip("/"))


def put(at: StoreUrl, content: bytes | str) -> None:
    """Write a file."""
    if at.root == "file://":
        Path("/", at.path).parent.mkdir(parents=True, exist_ok=True)
    stores.replace_object(at, content.encode() if isinstance(content, str) else content)
