"""The jars that Spark gets: of a directory, or Delta's, fetched by Spark and used only if their hashes are right."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from ranger_cdap.errors import SparkMissing, SyncError
from spark_sync.spark import jars
from spark_sync.spark.jars import HASHES, check_fetched, delta_jars, spark_jars
from spark_sync.spark.scratch import LOCATION, PREFIX
from tests.short_lived_java import QUICK_JAVA

ROOT = Path(__file__).parents[3]
CONNECTOR = "org.example:connector:1.0"
STORAGE: Final = "delta-storage-4.4.0.jar"
VERSION: Final = version("pyspark")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_the_hashes_are_those_that_setup_checks() -> None:
    lines = (ROOT / ".ci" / "jars.sha256").read_text(encoding="utf-8").splitlines()
    assert {name: digest for digest, name in map(str.split, lines)} == HASHES


def test_configured_jars_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SparkMissing, match=r"sync\.jars_dir"):
        spark_jars(tmp_path)


def test_without_jars_beside_the_interpreter_spark_fetches_deltas_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    given = spark_jars(None)
    assert given.keys() == {"spark.jars.packages", "spark.jars.excludes"}
    assert given["spark.jars.packages"] == ",".join(delta_jars().values())


@pytest.mark.parametrize("configured", [True, False])
def test_what_a_source_needs_is_never_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    directory = tmp_path / "jars"
    directory.mkdir()
    for name in delta_jars():
        (directory / name).touch()
    with pytest.raises(SparkMissing, match=r"`connector-1.0.jar`, which a source needs.*org.example:connector:1.0"):
        spark_jars(directory if configured else None, [CONNECTOR])


def test_a_directory_that_has_what_a_source_needs_is_used_whole(tmp_path: Path) -> None:
    names = {*delta_jars(), "connector-1.0.jar", "below-it-2.0.jar"}
    for name in names:
        (tmp_path / name).touch()
    given = spark_jars(tmp_path, [CONNECTOR])
    assert given.keys() == {"spark.driver.extraClassPath", "spark.executor.extraClassPath"}
    assert [{Path(jar).name for jar in path.split(":")} for path in given.values()] == [names, names]


def test_what_an_upgrade_leaves_is_not_used_beside_its_successor(tmp_path: Path) -> None:
    now = {*delta_jars(), f"connector-{VERSION}.jar", "connector-tools-1.0.jar", "below-it-2.0.jar"}
    earlier = {"delta-spark_4.1_2.13-4.3.1.jar", "delta-spark_2.13-4.0.0.jar", "delta-storage-4.3.1.jar"}
    for name in now | earlier | {"connector-0.9.jar"}:
        (tmp_path / name).touch()
    given = spark_jars(tmp_path, ["org.example:connector:{spark}"])
    assert {Path(jar).name for jar in given["spark.driver.extraClassPath"].split(":")} == now


@pytest.mark.parametrize(
    ("installed", "jar"),
    [("4.1.0", "delta-spark_4.1_2.13-4.4.0.jar"), ("4.2.0", "delta-spark_4.2_2.13-4.4.0.jar")],
)
def test_deltas_jars_are_those_for_the_installed_pyspark(
    monkeypatch: pytest.MonkeyPatch, installed: str, jar: str
) -> None:
    monkeypatch.setattr(jars, "version", lambda _: installed)
    assert list(delta_jars()) == [jar, STORAGE]


def test_a_pyspark_without_known_jars_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "version", lambda _: "5.0.1")
    with pytest.raises(SparkMissing, match=r"PySpark `5\.0\.1`, which is installed"):
        spark_jars(tmp_path)


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A jar as Spark's Ivy names it, in a directory with a space, and its hash among the known ones."""
    path = tmp_path / "ivy jars" / f"io.delta_{STORAGE}"
    path.parent.mkdir()
    path.write_bytes(b"as it was published")
    monkeypatch.setattr(jars, "HASHES", {STORAGE: sha256(path.read_bytes())})
    return path


def test_what_was_fetched_as_it_was_published_is_used(fetched: Path) -> None:
    check_fetched("")
    check_fetched(f"{fetched},{fetched.as_uri()}")


