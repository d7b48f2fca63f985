"""The jars that Spark gets: those that sources need, of a directory; none without such a source."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from ranger_cdap.errors import SparkMissing
from spark_sync.spark.jars import spark_jars

CONNECTOR = "org.example:connector:1.0"


def put(directory: Path, *names: str) -> set[str]:
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).touch()
    return set(names)


def given(jars_dir: Path | None, package: str) -> set[str]:
    """The names of the jars that the driver gets, and executors too."""
    settings = spark_jars(jars_dir, [package])
    assert settings.keys() == {"spark.driver.extraClassPath", "spark.executor.extraClassPath"}
    (path,) = set(settings.values())
    assert all(Path(jar).is_file() for jar in path.split(":"))
    return {Path(jar).name for jar in path.split(":")}


@pytest.mark.parametrize("configured", [True, False])
def test_without_a_source_that_needs_one_spark_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    put(tmp_path / "jars", "connector-1.0.jar")
    assert spark_jars(tmp_path / "jars" if configured else None, []) == {}


@pytest.mark.parametrize("configured", [True, False])
def test_what_a_source_needs_and_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    put(tmp_path / "jars", "connector-0.9.jar")
    with pytest.raises(SparkMissing, match=r"`connector-1.0.jar`, which a source needs.*org.example:connector:1.0"):
        spark_jars(tmp_path / "jars" if configured else None, [CONNECTOR])


@pytest.mark.parametrize("configured", [True, False])
def test_a_directory_that_has_what_a_source_needs_is_used_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    names = put(tmp_path / "jars", "connector-1.0.jar", "below-it-2.0.jar")
    assert given(tmp_path / "jars" if configured else None, CONNECTOR) == names


def test_what_an_upgrade_leaves_is_not_used_beside_its_successor(tmp_path: Path) -> None:
    now = put(tmp_path, f"connector-{version('pyspark')}.jar", "connector-tools-1.0.jar", "below-it-2.0.jar")
    put(tmp_path, "connector-0.9.jar")
    assert given(tmp_path, "org.example:connector:{spark}") == now