def test_a_corrupted_jar_is_named_with_both_hashes(fetched: Path) -> None:
    wanted = sha256(fetched.read_bytes())
    fetched.write_bytes(b"as it was publishec")
    for only_known in (False, True):
        with pytest.raises(SyncError) as refused:
            check_fetched(fetched.as_uri(), only_known=only_known)
        for part in (str(fetched), wanted, sha256(fetched.read_bytes()), "sync.jars_dir"):
            assert part in str(refused.value)


def test_one_that_is_gone_is_refused(fetched: Path) -> None:
    fetched.unlink()
    with pytest.raises(SyncError, match=r"cannot be read: No such file"):
        check_fetched(str(fetched))


def test_a_jar_that_was_not_asked_for_is_refused_where_all_are_ours(fetched: Path) -> None:
    other = fetched.with_name("org.example_other-1.0.jar")
    other.touch()
    check_fetched(str(other), only_known=True)
    with pytest.raises(SyncError, match="no jar of that name was expected"):
        check_fetched(str(other))


# What Delta's poms ask for beside each other, and no repository of the test has.
NEEDS = {
    "delta-spark": (
        "org.scala-lang:scala-library:2.13.17",
        "io.delta:delta-storage:4.4.0",
        "io.delta:delta-kernel-api:4.4.0",
        "io.delta:delta-kernel-defaults:4.4.0",
        "io.delta:delta-kernel-unitycatalog:4.4.0",
    ),
    "delta-storage": ("io.unitycatalog:unitycatalog-client:0.6.0", "io.unitycatalog:unitycatalog-hadoop:0.6.0"),
}
POM = "<project><modelVersion>4.0.0</modelVersion>{}<dependencies>{}</dependencies></project>"
PLACE = "<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
WITHOUT_JARS = """
import sys
sys.prefix = "nowhere"
from ranger_cdap.config import SyncSettings
from ranger_cdap.errors import SyncError
from spark_sync.spark.session import spark_session
try:
    with spark_session(SyncSettings(), master="local[1]") as spark:
        spark.range(3).write.format("delta").save("table")
        print(spark.read.format("delta").load("table").count(), "rows")
except SyncError as e:
    print(e)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A Maven repository that has Delta's two jars and nothing else."""
    for package in delta_jars().values():
        group, artifact, version = package.split(":")
        directory = tmp_path / "repository" / group.replace(".", "/") / artifact / version
        directory.mkdir(parents=True)
        shutil.copy(Path(sys.prefix) / "jars" / f"{artifact}-{version}.jar", directory)
        needs = "".join(
            f"<dependency>{PLACE.format(*one.split(':'))}</dependency>" for one in NEEDS[artifact.partition("_")[0]]
        )
        pom = POM.format(PLACE.format(group, artifact, version), needs)
        (directory / f"{artifact}-{version}.pom").write_text(pom, encoding="utf-8")
    return tmp_path / "repository"


def run_without_jars(repository: Path) -> str:
    java = f"{QUICK_JAVA['JAVA_TOOL_OPTIONS']} -Duser.home={repository.parent}"
    environment = {
        "JAVA_TOOL_OPTIONS": java,
        "DEFAULT_ARTIFACT_REPOSITORY": repository.as_uri(),
        LOCATION: str(repository.parent),
    }
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_JARS],
        env=os.environ | environment | {"PYTHONPATH": str(ROOT)},
        cwd=repository.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(repository.parent.glob(f"{PREFIX}*"))
    return done.stdout


@pytest.mark.spark
@pytest.mark.slow
def test_delta_works_with_what_spark_fetches_and_not_with_a_corrupted_jar(repository: Path) -> None:
    assert run_without_jars(repository) == "3 rows\n"

    cached = next(repository.parent.rglob(f"jars/io.delta_{STORAGE}"))
    content = bytearray(cached.read_bytes())
    content[len(content) // 2] ^= 1
    cached.unlink()
    cached.write_bytes(content)
    shutil.rmtree(repository.parent / "table")
    told = run_without_jars(repository)
    assert f"{cached}`, which Spark fetched, has the SHA-256 {sha256(content)} instead of {HASHES[STORAGE]}" in told
    assert not (repository.parent / "table").exists()
